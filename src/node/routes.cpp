#include "node/routes.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/http_error.hpp"

namespace tagring::node {
namespace {

bool is_among(std::string_view method, Routes::Methods methods) {
  switch (methods) {
    case Routes::Methods::kAll:
      return true;
    case Routes::Methods::kPost:
      return method == "POST";
    case Routes::Methods::kGetAndPost:
      return method == "GET" || method == "POST";
    case Routes::Methods::kReading:
      return method == "GET" || method == "HEAD";
  }
  return false;
}

}  // namespace

void Routes::add(Methods methods, std::string_view path, HttpHandler handler) {
  add_if(
      methods, [wanted = std::string(path)](std::string_view path_asked) { return path_asked == wanted; },
      std::move(handler));
}

void Routes::add_below(Methods methods, std::string_view prefix, HttpHandler handler) {
  add_if(
      methods, [wanted = std::string(prefix)](std::string_view path) { return path.starts_with(wanted); },
      std::move(handler));
}

void Routes::add_if(Methods methods, Fits fits, HttpHandler handler) {
  rows_.push_back({methods, std::move(fits), std::move(handler)});
}

Task<HttpResponse> Routes::answer(HttpRequest request) const {
  const std::string path = request.target.substr(0, request.target.find('?'));
  for (const Row& row : rows_) {
    if (is_among(request.method, row.methods) && row.fits(path)) return row.handler(std::move(request));
  }
  return refuse_method(std::move(request));
}

Task<HttpResponse> Routes::refuse_method(HttpRequest request) {
  constexpr std::array<std::string_view, 9> kMethods = {"GET",     "HEAD",  "POST",  "PUT",    "DELETE",
                                                        "CONNECT", "TRACE", "PATCH", "OPTIONS"};
  const bool is_known = std::ranges::find(kMethods, request.method) != kMethods.end();
  HttpResponse response =
      error_response({ErrorCode::kInvalid, is_known ? "method not allowed here" : "unknown method"});
  response.status = is_known ? 405 : 501;
  co_return response;
}

}  // namespace tagring::node
