#include "federation/remote_keys.hpp"

namespace tagring::federation {

Task<Result<KeyOwner>> RemoteKeys::fetch(std::string key_id) {
  const std::string document = key_id.substr(0, key_id.find('#'));
  CO_TRY(std::string body, co_await client_.fetch_body(document));
  CO_TRY(fediverse::KeyDocument key, fediverse::parse_key_document(body, key_id));
  if (key.owner != document) {
    body.clear();
    CO_TRY(body, co_await client_.fetch_body(key.owner));
  }
  CO_TRY(fediverse::RemoteActor actor, fediverse::parse_actor(body, key.owner));
  if (!actor.lists(key)) co_return fail(ErrorCode::kDenied, actor.id + " does not list the key " + key_id);
  // Checking a key takes longer than a verification with it, so that is done once.
  auto read = [key = std::move(key)] { return fediverse::read_key(key); };
  CO_TRY(crypto::PublicKey public_key, co_await workers_.run(std::move(read)));
  co_return KeyOwner{std::move(actor), std::move(public_key)};
}

Task<Result<KeyOwner>> RemoteKeys::owner_of_key(std::string key_id, bool refresh) {
  const auto it = cache_.find(key_id);
  if (it != cache_.end()) {
    const Duration age = clock_.now() - it->second.fetched;
    const bool lasting = it->second.owner && !refresh;
    if (age < (lasting ? kLifetime : kFailureLifetime)) co_return it->second.owner;
  }
  Result<KeyOwner> owner = co_await fetch(key_id);
  if (cache_.size() >= kSizeMax) cache_.clear();
  cache_.insert_or_assign(std::move(key_id), Entry{owner, clock_.now()});
  co_return owner;
}

}  // namespace tagring::federation
