// A request of Mastodon's client API, as far as it is about reading, and who may answer it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/task.hpp"
#include "base/time.hpp"
#include "federation/blocks.hpp"
#include "hashtag/tag.hpp"
#include "http/ip.hpp"
#include "http/message.hpp"

namespace tagring::mastodon_api {

struct ApiRequest {
  std::string path;
  std::string query;
  std::string method;
  IpAddress peer;
  bool wants_socket = false;
};

// A part of the API. Outlives the requests.
class ApiPart {
 public:
  virtual ~ApiPart() = default;
  // Answers a GET or HEAD; nothing if its path is of no concern here.
  [[nodiscard]] virtual Task<std::optional<HttpResponse>> answer(ApiRequest request) = 0;
};

// {"error": "…"} as Mastodon says it. With 503, when to try again, too.
HttpResponse api_error(int status, std::string_view message);
HttpResponse api_error(const Error& error);
// 429, and when to try again.
HttpResponse too_many_requests(Duration wait, std::string_view message = "Too many requests");
HttpResponse api_response(const json::value& value);

// The hashtag of that name. kInvalid if it is none, kNotFound if it is blocked here, or the name goes on to
// something that hashtags have elsewhere ("cats/feature").
Result<Tag> offered_tag(const federation::Blocks& blocks, std::string_view name);

}  // namespace tagring::mastodon_api
