#include "http/http_error.hpp"

#include <array>
#include <chrono>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/json.hpp"
#include "base/printable.hpp"

namespace tagring {
namespace {

constexpr std::array kErrorCodes = {ErrorCode::kInvalid,    ErrorCode::kNotFound, ErrorCode::kConflict,
                                    ErrorCode::kDenied,     ErrorCode::kTooLarge, ErrorCode::kNotOwner,
                                    ErrorCode::kBusy,       ErrorCode::kTimedOut, ErrorCode::kUnavailable,
                                    ErrorCode::kSuperseded, ErrorCode::kCorrupt};

constexpr std::size_t kMessageMax = 1000;  // bytes

}  // namespace

std::string encode_error(const Error& error) {
  return json::serialize(json::object{{"error", to_string(error.code)}, {"message", error.message}});
}

Error decode_error(int status, std::string_view body) {
  const Result<json::object> object = json::parse_object(body);
  const std::string name = object ? json::text_of(*object, "error") : "";
  const std::string written = object ? json::text_of(*object, "message") : "";
  const std::string message = printable(cut_utf8(written, kMessageMax));
  for (const ErrorCode code : kErrorCodes) {
    if (name == to_string(code)) return {code, message};
  }
  const ErrorCode code = status >= 500 || status == 429 ? ErrorCode::kUnavailable : ErrorCode::kInvalid;
  return {code, fmt::format("HTTP status {}", status)};
}

bool is_unanswered(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimedOut;
}

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return 400;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kConflict:
      return 409;
    case ErrorCode::kDenied:
      return 403;
    case ErrorCode::kTooLarge:
      return 413;
    case ErrorCode::kNotOwner:
      return 421;
    case ErrorCode::kBusy:
    case ErrorCode::kUnavailable:
    case ErrorCode::kSuperseded:
      return 503;
    case ErrorCode::kTimedOut:
      return 504;
    case ErrorCode::kCorrupt:
      return 500;
  }
  return 500;
}

HttpResponse json_response(const json::object& body) {
  HttpResponse response;
  response.headers.add("Content-Type", "application/json");
  response.body = json::serialize(body);
  return response;
}

HttpResponse error_response(const Error& error) {
  HttpResponse response;
  response.status = http_status(error.code);
  response.headers.add("Content-Type", "application/json");
  if (response.status == 503) response.headers.set("Retry-After", "10");
  response.body = encode_error(error);
  return response;
}

HttpResponse busy_response(Duration wait, std::string message) {
  HttpResponse response = error_response({ErrorCode::kBusy, std::move(message)});
  response.status = 429;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait);
  response.headers.set("Retry-After", std::to_string(seconds.count()));
  return response;
}

}  // namespace tagring
