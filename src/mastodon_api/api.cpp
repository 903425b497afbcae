#include "mastodon_api/api.hpp"

#include <string>

#include "http/http_error.hpp"

namespace tagring::mastodon_api {

HttpResponse api_response(const json::value& value) {
  HttpResponse response;
  response.headers.add("Content-Type", "application/json; charset=utf-8");
  response.body = json::serialize(value);
  return response;
}

HttpResponse api_error(const Error& error) {
  // What cannot be read is "unprocessable" in Mastodon.
  return api_error(error.code == ErrorCode::kInvalid ? 422 : http_status(error.code), error.message);
}

HttpResponse api_error(int status, std::string_view message) {
  HttpResponse response = api_response(json::object{{"error", message}});
  response.status = status;
  if (status == 503) response.headers.set("Retry-After", "10");  // as error_response
  return response;
}

HttpResponse too_many_requests(Duration wait, std::string_view message) {
  HttpResponse response = api_error(429, message);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait);
  response.headers.set("Retry-After", std::to_string(seconds.count()));
  return response;
}

Result<Tag> offered_tag(const federation::Blocks& blocks, std::string_view name) {
  if (name.contains('/')) return fail(ErrorCode::kNotFound, "Record not found");
  TRY(Tag tag, Tag::parse(name));
  if (const federation::Block* block = blocks.of_tag(tag.canonical()))
    return fail(ErrorCode::kNotFound, "this hashtag is not offered here: " + block->reason);
  return tag;
}

}  // namespace tagring::mastodon_api
