// Remote actors and their keys, fetched once and remembered for a while.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "base/counted.hpp"
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

// Where no more are remembered, what has not been used for a week gives way, or else one of the registered
// domain that has most.
class RemoteKeys {
 public:
  RemoteKeys(budget::Manager& budget, SignedClient& client, const Runtime& runtime,
             std::size_t most = kSizeMax)
      : most_(most),
        budget_(budget),
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

  // The key has signed something: from now on it has its place as one of its own domain. Before, it is there
  // because an asker named it, and anybody can name the keys of others.
  void note_genuine(const std::string& key_id);

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
    std::string whose = {};
    [[nodiscard]] bool is_worth_more() const { return owner || former; }
  };
  // Those of one domain, or named from one address: what was not to be had, then what is oldest.
  using Ranked = std::set<std::tuple<bool, Instant, std::string>>;
  using Cache = std::map<std::string, Entry>;  // by key id
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
  void remember(const std::string& key_id, const Result<KeyOwner>& owner,
                const std::optional<IpAddress>& asker);
  void revoke(const std::string& key_id);
  void forget(Cache::iterator entry);
  void rank(Cache::iterator entry, std::string whose);
  void unrank(Cache::iterator entry);
  void make_room(const std::string& whose, std::size_t bytes);
  [[nodiscard]] std::string domain_of(const std::string& key_id) const;
  [[nodiscard]] bool is_recent(const Entry& entry, bool refresh) const;

  const std::size_t most_;
  budget::Manager& budget_;
  SignedClient& client_;
  Clock& clock_;
  Executor executor_;
  Workers& workers_;
  Cache cache_;
  Shares<Ranked> ranked_;  // by registered domain, or group of the addresses of who asked
  std::size_t bytes_ = 0;  // of all of them
  std::map<std::string, std::shared_ptr<Flight>> flights_;
};

}  // namespace tagring::federation
