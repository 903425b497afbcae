// Remote actors and their keys, fetched once and remembered for a while.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/runtime.hpp"
#include "base/workers.hpp"
#include "budget/manager.hpp"
#include "crypto/key.hpp"
#include "federation/signed_client.hpp"
#include "fediverse/actor.hpp"
#include "http/ip.hpp"
#include "queues/alarm.hpp"

namespace tagring::federation {

// A key, and the actor whose document lists it, without what else it lists.
struct KeyOwner {
  fediverse::RemoteActor actor;
  crypto::PublicKey key;
};

class RemoteKeys {
 public:
  RemoteKeys(budget::Manager& budget, SignedClient& client, const Runtime& runtime)
      : budget_(budget),
        client_(client),
        clock_(runtime.clock),
        executor_(runtime.executor),
        workers_(runtime.workers) {}

  // `refresh` fetches again, for rotated keys; at most once a minute, however young what is known is.
  // Failures are remembered for a minute too, so that nobody can make us hammer a host; what is known stays
  // so meanwhile, unless its server says that it is not. Who asks for a key that is being fetched waits for
  // it. `asker`, who sent the request that names the key, pays for a fetch, and so does the host, of which
  // one asker has two thirds: kUnavailable where either has nothing left.
  [[nodiscard]] Task<Result<KeyOwner>> owner_of_key(std::string key_id, bool refresh,
                                                    std::optional<IpAddress> asker = {});
  // What is known of a key without asking anybody.
  [[nodiscard]] const KeyOwner* known(const std::string& key_id) const;
  // The owner of a key whose document was there, and is no more: to know them by the last that they say.
  [[nodiscard]] const KeyOwner* former(const std::string& key_id) const;

  void note_known(const std::string& actor, const IpAddress& peer);

  // Its key signed something just now: that server is up.
  void heard(const std::string& actor) { client_.hosts().heard(host_of(actor)); }

  static constexpr Duration kLifetime = std::chrono::hours(12);
  static constexpr Duration kFailureLifetime = std::chrono::minutes(1);
  static constexpr std::size_t kSizeMax = 20000;
  static constexpr std::size_t kBytesMax = 16U << 20U;  // of names and addresses
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    Result<KeyOwner> owner;
    Instant fetched;
    std::optional<KeyOwner> former = {};
    std::optional<Instant> refreshed = {};  // fetched although it was known
    bool stale = false;                     // in vain
    std::size_t bytes = 0;
  };
  // Ends for all who wait, however it ends for who fetches.
  struct Flight {
    Flight(Clock& clock, Executor executor) : landed(clock, std::move(executor)) {}
    queues::Alarm landed;
    std::optional<Result<KeyOwner>> owner;
    bool over = false;
    std::optional<IpAddress> asker;  // empty: somebody here
    bool refused = false;            // by a budget: nobody was asked
  };
  Task<Result<KeyOwner>> fetch_once(std::string key_id, std::optional<IpAddress> asker);
  Task<Result<KeyOwner>> fetch(std::string key_id, std::shared_ptr<Flight> flight);
  Task<Result<std::string>> document(std::string url, std::shared_ptr<Flight> flight);
  void remember(const std::string& key_id, const Result<KeyOwner>& owner);
  void revoke(const std::string& key_id);
  void forget(std::map<std::string, Entry>::iterator entry);
  [[nodiscard]] bool is_recent(const Entry& entry, bool refresh) const;

  budget::Manager& budget_;
  SignedClient& client_;
  Clock& clock_;
  Executor executor_;
  Workers& workers_;
  std::map<std::string, Entry> cache_;  // by key id
  std::size_t bytes_ = 0;               // of all of them
  std::map<std::string, std::shared_ptr<Flight>> flights_;
};

}  // namespace tagring::federation
