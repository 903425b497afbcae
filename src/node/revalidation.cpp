#include "node/revalidation.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.hpp"
#include "crypto/hash.hpp"

namespace tagring::node {
namespace {

constexpr std::size_t kDigits = 32;

Task<HttpResponse> revalidate(HttpHandler handler, HttpRequest request) {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  const std::string known = request.headers.joined("If-None-Match").value_or("");
  HttpResponse response = co_await handler(std::move(request));
  if (!reads || response.status != 200 || response.stream) co_return response;
  const std::string tag = '"' + to_hex(crypto::sha256(response.body)).substr(0, kDigits) + '"';
  response.headers.set("ETag", "W/" + tag);
  if (known != "*" && !known.contains(tag)) co_return response;
  response.status = 304;
  response.body.clear();
  co_return response;
}

}  // namespace

HttpHandler revalidated(HttpHandler handler) {
  return
      [handler = std::move(handler)](HttpRequest request) { return revalidate(handler, std::move(request)); };
}

}  // namespace tagring::node
