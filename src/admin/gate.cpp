#include "admin/gate.hpp"

#include "base/http_error.hpp"

namespace tagring::admin {

Task<HttpResponse> Gate::answer(HttpRequest request) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string given = request.headers.find("Authorization").value_or("");
  const std::string secret = given.starts_with(kBearer) ? given.substr(kBearer.size()) : std::string();
  std::optional<administrators::Administrator> who = administrators::whose(tokens_, secret);
  if (!who) who = logins_.whose(secret);
  if (!who) {
    HttpResponse response = error_response(
        {ErrorCode::kDenied, "a token is needed: of `tagring login`, or node.admin_token_file"});
    response.status = 401;
    response.headers.add("WWW-Authenticate", "Bearer");
    co_return response;
  }
  request.target.erase(0, kPrefix.size() - 1);
  co_return co_await control_.answer(std::move(request), std::move(*who));
}

}  // namespace tagring::admin
