#include "federation/authenticator.hpp"

#include "base/http_error.hpp"

namespace tagring::federation {
namespace {
constexpr std::string_view kSynchronization = "collection-synchronization";  // followers::kHeaderName
}

Task<bool> Authenticator::is_genuine(signatures::SignatureClaim claim, crypto::PublicKey key) {
  auto job = [claim = std::move(claim), key = std::move(key)] { return signatures::verify(claim, key); };
  co_return co_await workers_.run(std::move(job));
}

Task<Result<Authentic>> Authenticator::signer(signatures::SignatureClaim claim) {
  Result<KeyOwner> owner = co_await actors_.owner_of_key(claim.key_id, /*refresh=*/false);
  bool genuine = false;
  if (owner) genuine = co_await is_genuine(claim, owner->key);
  if (owner && !genuine) {
    // The key may have been rotated.
    owner = co_await actors_.owner_of_key(claim.key_id, /*refresh=*/true);
    if (owner) genuine = co_await is_genuine(claim, owner->key);
  }
  if (!owner)
    co_return fail(owner.error().code, "cannot fetch the key " + claim.key_id + ": " + owner.error().message);
  if (!genuine) co_return fail(ErrorCode::kDenied, "the signature does not fit the key " + claim.key_id);
  co_return Authentic{std::move(owner->actor), claim.covers(kSynchronization)};
}

Task<Result<Authentic>> Authenticator::authenticate(HttpRequest request) {
  policy_.not_before = start_by_wall_clock(clock_, started_);
  CO_TRY(const std::vector<signatures::SignatureClaim> claims,
         signatures::read_signatures(request, clock_.wall_now(), policy_));
  Result<Authentic> sender = co_await signer(claims.front());
  for (std::size_t i = 1; i < claims.size() && !sender; ++i) {
    Result<Authentic> other = co_await signer(claims[i]);
    if (other) sender = std::move(other);
  }
  if (!sender) co_return std::unexpected(std::move(sender).error());
  if (request.method != "GET" && !replays_.insert(claims, clock_.wall_now())) {
    co_return fail(ErrorCode::kDenied, "this signed request was received before");
  }
  co_return sender;
}

HttpResponse not_authentic(const Error& error) {
  HttpResponse response = error_response(error);
  if (error.code == ErrorCode::kDenied || error.code == ErrorCode::kNotFound ||
      error.code == ErrorCode::kInvalid) {
    response.status = 401;
  }
  return response;
}

}  // namespace tagring::federation
