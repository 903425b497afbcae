#include "node/routes.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "http/http_error.hpp"

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

std::string_view allowed(Routes::Methods methods) {
  switch (methods) {
    case Routes::Methods::kPost:
      return "POST, OPTIONS";
    case Routes::Methods::kReading:
      return "GET, HEAD, OPTIONS";
    case Routes::Methods::kAll:
    case Routes::Methods::kGetAndPost:
      return "GET, POST, OPTIONS";
  }
  return "OPTIONS";
}

void allow_any_page(HttpResponse& response) {
  if (!response.headers.find("Access-Control-Allow-Origin"))
    response.headers.add("Access-Control-Allow-Origin", "*");
}

// What may be asked here (RFC 9110, 9.3.7), also before a page of another site asks.
HttpResponse options(Routes::Methods methods, Routes::Readers readers) {
  HttpResponse response{.status = 204, .headers = {}, .body = {}};
  response.headers.add("Allow", std::string(allowed(methods)));
  if (readers == Routes::Readers::kServers) return response;
  allow_any_page(response);
  response.headers.add("Access-Control-Allow-Methods", std::string(allowed(methods)));
  response.headers.add("Access-Control-Allow-Headers", "Accept, Content-Type");
  response.headers.add("Access-Control-Max-Age", "86400");
  return response;
}

bool is_known(std::string_view method) {
  constexpr std::array<std::string_view, 9> kMethods = {"GET",     "HEAD",  "POST",  "PUT",    "DELETE",
                                                        "CONNECT", "TRACE", "PATCH", "OPTIONS"};
  return std::ranges::find(kMethods, method) != kMethods.end();
}

HttpResponse refuse_method(std::string_view method, Routes::Methods methods) {
  HttpResponse response =
      error_response({ErrorCode::kInvalid, is_known(method) ? "method not allowed here" : "unknown method"});
  response.status = is_known(method) ? 405 : 501;
  response.headers.add("Allow", std::string(allowed(methods)));
  return response;
}

}  // namespace

void Routes::add(Methods methods, std::string_view path, HttpHandler handler, Readers readers) {
  add_if(
      methods, [wanted = std::string(path)](std::string_view path_asked) { return path_asked == wanted; },
      std::move(handler), readers);
}

void Routes::add_below(Methods methods, std::string_view prefix, HttpHandler handler, Readers readers) {
  add_if(
      methods, [wanted = std::string(prefix)](std::string_view path) { return path.starts_with(wanted); },
      std::move(handler), readers);
}

void Routes::add_if(Methods methods, Fits fits, HttpHandler handler, Readers readers) {
  rows_.push_back({methods, std::move(fits), std::move(handler), readers});
}

Task<HttpResponse> Routes::answer(HttpRequest request) const {
  const std::string path(path_of(request.target));
  if (request.method == "OPTIONS" && path == "*") co_return options(Methods::kGetAndPost, Readers::kServers);
  const auto row = std::ranges::find_if(rows_, [&](const Row& each) { return each.fits(path); });
  if (row == rows_.end()) co_return error_response({ErrorCode::kNotFound, "no such page"});
  if (is_among(request.method, row->methods)) {
    const std::string method = request.method;
    HttpResponse response = co_await row->handler(std::move(request));
    if (response.status == 405 && !is_known(method)) response.status = 501;  // RFC 9110, 9.1
    if (row->readers == Readers::kAnyPage) allow_any_page(response);
    co_return response;
  }
  if (request.method == "OPTIONS") co_return options(row->methods, row->readers);
  co_return refuse_method(request.method, row->methods);
}

}  // namespace tagring::node
