#include "node/authenticator.hpp"

namespace tagring::node {

Task<bool> Authenticator::is_genuine(fediverse::SignatureClaim claim, crypto::PublicKey key) {
  auto job = [claim = std::move(claim), key = std::move(key)] { return fediverse::verify(claim, key); };
  co_return co_await workers_.run(std::move(job));
}

Task<Result<fediverse::RemoteActor>> Authenticator::authenticate(HttpRequest request) {
  CO_TRY(const fediverse::SignatureClaim claim,
         fediverse::read_signature(request, clock_.wall_now(), policy_));
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
  if (!replays_.insert(claim, clock_.wall_now())) {
    co_return fail(ErrorCode::kDenied, "this signed request was received before");
  }
  co_return std::move(owner->actor);
}

}  // namespace tagring::node
