#include "admin/gate.hpp"

#include "base/http_error.hpp"
#include "crypto/hash.hpp"

namespace tagring::admin {

Task<HttpResponse> Gate::answer(HttpRequest request) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string given = request.headers.find("Authorization").value_or("");
  const std::string secret = given.starts_with(kBearer) ? given.substr(kBearer.size()) : std::string();
  // Hashes, so that the time says nothing about how much of a guess is right.
  const bool has_token = !token_.empty() && crypto::sha256(secret) == crypto::sha256(token_);
  if (!has_token && !logins_.knows(secret)) {
    HttpResponse response = error_response(
        {ErrorCode::kDenied, "a token is needed: of `tagring login`, or node.admin_token_file"});
    response.status = 401;
    response.headers.add("WWW-Authenticate", "Bearer");
    co_return response;
  }
  request.target.erase(0, kPrefix.size() - 1);
  co_return co_await control_.answer(std::move(request));
}

}  // namespace tagring::admin
