#include "admin/gate.hpp"

#include "http/http_error.hpp"

namespace tagring::admin {

std::expected<administrators::Administrator, HttpResponse> Gate::admit(const HttpRequest& request) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string given = request.headers.find("Authorization").value_or("");
  const std::string secret = given.starts_with(kBearer) ? given.substr(kBearer.size()) : std::string();
  // Who is known may be so for something else.
  budget::Spender asker = budget_.who(request.peer);
  asker.known = false;
  // Others who guess must not keep an administrator out.
  const bool has_room = budget_.has_room(budget::Resource::kGuesses, asker) ||
                        budget_.is_total(budget::Resource::kGuesses, asker);
  if (!has_room)
    return std::unexpected(busy_response(budget_.standing(budget::Resource::kGuesses, asker).ends,
                                         "too many wrong tokens from that address"));
  std::optional<administrators::Administrator> who = administrators::whose(tokens_, secret);
  if (!who) who = logins_.whose(secret);
  if (!who) {
    if (!secret.empty()) (void)budget_.take(budget::Resource::kGuesses, asker);
    HttpResponse response = error_response(
        {ErrorCode::kDenied, "a token is needed: of `tagring login`, or node.admin_token_file"});
    response.status = 401;
    response.headers.add("WWW-Authenticate", "Bearer");
    return std::unexpected(std::move(response));
  }
  budget_.note_known(request.peer);
  return *std::move(who);
}

Task<HttpResponse> Gate::answer(HttpRequest request) {
  std::expected<administrators::Administrator, HttpResponse> who = admit(request);
  if (!who) co_return std::move(who).error();
  request.target.erase(0, kPrefix.size() - 1);
  co_return co_await control_.answer(std::move(request), *std::move(who));
}

}  // namespace tagring::admin
