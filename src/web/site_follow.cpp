// Of Site: how readers are led to their own servers, to follow from there.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/json.hpp"
#include "budget/manager.hpp"
#include "fediverse/domain.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"
#include "web/html.hpp"
#include "web/site.hpp"

namespace tagring::web {
namespace {

constexpr std::string_view kTagPages = "/tags/";
constexpr std::string_view kSubscribe = "http://ostatus.org/schema/1.0/subscribe";
constexpr std::chrono::seconds kFollowTimeout{8};
constexpr int kRedirectsMax = 3;
constexpr std::string_view kRetryAfter = "60";  // the window of the budget
// Software that is known to have no page on which to follow what is found elsewhere.
constexpr std::array<std::string_view, 2> kWithoutPage = {"gotosocial", "activitypub-bot"};
// Software whose people follow communities only.
constexpr std::array<std::string_view, 2> kOfCommunities = {"lemmy", "piefed"};

struct Reader {
  std::string user;  // may be empty
  std::string server;
};

// With the plain form of each character that has one, such as "@" of the full width and the blank that does
// not break; and without what is not seen, such as the marks of direction around names.
std::string plainly(std::string_view text) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* nfkc = icu::Normalizer2::getNFKCInstance(error);
  TR_ASSERT(U_SUCCESS(error));
  const icu::UnicodeString plain = nfkc->normalize(
      icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<int32_t>(text.size()))), error);
  TR_ASSERT(U_SUCCESS(error));
  icu::UnicodeString shown;
  for (int32_t i = 0; i < plain.length(); i = plain.moveIndex32(i, 1)) {
    const UChar32 c = plain.char32At(i);
    // Names of hosts may have those that join or part letters.
    if (u_charType(c) != U_FORMAT_CHAR || u_hasBinaryProperty(c, UCHAR_JOIN_CONTROL)) shown.append(c);
  }
  std::string result;
  return shown.toUTF8String(result);
}

// Who somebody is, of what people paste: "@me@social.example", "acct:me@social.example", "social.example", or
// the address of a profile or of the server, with blanks around it. Nothing if it is none of these.
std::optional<Reader> reader_in(std::string_view pasted) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::string plain = plainly(pasted);
  std::string_view text = plain;
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
  for (const std::string_view scheme : {"https://", "http://", "acct:"}) {
    if (ascii_lower(text.substr(0, scheme.size())) != scheme) continue;
    text.remove_prefix(scheme.size());
    break;
  }
  if (text.starts_with('@')) text.remove_prefix(1);
  const std::size_t slash = std::min(text.find('/'), text.size());
  std::string_view path = text.substr(slash);
  std::string_view place = text.substr(0, slash);
  Reader reader;
  if (const std::size_t at = place.rfind('@'); at != std::string_view::npos) {
    reader.user = place.substr(0, at);
    place.remove_prefix(at + 1);
  }
  if (!reader.user.empty() && path.size() > 1) return std::nullopt;
  const Result<Url> url = Url::parse(fmt::format("https://{}/", fediverse::domain_in(place)));
  if (!url || !is_host_name(url->host) || !url->host.contains('.')) return std::nullopt;
  reader.server = url->authority();
  for (const std::string_view before :
       {"/@", "/users/", "/u/", "/profile/", "/author/", "/accounts/", "/user/"}) {
    if (!path.starts_with(before) || !reader.user.empty()) continue;
    path.remove_prefix(before.size());
    // "/@me@elsewhere.example" is how servers show people of others.
    reader.user = path.substr(0, path.find_first_of("/?#@"));
  }
  return reader;
}

// Where an account's server wants to be told what to follow; without the placeholder it is of no use.
std::string template_in(std::string_view body) {
  const Result<json::object> document = json::parse_object(body);
  std::string found;
  if (!document) return found;
  json::for_each(json::find(*document, "links"), [&](const json::value& element) {
    if (!element.is_object() || json::get_string(element.get_object(), "rel") != kSubscribe) return;
    found = json::text_of(element.get_object(), "template");
  });
  return found.starts_with("https://") && found.contains("{uri}") ? found : std::string();
}

// Where an answer sends on to, by HTTPS; empty if nowhere.
std::string next_place(const HttpResponse& answer, const Url& asked) {
  if (answer.status < 301 || answer.status > 308) return {};
  std::string place = answer.headers.find("Location").value_or("");
  if (place.starts_with("//")) {
    place.insert(0, "https:");
  } else if (place.starts_with('/')) {
    place.insert(0, asked.origin());
  }
  return place.starts_with("https://") ? place : std::string();
}

std::string fill_in(std::string text, std::string_view uri) {
  constexpr std::string_view kPlace = "{uri}";
  text.replace(text.find(kPlace), kPlace.size(), percent_encode(uri));
  return text;
}

std::string usual_template(std::string_view server) {
  return fmt::format("https://{}/authorize_interaction?uri={{uri}}", server);
}
}  // namespace

// Remote interaction as elsewhere in the fediverse: the reader's server says by WebFinger where it asks its
// users whether they want to follow. A link and not a redirect, so that nobody is sent to where they did not
// expect by an address that begins with this node's.
Task<HttpResponse> Site::follow(Tag tag, std::string account, bool as_json, IpAddress asker) {
  std::optional<Reader> reader = reader_in(account);
  Result<Way> way = fail(ErrorCode::kInvalid, "that is no account, such as @me@social.example");
  const std::string server = reader ? reader->server : std::string();
  if (server == options_.authority) {
    way = fail(ErrorCode::kInvalid, "that is this node, and no server to follow from");
  } else if (reader) {
    way = co_await way_to_follow(server, std::move(reader->user), asker);
  }
  const std::string address = fmt::format("{}@{}", tag.actor_name(), options_.authority);
  const std::string url = way ? fill_in(way->text, address) : std::string();
  const bool too_many = !way && way.error().code == ErrorCode::kBusy;
  // Searching for the address helps where the server does not say how to follow; not those whose server lets
  // nobody follow hashtags, nor those who have only to write another name, or to wait.
  const bool helps_by_hand =
      way || way.error().code == ErrorCode::kNotFound || way.error().code == ErrorCode::kUnavailable;
  if (as_json) {
    HttpResponse response =
        json_response(way ? json::object{{"url", url}, {"template", way->text}, {"guessed", way->guessed}}
                          : json::object{{"error", way.error().message}, {"by_hand", helps_by_hand}});
    response.status = way ? 200 : too_many ? 429 : 422;
    if (too_many) response.headers.add("Retry-After", std::string(kRetryAfter));
    co_return response;
  }
  const std::string by_hand = fmt::format(
      "<p>{} copy <code>@{}</code>, and search for it at your server: what is found can be followed.</p>",
      way ? "If that page does not know it:" : "Instead,", escape(address));
  const std::string instead =
      fmt::format("{}<p><a href=\"{}{}\">Back to #{}</a></p>", helps_by_hand ? by_hand : "", kTagPages,
                  percent_encode(tag.canonical()), escape(tag.canonical()));
  if (!way) {
    HttpResponse refusal =
        page("Follow",
             fmt::format("<h1>Follow from your server</h1><p class=\"notice\">It did not work: {}.</p>{}",
                         escape(way.error().message), instead),
             too_many ? 429 : 422);
    if (too_many) refusal.headers.add("Retry-After", std::string(kRetryAfter));
    co_return refusal;
  }
  const std::string place = escape(host_of(url));  // not always what was typed
  const std::string doubt =
      way->guessed
          ? fmt::format("<p>{} does not say how to follow from there; many servers do it so.</p>", place)
          : std::string();
  co_return page(
      "Follow",
      fmt::format("<h1>Follow from your server</h1>{}<p><a class=\"button\" rel=\"nofollow noreferrer\" "
                  "href=\"{}\">Go on at {}</a></p>{}",
                  doubt, escape(url), place, instead));
}

// As Mastodon's own pages do it: what the account's WebFinger says, or else the server's; and where that says
// nothing, the address that Mastodon has. But not for a server that does not answer at all.
Task<Result<Site::Way>> Site::way_to_follow(std::string server, std::string user, IpAddress asker) {
  const budget::Spender reader = budget_.who(asker);
  const budget::Share share(&budget_, budget::Resource::kWays, reader);
  if (!share.is_granted()) co_return fail(ErrorCode::kBusy, "too many readers ask at once");
  if (budget_.take(budget::Resource::kReaderAsks, reader) > Duration::zero())
    co_return fail(ErrorCode::kBusy, "you ask too often; wait a minute");
  std::vector<std::string> resources;
  if (!user.empty()) resources.push_back(fmt::format("acct:{}@{}", user, server));
  resources.push_back("https://" + server + "/");
  const std::string named = server;
  for (std::string& resource : resources) {
    CO_TRY(Known known, co_await ask_webfinger(named, std::move(resource)));
    if (!known.way.empty()) co_return Way{std::move(known.way)};
    // Names may be of one domain, and the server on another, be it that the resource is not known there.
    if (known.found || known.server != named) server = std::move(known.server);
    if (known.found) break;
  }
  // Some have no such page, and it is no use to send anybody there.
  const std::string software = co_await software_of(server);
  if (std::ranges::find(kWithoutPage, software) != kWithoutPage.end())
    co_return fail(ErrorCode::kNotFound, fmt::format("{} ({}) has no page for that", server, software));
  if (std::ranges::find(kOfCommunities, software) != kOfCommunities.end())
    co_return fail(ErrorCode::kDenied,
                   fmt::format("people at {} ({}) can follow communities only, and no hashtags; "
                               "this page and its feeds can be read without following",
                               server, software));
  co_return Way{usual_template(server), /*guessed=*/true};
}

// As its NodeInfo says; empty if that does not say.
Task<std::string> Site::software_of(std::string server) {
  const std::string origin = "https://" + server;
  std::string target = origin + "/.well-known/nodeinfo";
  json::object document;
  for (int i = 0; i < 2; ++i) {
    const Result<HttpResponse> answer = co_await get(target, nullptr);
    Result<json::object> parsed =
        answer && answer->status == 200 ? json::parse_object(answer->body) : fail(ErrorCode::kNotFound, "");
    if (!parsed) co_return "";
    document = *std::move(parsed);
    if (i == 1) break;
    target.clear();
    json::for_each(json::find(document, "links"), [&](const json::value& link) {
      if (!link.is_object()) return;
      const std::string href = json::text_of(link.get_object(), "href");
      const std::string rel = json::text_of(link.get_object(), "rel");
      if (rel.contains("nodeinfo.diaspora.software/ns/schema/") && origin_of(href) == origin) target = href;
    });
    if (target.empty()) co_return "";
  }
  const json::object* software = json::get_object(document, "software");
  co_return software == nullptr ? "" : ascii_lower(json::text_of(*software, "name"));
}

Task<Result<HttpResponse>> Site::get(std::string url, std::string* from) {
  const Instant deadline = clock_.now() + kFollowTimeout;
  for (int redirects = 0; redirects <= kRedirectsMax; ++redirects) {
    CO_TRY(const Url parsed, Url::parse(url));
    // Many readers may name one server, which has not chosen to be asked.
    if (budget_.take(budget::Resource::kReaderHosts, budget_.who(parsed.host)) > Duration::zero())
      co_return fail(ErrorCode::kBusy, "too many readers name that server; wait a minute");
    HttpCall call("GET", parsed, deadline);
    call.headers.add("Accept", "application/jrd+json, application/json");
    call.response_size_max = 64U << 10U;
    CO_TRY(HttpResponse answer, co_await http_.send(std::move(call)));
    if (from != nullptr) *from = parsed.authority();
    url = next_place(answer, parsed);
    if (url.empty()) co_return answer;
  }
  co_return fail(ErrorCode::kInvalid, "too many redirects");
}

Task<Result<Site::Known>> Site::ask_webfinger(std::string server, std::string resource) {
  Known known;
  const Result<HttpResponse> answer = co_await get(
      fmt::format("https://{}/.well-known/webfinger?resource={}", server, percent_encode(resource)),
      &known.server);
  if (!answer && answer.error().code == ErrorCode::kBusy) co_return std::unexpected(answer.error());
  if (!answer) co_return fail(ErrorCode::kUnavailable, server + " does not answer");
  known.found = answer->status == 200;
  if (known.found) known.way = template_in(answer->body);
  co_return known;
}
}  // namespace tagring::web
