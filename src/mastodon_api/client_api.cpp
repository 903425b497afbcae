#include "mastodon_api/client_api.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.hpp"
#include "mastodon_api/timeline_api.hpp"
#include "posts/account.hpp"
#include "posts/ids.hpp"

namespace tagring::mastodon_api {
namespace {

// One transparent pixel.
constexpr std::string_view kPixel =
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c636060606000000005"
    "000109a2d5b60000000049454e44ae426082";

bool is_missing_picture(std::string_view path) {
  return path == posts::kMissingImage || path == posts::kMissingHeader;
}

// What clients ask for at their start, or show beside what they are about, and a node for hashtags has not.
constexpr std::string_view kNoList = "[]";
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kNothing = {{
    {"/api/v1/custom_emojis", kNoList},
    {"/api/v1/directory", kNoList},
    {"/api/v1/instance/extended_description", R"({"updated_at":null,"content":""})"},
    {"/api/v1/instance/peers", kNoList},
    {"/api/v1/instance/rules", kNoList},
    {"/api/v1/instance/translation_languages", "{}"},
    {"/api/v1/timelines/public", kNoList},
    {"/api/v1/trends/links", kNoList},
    {"/api/v1/trends/statuses", kNoList},
}};

// What belongs to an account, and all below: nobody has one here, as if nobody were logged in.
constexpr std::string_view kOfAccounts[] = {
    "/api/v1/accounts/familiar_followers",
    "/api/v1/accounts/relationships",
    "/api/v1/accounts/verify_credentials",
    "/api/v1/announcements",
    "/api/v1/blocks",
    "/api/v1/bookmarks",
    "/api/v1/conversations",
    "/api/v1/domain_blocks",
    "/api/v1/endorsements",
    "/api/v1/favourites",
    "/api/v1/featured_tags",
    "/api/v1/filters",
    "/api/v1/follow_requests",
    "/api/v1/followed_tags",
    "/api/v1/lists",
    "/api/v1/markers",
    "/api/v1/mutes",
    "/api/v1/notifications",
    "/api/v1/preferences",
    "/api/v1/push",
    "/api/v1/scheduled_statuses",
    "/api/v1/suggestions",
    "/api/v1/timelines/direct",
    "/api/v1/timelines/home",
    "/api/v1/timelines/list",
    "/api/v2/filters",
    "/api/v2/notifications",
    "/api/v2/suggestions",
};

bool is_of_account(std::string_view path) {
  return std::ranges::any_of(kOfAccounts, [&](std::string_view what) {
    return path.starts_with(what) && (path.size() == what.size() || path[what.size()] == '/');
  });
}

void allow_any_origin(HttpResponse& response) {
  response.headers.set("Access-Control-Allow-Origin", "*");
  response.headers.set("Access-Control-Expose-Headers",
                       "Link, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After");
  response.headers.set("X-Content-Type-Options", "nosniff");
}

HttpResponse preflight() {
  HttpResponse response{.status = 204, .headers = {}, .body = {}};
  allow_any_origin(response);
  response.headers.add("Allow", "GET, HEAD, OPTIONS");
  response.headers.add("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS");
  response.headers.add("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID");
  response.headers.add("Access-Control-Max-Age", "86400");
  return response;
}

}  // namespace

bool ClientApi::is_path(std::string_view path) {
  return path.starts_with("/api/") || is_missing_picture(path) || TimelineApi::is_feed(path);
}

Task<HttpResponse> ClientApi::answer(HttpRequest request) {
  Request wish{std::string(path_of(request.target)), std::string(query_of(request.target)), request.method,
               request.peer};
  // Some clients end every address with a slash, which Mastodon passes over.
  if (wish.path.ends_with('/')) wish.path.pop_back();
  if (wish.method == "OPTIONS") co_return preflight();
  wish.wants_socket = ascii_iequals(request.headers.find("Upgrade").value_or(""), "websocket");
  const budget::Spender reader = budget_.who(wish.peer);
  const Duration wait = budget_.take(budget::Resource::kReads, reader);
  const budget::Manager::Standing standing = budget_.standing(budget::Resource::kReads, reader);
  const WallTime reset = clock_.wall_now() + standing.ends;
  HttpResponse response;
  if (wait == Duration::zero()) {
    response = co_await route(std::move(wish));
  } else {
    response = too_many_requests(wait);
  }
  allow_any_origin(response);
  const std::uint64_t remaining = standing.each - std::min(standing.each, standing.used);
  response.headers.set("X-RateLimit-Limit", std::to_string(standing.each));
  response.headers.set("X-RateLimit-Remaining", std::to_string(remaining));
  response.headers.set("X-RateLimit-Reset", posts::datetime(reset));
  co_return response;
}

Task<HttpResponse> ClientApi::route(Request request) {
  const std::string path = request.path;
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse response = api_error(405, "only reading is possible here");
    response.headers.add("Allow", "GET, HEAD, OPTIONS");
    co_return response;
  }
  if (is_missing_picture(path)) {
    HttpResponse response;
    response.headers.add("Content-Type", "image/png");
    response.body = from_hex(kPixel).value_or("");
    co_return response;
  }
  if (is_of_account(path)) {
    HttpResponse response = api_error(401, "The access token is invalid");
    response.headers.add("WWW-Authenticate", "Bearer");
    co_return response;
  }
  const auto nothing =
      std::ranges::find(kNothing, path, &std::pair<std::string_view, std::string_view>::first);
  if (nothing != kNothing.end()) {
    HttpResponse response = api_response(nullptr);
    response.body = nothing->second;
    co_return response;
  }
  for (ApiPart* part : parts_) {
    std::optional<HttpResponse> answer = co_await part->answer(request);
    if (answer) co_return *std::move(answer);
  }
  co_return api_error(404, "Record not found");
}

}  // namespace tagring::mastodon_api
