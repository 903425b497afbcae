#include "node/ask_owner.hpp"

#include "base/url.hpp"
#include "ring/codec.hpp"

namespace tagring::node {

Task<Result<json::object>> ask_owner(HttpClient& http, ring::Contact owner, std::string target,
                                     Instant deadline) {
  CO_TRY(Url url, Url::parse(owner.origin() + target));
  HttpCall call("GET", std::move(url), deadline);
  call.required_prefix = owner.address.prefix64();
  CO_TRY(const HttpResponse response, co_await http.send(std::move(call)));
  if (response.status != 200) co_return std::unexpected(ring::decode_error(response.status, response.body));
  co_return json::parse_object(response.body);
}

}  // namespace tagring::node
