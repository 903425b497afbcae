// The sender's end of FEP-8fcf (docs/followers.md): the header that goes with announcements, and the lists
// that it names. Which followers stand where: relay/partial.hpp.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/http.hpp"
#include "base/runtime.hpp"
#include "base/workers.hpp"
#include "federation/authenticator.hpp"
#include "federation/identity.hpp"
#include "followers/documents.hpp"
#include "relay/followers.hpp"
#include "relay/observer.hpp"

namespace tagring::relay {

class PartialCollections {
 public:
  struct Options {
    bool enabled = true;  // else no headers, and 404 for the lists
    followers::DocumentLimits documents;
  };

  PartialCollections(Options options, const Followers& followers, const federation::Identity& identity,
                     federation::Authenticator& authenticator, const Observer& observer,
                     const Runtime& runtime)
      : options_(options),
        followers_(followers),
        identity_(identity),
        authenticator_(authenticator),
        observer_(observer),
        clock_(runtime.clock),
        workers_(runtime.workers) {}

  // Collection-Synchronization for a delivery to `inbox` by the hashtag actor of `tag`, or by the node's
  // actor if that is empty, as things stand now. Nothing if there is none to send.
  [[nodiscard]] std::optional<std::string> header(const std::string& tag, const std::string& inbox) const;

  // True for …/followers_synchronization and the pages below it.
  [[nodiscard]] static bool is_path(std::string_view path);
  // Answers a GET of such a path, for the server that signed it and no other: 401 unsigned, 403 if
  // denied, 410 for a hashtag that this node does not offer.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);
  // Of a list that is divided into pages all come from one moment, for as long as it takes to read them.
  static constexpr Duration kSnapshotLifetime = std::chrono::minutes(5);
  static constexpr std::size_t kSnapshotsMax = 4;

 private:
  using Documents = std::vector<followers::Document>;
  struct Snapshot {
    Instant made;
    Documents documents;
  };
  [[nodiscard]] std::string actor_of(const std::string& tag) const;
  Task<std::optional<Documents>> documents_of(PartialKey key, bool fresh);
  void keep(const PartialKey& key, const Documents& documents);

  Options options_;
  const Followers& followers_;
  const federation::Identity& identity_;
  federation::Authenticator& authenticator_;
  const Observer& observer_;
  Clock& clock_;
  Workers& workers_;
  std::map<PartialKey, Snapshot> snapshots_;
};

}  // namespace tagring::relay
