// Remote actors and their keys, fetched once and remembered for a while.
#pragma once

#include <map>
#include <string>

#include "base/runtime.hpp"
#include "base/workers.hpp"
#include "crypto/key.hpp"
#include "federation/signed_client.hpp"
#include "fediverse/actor.hpp"

namespace tagring::federation {

// A key, and the actor whose document lists it.
struct KeyOwner {
  fediverse::RemoteActor actor;
  crypto::PublicKey key;
};

class RemoteKeys {
 public:
  RemoteKeys(SignedClient& client, const Runtime& runtime)
      : client_(client), clock_(runtime.clock), workers_(runtime.workers) {}

  // `refresh` fetches again, for rotated keys; at most once a minute. Failures are remembered for a minute
  // too, so that nobody can make us hammer a host.
  [[nodiscard]] Task<Result<KeyOwner>> owner_of_key(std::string key_id, bool refresh);

  static constexpr Duration kLifetime = std::chrono::hours(12);
  static constexpr Duration kFailureLifetime = std::chrono::minutes(1);
  static constexpr std::size_t kSizeMax = 20000;

 private:
  struct Entry {
    Result<KeyOwner> owner;
    Instant fetched;
  };
  Task<Result<KeyOwner>> fetch(std::string key_id);

  SignedClient& client_;
  Clock& clock_;
  Workers& workers_;
  std::map<std::string, Entry> cache_;  // by key id
};

}  // namespace tagring::federation
