#include "mastodon_api/oauth.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "crypto/hash.hpp"
#include "mastodon_api/html.hpp"
#include "mastodon_api/ids.hpp"

namespace tagring::mastodon_api {
namespace {

constexpr std::string_view kOutOfBand = "urn:ietf:wg:oauth:2.0:oob";
constexpr std::size_t kPairsMax = 50;
constexpr std::size_t kNameMax = 200;
constexpr std::size_t kRedirectMax = 2000;
constexpr std::size_t kClientIdMax = 8000;

HttpResponse respond(int status, const json::value& value) {
  HttpResponse response;
  response.status = status;
  response.headers.add("Content-Type", "application/json; charset=utf-8");
  response.headers.add("Cache-Control", "no-store");
  response.body = json::serialize(value);
  return response;
}

HttpResponse refuse(int status, std::string_view error, std::string_view description) {
  return respond(status, json::object{{"error", error}, {"error_description", description}});
}

// "a=1&b=2", the later of equal names last; "[]" behind a name makes a list.
json::object parse_form(std::string_view text) {
  json::object form;
  for (std::size_t pairs = 0; !text.empty() && pairs < kPairsMax; ++pairs) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::string key = percent_decode(pair.substr(0, pair.find('='))).value_or("");
    const std::string value = query_value(pair, pair.substr(0, pair.find('=')));
    if (!is_utf8(key) || !is_utf8(value)) continue;
    if (!key.ends_with("[]")) {
      form[key] = value;
      continue;
    }
    key.resize(key.size() - 2);
    json::value& list = form[key];
    if (!list.is_array()) list = json::array();
    list.get_array().emplace_back(value);
  }
  return form;
}

json::object form_of(const HttpRequest& request) {
  const std::string type = request.headers.find("Content-Type").value_or("");
  if (type.starts_with("application/json")) return json::parse_object(request.body).value_or(json::object());
  const std::size_t mark = std::min(request.target.find('?'), request.target.size() - 1);
  const std::string query = request.target.substr(mark + 1);
  return parse_form(request.body.empty() ? query : request.body);
}

std::string text_of(const json::object& form, std::string_view key) {
  return json::get_string(form, key).value_or("");
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n\r+"), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// Where an application may be sent back to: its own scheme or http(s), but nothing that a browser would run.
bool is_redirect(std::string_view uri) {
  if (uri == kOutOfBand) return true;
  const std::string scheme = ascii_lower(uri.substr(0, std::min(uri.find(':'), uri.size())));
  const bool is_scheme =
      !scheme.empty() && scheme.size() < uri.size() && scheme.front() >= 'a' && scheme.front() <= 'z' &&
      std::ranges::all_of(
          scheme,
          [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
          });
  const bool is_plain =
      std::ranges::all_of(uri, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '"' && c != '<'; });
  return is_scheme && is_plain && uri.size() <= kRedirectMax && scheme != "javascript" && scheme != "data" &&
         scheme != "vbscript" && scheme != "file" && scheme != "blob";
}

std::string hash_hex(std::string_view text) { return to_hex(crypto::sha256(text)); }

}  // namespace

bool OAuth::Grant::allows(const std::string& scope) const {
  const std::string whole = scope.substr(0, scope.find(':'));
  const bool by_follow = scope.ends_with(":follows") && scopes.contains("follow");
  return scopes.contains(scope) || scopes.contains(whole) || by_follow;
}

bool OAuth::is_path(std::string_view path) {
  return path.starts_with("/oauth/") || path == "/api/v1/apps" ||
         path == "/.well-known/oauth-authorization-server";
}

HttpResponse OAuth::answer(const HttpRequest& request) {
  const std::string path = request.target.substr(0, request.target.find('?'));
  const bool is_post = request.method == "POST";
  if (path == "/.well-known/oauth-authorization-server" && !is_post) return describe();
  if (secret_.empty())
    return refuse(403, "access_denied", "nobody can log in here: node.admin_token_file is not set");
  const Form form = form_of(request);
  if (path == "/api/v1/apps" && is_post) return register_app(form);
  if (path == "/oauth/authorize") return is_post ? log_in(form, request.peer) : ask(form);
  if (path == "/oauth/token" && is_post) return token(form, request.peer);
  if (path == "/oauth/revoke" && is_post) return revoke(form);
  return refuse(404, "not_found", "no such page");
}

const OAuth::Grant* OAuth::grant_of(const HttpRequest& request) {
  const std::string given = request.headers.find("Authorization").value_or("");
  constexpr std::string_view kBearer = "Bearer ";
  if (!given.starts_with(kBearer)) return nullptr;
  const auto kept = tokens_.find(hash_hex(given.substr(kBearer.size())));
  if (kept == tokens_.end()) return nullptr;
  if (kept->second.until > clock_.now()) return &kept->second.grant;
  tokens_.erase(kept);
  return nullptr;
}

// --- secrets -----------------------------------------------------------------------------------------------

// SHA-3 with the secret in front is a message authentication code: it has no length extension.
std::string OAuth::mac(std::string_view purpose, std::string_view text) const {
  return to_hex(
      crypto::sha3_256(fmt::format("{}\n{}\n{}\n{}", hash_hex(secret_), site_.origin, purpose, text)));
}

bool OAuth::is_secret(std::string_view given) const {
  // Hashes, so that the time says nothing about how much of a guess is right.
  return !secret_.empty() && crypto::sha256(given) == crypto::sha256(secret_);
}

std::string OAuth::new_secret(std::string_view purpose) {
  const auto now = clock_.wall_now().time_since_epoch().count();
  return mac(purpose, fmt::format("{} {} {}", seed_, now, ++made_));
}

// --- applications ------------------------------------------------------------------------------------------

HttpResponse OAuth::register_app(const Form& form) {
  App app{.name = std::string(cut_utf8(text_of(form, "client_name"), kNameMax)),
          .redirects = {},
          .scopes = text_of(form, "scopes")};
  json::for_each(json::find(form, "redirect_uris"), [&](const json::value& v) {
    if (!v.is_string()) return;
    for (std::string& uri : words_of(v.get_string())) app.redirects.push_back(std::move(uri));
  });
  if (app.scopes.empty()) app.scopes = "read";
  if (app.name.empty())
    return respond(422, json::object{{"error", "Validation failed: Name can't be blank"}});
  const bool valid = !app.redirects.empty() && app.redirects.size() <= options_.redirects_max &&
                     app.scopes.size() <= kNameMax && std::ranges::all_of(app.redirects, is_redirect);
  if (!valid)
    return respond(422, json::object{{"error", "Validation failed: Redirect URI must be a valid URI"}});
  const json::array redirects(app.redirects.begin(), app.redirects.end());
  const std::string claims =
      to_base64url(json::serialize(json::object{{"n", app.name}, {"r", redirects}, {"s", app.scopes}}));
  const std::string client_id = claims + "." + mac("app", claims);
  if (client_id.size() > kClientIdMax) return respond(422, json::object{{"error", "Too much to register"}});
  const std::vector<std::string> scopes = words_of(app.scopes);
  const std::string website = text_of(form, "website");
  return respond(200, {{"id", stable_id(client_id)},
                       {"name", app.name},
                       {"website", Url::parse(website) ? json::value(website) : json::value(nullptr)},
                       {"scopes", json::array(scopes.begin(), scopes.end())},
                       {"redirect_uris", redirects},
                       {"redirect_uri", fmt::format("{}", fmt::join(app.redirects, "\n"))},
                       {"client_id", client_id},
                       {"client_secret", mac("app_secret", client_id)},
                       {"client_secret_expires_at", 0},
                       {"vapid_key", ""}});
}

Result<OAuth::App> OAuth::app_of(const Form& form) const {
  const std::string client_id = text_of(form, "client_id");
  const std::size_t dot = client_id.find('.');
  const auto unknown = [] { return fail(ErrorCode::kDenied, "the client is not registered here"); };
  if (dot == std::string::npos || client_id.size() > kClientIdMax) return unknown();
  if (crypto::sha256(client_id.substr(dot + 1)) != crypto::sha256(mac("app", client_id.substr(0, dot))))
    return unknown();
  const auto claims = json::parse_object(from_base64url(client_id.substr(0, dot)).value_or(""));
  if (!claims) return unknown();
  App app{.name = text_of(*claims, "n"), .redirects = {}, .scopes = text_of(*claims, "s")};
  json::for_each(json::find(*claims, "r"),
                 [&](const json::value& v) { app.redirects.emplace_back(v.as_string()); });
  return app;
}

// --- the administrator -------------------------------------------------------------------------------------

HttpResponse OAuth::page(const Form& query, const App& app, std::string_view problem) const {
  std::string fields;
  for (const char* name : {"response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge",
                           "code_challenge_method"}) {
    fields += fmt::format("<input type=\"hidden\" name=\"{}\" value=\"{}\">\n", name,
                          escape_html(text_of(query, name)));
  }
  std::string scopes = text_of(query, "scope");
  if (scopes.empty()) scopes = "read";
  HttpResponse response;
  response.status = problem.empty() ? 200 : 401;
  response.headers.add("Content-Type", "text/html; charset=utf-8");
  response.headers.add("Content-Security-Policy",
                       "default-src 'none'; frame-ancestors 'none'; base-uri 'none'");
  response.headers.add("Cache-Control", "no-store");
  response.headers.add("Referrer-Policy", "no-referrer");
  response.body = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>Log in to "
      "{0}</title></head>\n<body><main>"
      "<h1>Log in to {0}</h1>\n<p><strong>{1}</strong> asks for: {2}</p>\n<p role=\"alert\">{3}</p>\n"
      "<form method=\"post\" action=\"/oauth/authorize\">\n{4}"
      "<label>Secret of the administrator (node.admin_token_file) "
      "<input type=\"password\" name=\"password\" autocomplete=\"current-password\" required "
      "autofocus></label>\n"
      "<button>Authorise</button></form></main></body></html>\n",
      escape_html(authority_of(site_.origin)), escape_html(app.name), escape_html(scopes),
      escape_html(problem), fields);
  return response;
}

HttpResponse OAuth::ask(const Form& query) const {
  const Result<App> app = app_of(query);
  if (!app) return refuse(401, "invalid_client", app.error().message);
  if (std::ranges::find(app->redirects, text_of(query, "redirect_uri")) == app->redirects.end())
    return refuse(400, "invalid_grant", "the redirect URI is not one that was registered");
  if (text_of(query, "response_type") != "code")
    return refuse(400, "unsupported_response_type", "response_type is code");
  return page(query, *app, "");
}

HttpResponse OAuth::log_in(const Form& form, const IpAddress& peer) {
  HttpResponse asked = ask(form);
  if (asked.status != 200) return asked;
  const Result<App> app = app_of(form);
  if (!tries_.count(peer).allowed) return page(form, *app, "Too many tries. Wait some minutes.");
  if (!is_secret(text_of(form, "password"))) return page(form, *app, "That is not the secret.");
  const std::string challenge = text_of(form, "code_challenge");
  if (!challenge.empty() && text_of(form, "code_challenge_method") != "S256")
    return refuse(400, "invalid_request", "code_challenge_method is S256");
  std::erase_if(codes_, [&](const auto& code) { return code.second.until <= clock_.now(); });
  if (codes_.size() >= options_.codes_max) codes_.clear();
  const std::vector<std::string> scopes = words_of(text_of(form, "scope"));
  Grant grant{.scopes = {scopes.begin(), scopes.end()}, .is_admin = true, .app = app->name, .since = {}};
  if (grant.scopes.empty()) grant.scopes = {"read"};
  const std::string redirect = text_of(form, "redirect_uri");
  const std::string code = new_secret("code");
  codes_.emplace(code, Code{std::move(grant), text_of(form, "client_id"), redirect, challenge,
                            clock_.now() + options_.code_lifetime});
  HttpResponse response;
  response.headers.add("Cache-Control", "no-store");
  if (redirect == kOutOfBand) {
    response.headers.add("Content-Type", "text/html; charset=utf-8");
    response.headers.add("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    response.body = fmt::format(
        "<!doctype html>\n<html lang=\"en\"><title>Code</title><p>Give this to the application:"
        "</p><p><code>{}</code></p></html>\n",
        code);
    return response;
  }
  std::string target = redirect + (redirect.contains('?') ? "&" : "?") + "code=" + code;
  if (const std::string state = text_of(form, "state"); !state.empty())
    target += "&state=" + percent_encode(state);
  response.status = 302;
  response.headers.add("Location", target);
  return response;
}

// --- tokens ------------------------------------------------------------------------------------------------

HttpResponse OAuth::give(Grant grant) {
  grant.since = clock_.wall_now();
  std::erase_if(tokens_, [&](const auto& kept) { return kept.second.until <= clock_.now(); });
  if (tokens_.size() >= options_.tokens_max) {
    const auto oldest =
        std::ranges::min_element(tokens_, {}, [](const auto& kept) { return kept.second.number; });
    tokens_.erase(oldest);
  }
  const std::string token = new_secret("token");
  const auto created =
      std::chrono::duration_cast<std::chrono::seconds>(grant.since.time_since_epoch()).count();
  std::string scope = fmt::format("{}", fmt::join(grant.scopes, " "));
  tokens_.emplace(hash_hex(token), Kept{std::move(grant), clock_.now() + options_.token_lifetime, made_});
  return respond(200, {{"access_token", token},
                       {"token_type", "Bearer"},
                       {"scope", std::move(scope)},
                       {"created_at", created}});
}

// A code is good once, whatever comes of it.
Result<OAuth::Grant> OAuth::redeem(const Form& form) {
  const auto known = codes_.find(text_of(form, "code"));
  const auto bad = [] { return fail(ErrorCode::kDenied, "the code is not valid, or was used"); };
  if (known == codes_.end()) return bad();
  const Code code = std::move(known->second);
  codes_.erase(known);
  const std::string verifier = text_of(form, "code_verifier");
  const auto hash = crypto::sha256(verifier);
  const std::string given = to_base64url(std::string(hash.begin(), hash.end()));
  if (code.until <= clock_.now() || code.client_id != text_of(form, "client_id") ||
      code.redirect != text_of(form, "redirect_uri") || (!code.challenge.empty() && code.challenge != given))
    return bad();
  return code.grant;
}

HttpResponse OAuth::token(const Form& form, const IpAddress& peer) {
  const Result<App> app = app_of(form);
  if (!app) return refuse(401, "invalid_client", app.error().message);
  const std::string client_secret = mac("app_secret", text_of(form, "client_id"));
  if (crypto::sha256(text_of(form, "client_secret")) != crypto::sha256(client_secret))
    return refuse(401, "invalid_client", "the client's secret is wrong");
  const std::string type = text_of(form, "grant_type");
  if (type == "authorization_code") {
    Result<Grant> grant = redeem(form);
    if (!grant) return refuse(400, "invalid_grant", grant.error().message);
    return give(*std::move(grant));
  }
  const std::vector<std::string> scopes = words_of(text_of(form, "scope"));
  Grant grant{.scopes = {scopes.begin(), scopes.end()}, .is_admin = false, .app = app->name, .since = {}};
  if (grant.scopes.empty()) grant.scopes = {"read"};
  if (type == "client_credentials") return give(std::move(grant));
  if (type != "password") return refuse(400, "unsupported_grant_type", "no such grant_type");
  if (!tries_.count(peer).allowed) return refuse(429, "slow_down", "too many tries");
  if (!is_secret(text_of(form, "password"))) return refuse(400, "invalid_grant", "that is not the secret");
  grant.is_admin = true;
  return give(std::move(grant));
}

HttpResponse OAuth::revoke(const Form& form) {
  tokens_.erase(hash_hex(text_of(form, "token")));
  return respond(200, json::object());
}

HttpResponse OAuth::describe() const {
  const json::array scopes = {"read", "read:follows", "write", "write:follows", "follow", "profile"};
  return respond(
      200, {{"issuer", site_.origin + "/"},
            {"authorization_endpoint", site_.origin + "/oauth/authorize"},
            {"token_endpoint", site_.origin + "/oauth/token"},
            {"revocation_endpoint", site_.origin + "/oauth/revoke"},
            {"app_registration_endpoint", site_.origin + "/api/v1/apps"},
            {"scopes_supported", scopes},
            {"response_types_supported", json::array{"code"}},
            {"grant_types_supported", json::array{"authorization_code", "password", "client_credentials"}},
            {"code_challenge_methods_supported", json::array{"S256"}},
            {"token_endpoint_auth_methods_supported", json::array{"client_secret_post"}}});
}

}  // namespace tagring::mastodon_api
