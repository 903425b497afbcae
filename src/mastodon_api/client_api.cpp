#include "mastodon_api/client_api.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "mastodon_api/ids.hpp"
#include "mastodon_api/timeline_api.hpp"

namespace tagring::mastodon_api {
namespace {

constexpr std::string_view kMissingImage = "/avatars/original/missing.png";

// One transparent pixel.
constexpr std::string_view kPixel =
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c636060606000000005"
    "000109a2d5b60000000049454e44ae426082";

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
  return path.starts_with("/api/") || path == kMissingImage || TimelineApi::is_feed(path);
}

Task<HttpResponse> ClientApi::answer(HttpRequest request) {
  const std::size_t mark = std::min(request.target.find('?'), request.target.size());
  Request wish{request.target.substr(0, mark),
               request.target.substr(std::min(mark + 1, request.target.size())), request.method,
               request.peer};
  // Some clients end every address with a slash, which Mastodon passes over.
  if (wish.path.ends_with('/')) wish.path.pop_back();
  if (wish.method == "OPTIONS") co_return preflight();
  wish.wants_socket = ascii_iequals(request.headers.find("Upgrade").value_or(""), "websocket");
  const federation::RateLimit::Verdict verdict = rate_.count(wish.peer);
  HttpResponse response;
  if (verdict.allowed) {
    response = co_await route(std::move(wish));
  } else {
    response = too_many_requests(verdict.wait);
  }
  allow_any_origin(response);
  response.headers.set("X-RateLimit-Limit", std::to_string(verdict.limit));
  response.headers.set("X-RateLimit-Remaining", std::to_string(verdict.remaining));
  response.headers.set("X-RateLimit-Reset", datetime(verdict.reset));
  co_return response;
}

Task<HttpResponse> ClientApi::route(Request request) {
  const std::string path = request.path;
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse response = api_error(405, "only reading is possible here");
    response.headers.add("Allow", "GET, HEAD, OPTIONS");
    co_return response;
  }
  if (path == kMissingImage) {
    HttpResponse response;
    response.headers.add("Content-Type", "image/png");
    response.body = from_hex(kPixel).value_or("");
    co_return response;
  }
  for (ApiPart* part : parts_) {
    std::optional<HttpResponse> answer = co_await part->answer(request);
    if (answer) co_return *std::move(answer);
  }
  // Clients ask for these at their start, and expect a list.
  constexpr std::array<std::string_view, 5> kEmptyLists = {"/api/v1/custom_emojis", "/api/v1/instance/rules",
                                                           "/api/v1/trends/statuses", "/api/v1/trends/links",
                                                           "/api/v1/instance/peers"};
  if (std::ranges::find(kEmptyLists, path) != kEmptyLists.end()) co_return api_response(json::array());
  co_return api_error(404, "Record not found");
}

}  // namespace tagring::mastodon_api
