// The part of Mastodon's API that needs a token: which hashtags the node is subscribed to.
#include <array>
#include <charconv>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "mastodon_api/client_api.hpp"

namespace tagring::mastodon_api {
namespace {

constexpr std::string_view kTagPath = "/api/v1/tags/";
constexpr const char* kReason = "admin";  // as the command line subscribes
constexpr std::size_t kFollowedDefault = 100;
constexpr std::size_t kFollowedMax = 200;

std::string_view without_suffix(std::string_view path, std::string_view suffix) {
  return path.ends_with(suffix) ? path.substr(0, path.size() - suffix.size()) : std::string_view();
}

// 401 without a valid token, 403 if it is not the administrator's or was not given for that.
std::optional<HttpResponse> check(const std::optional<OAuth::Grant>& grant, const std::string& scope) {
  if (!grant) return api_error(401, "The access token is invalid");
  if (!grant->is_admin) return api_error(422, "This method requires an authenticated user");
  if (!grant->allows(scope)) return api_error(403, "This action is outside the authorized scopes");
  return std::nullopt;
}

}  // namespace

Task<std::optional<HttpResponse>> ClientApi::as_admin(Request request) {
  const std::string& path = request.path;
  const bool is_post = request.method == "POST";
  if (path.starts_with(kTagPath) && is_post) {
    const std::string_view followed = without_suffix(path, "/follow");
    const std::string_view unfollowed = without_suffix(path, "/unfollow");
    const std::string_view which = followed.empty() ? unfollowed : followed;
    if (which.size() <= kTagPath.size()) co_return api_error(404, "Record not found");
    if (auto refused = check(request.grant, "write:follows")) co_return *std::move(refused);
    const std::string name = percent_decode(which.substr(kTagPath.size())).value_or("");
    co_return co_await follow(name, !followed.empty());
  }
  if (is_post) co_return std::nullopt;
  if (path == "/api/v1/apps/verify_credentials") {
    if (!request.grant) co_return api_error(401, "The access token is invalid");
    json::array scopes(request.grant->scopes.begin(), request.grant->scopes.end());
    co_return api_response(json::object{{"id", stable_id(request.grant->app)},
                                        {"name", request.grant->app},
                                        {"website", nullptr},
                                        {"scopes", std::move(scopes)},
                                        {"redirect_uris", json::array()},
                                        {"redirect_uri", ""},
                                        {"vapid_key", ""}});
  }
  if (path == "/api/v1/followed_tags") {
    if (auto refused = check(request.grant, "read:follows")) co_return *std::move(refused);
    co_return co_await followed_tags(std::move(request));
  }
  if (path == "/api/v1/accounts/verify_credentials") {
    if (auto refused = check(request.grant, "read:accounts")) co_return *std::move(refused);
    co_return account(*request.grant);
  }
  // Clients that are logged in ask for these, and expect lists.
  constexpr std::array<std::string_view, 6> kEmptyLists = {"/api/v1/timelines/home", "/api/v1/notifications",
                                                           "/api/v2/filters",        "/api/v1/lists",
                                                           "/api/v1/announcements",  "/api/v1/conversations"};
  if (std::ranges::find(kEmptyLists, path) == kEmptyLists.end()) co_return std::nullopt;
  if (auto refused = check(request.grant, "read")) co_return *std::move(refused);
  co_return api_response(json::array());
}

Task<HttpResponse> ClientApi::follow(std::string name, bool on) {
  const Result<Tag> tag = on ? offered(name) : Tag::parse(name);
  if (!tag) co_return api_error(tag.error());
  Result<void> done;
  if (on) {
    done = co_await subscriber_.want({tag->canonical()}, kReason);
  } else {
    done = co_await subscriber_.unwant({tag->canonical()}, kReason);
  }
  if (!done) co_return api_error(done.error());
  json::object entity = co_await describe(*tag);
  entity["following"] = on;
  entity["featuring"] = false;
  co_return api_response(entity);
}

// By name; the place in a page is the name where it begins, since hashtags have no numbers in order here.
Task<HttpResponse> ClientApi::followed_tags(Request request) {
  std::size_t limit = kFollowedDefault;
  const std::string text = query_value(request.query, "limit");
  std::from_chars(text.data(), text.data() + text.size(), limit);
  limit = std::clamp<std::size_t>(limit, 1, kFollowedMax);
  const std::string after = query_value(request.query, "max_id");
  json::array list;
  std::string last;
  // A copy: it may change while histories are read.
  const std::set<std::string> wanted = subscriber_.wanted();
  for (auto it = wanted.upper_bound(after); it != wanted.end() && list.size() < limit; ++it) {
    const Result<Tag> tag = Tag::parse(*it);
    if (!tag) continue;
    json::object entity = co_await describe(*tag);
    entity["following"] = true;
    entity["featuring"] = false;
    list.push_back(std::move(entity));
    last = *it;
  }
  HttpResponse response = api_response(list);
  if (list.size() == limit) {
    response.headers.add("Link", fmt::format("<{}/api/v1/followed_tags?limit={}&max_id={}>; rel=\"next\"",
                                             site_.origin, limit, percent_encode(last)));
  }
  co_return response;
}

// A CredentialAccount.
HttpResponse ClientApi::account(const OAuth::Grant& /*grant*/) const {
  json::object account = unknown_account(site_.origin + "/admin", site_);
  account["acct"] = "admin";
  account["display_name"] = "Administrator";
  account["source"] = json::object{{"attribution_domains", json::array()},
                                   {"note", ""},
                                   {"fields", json::array()},
                                   {"privacy", "public"},
                                   {"sensitive", false},
                                   {"language", ""},
                                   {"follow_requests_count", 0},
                                   {"hide_collections", nullptr},
                                   {"discoverable", nullptr},
                                   {"indexable", false},
                                   {"quote_policy", "nobody"}};
  account["role"] =
      json::object{{"id", "-99"}, {"name", ""}, {"permissions", "0"}, {"color", ""}, {"highlighted", false}};
  return api_response(account);
}

}  // namespace tagring::mastodon_api
