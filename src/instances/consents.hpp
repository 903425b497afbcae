// What authors wish, as their profiles say: whether their posts are relayed, and whether they are kept.
//
// A profile is looked at again two minutes after the last time, when its author posts, and at once when the
// author's server says that it has changed. Posts of authors who withdraw consent are taken out of the
// archive, or out of everything.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "base/runtime.hpp"
#include "federation/signed_client.hpp"
#include "fediverse/actor.hpp"
#include "relay/owner_queue.hpp"
#include "relay/store.hpp"

namespace tagring::instances {

class Consents {
 public:
  struct Options {
    bool archive_all = false;  // the archive gets all public posts, not only of authors who say `indexable`
  };
  static constexpr Duration kLifetime = std::chrono::minutes(2);

  Consents(Options options, relay::OwnerQueue& owners, relay::Store& store, federation::SignedClient& client,
           const Runtime& runtime)
      : options_(options),
        owners_(owners),
        store_(store),
        client_(client),
        clock_(runtime.clock),
        tasks_(runtime.executor) {}
  [[nodiscard]] Task<void> stop();

  // As far as it is known. `author` is from the key that signed the post and may be hours old; what was
  // learned since counts more.
  [[nodiscard]] Task<Result<relay::Consent>> of(fediverse::RemoteActor author);
  // What was learned of an author, if posts of that author are known here.
  [[nodiscard]] Task<Result<std::optional<relay::Consent>>> known(std::string author);
  // Takes it from a profile that was just fetched. Durable when it completes: what the author has withdrawn
  // is owed to the owners.
  [[nodiscard]] Task<Result<void>> learn(fediverse::RemoteActor author);
  // Fetches the profile, and learns from it.
  [[nodiscard]] Task<Result<void>> ask(std::string author);
  [[nodiscard]] Task<Result<fediverse::RemoteActor>> fetch(std::string author);
  // Whether its server says so. kUnavailable or kTimedOut if it does not answer.
  [[nodiscard]] Task<Result<bool>> is_gone(std::string author);
  // Takes out everything of an author whose account is gone.
  [[nodiscard]] Task<Result<void>> forget(std::string author);

 private:
  struct Known {
    relay::Consent consent;
    Instant asked;
  };
  [[nodiscard]] relay::Consent read(const fediverse::RemoteActor& author) const;
  Task<void> ask_again(std::string author);
  Task<Result<void>> learn(std::string author, relay::Consent consent);
  Task<Result<void>> withdraw(std::string author, bool from_archive_only);
  void remember(const std::string& author, relay::Consent consent);

  Options options_;
  relay::OwnerQueue& owners_;
  relay::Store& store_;
  federation::SignedClient& client_;
  Clock& clock_;
  std::map<std::string, Known> authors_;
  TaskGroup tasks_;
};

}  // namespace tagring::instances
