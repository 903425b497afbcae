// The sender's end of FEP-8fcf (docs/followers.md): the header that goes with announcements, and the lists
// that it names. Which followers stand where: relay/partial.hpp.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/http.hpp"
#include "base/workers.hpp"
#include "followers/documents.hpp"
#include "node/authenticator.hpp"
#include "node/identity.hpp"
#include "relay/followers.hpp"

namespace tagring::node {

class PartialCollections {
 public:
  struct Options {
    bool enabled = true;  // else no headers, and 404 for the lists
    followers::DocumentLimits documents;
  };

  PartialCollections(Options options, const relay::Followers& followers, const Identity& identity,
                     Authenticator& authenticator, Clock& clock, Workers& workers)
      : options_(options),
        followers_(followers),
        identity_(identity),
        authenticator_(authenticator),
        clock_(clock),
        workers_(workers) {}

  // Collection-Synchronization for a delivery to `inbox` by the hashtag actor of `tag`, or by the node's
  // actor if that is empty, as things stand now. Nothing if there is none to send.
  [[nodiscard]] std::optional<std::string> header(const std::string& tag, const std::string& inbox) const;

  // True for …/followers_synchronization and the pages below it.
  [[nodiscard]] static bool is_path(std::string_view path);
  // Answers a GET of such a path, for the server that signed it and no other: 401 unsigned, 403 if
  // is_denied.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);
  // Set by the owner: an actor that gets nothing.
  std::function<bool(const std::string& actor)> is_denied = [](const std::string&) { return false; };
  // A hashtag that this node does not offer: 410.
  std::function<bool(const std::string& tag)> is_gone = [](const std::string&) { return false; };

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
  Task<std::optional<Documents>> documents_of(relay::PartialKey key, bool fresh);
  void keep(const relay::PartialKey& key, const Documents& documents);

  Options options_;
  const relay::Followers& followers_;
  const Identity& identity_;
  Authenticator& authenticator_;
  Clock& clock_;
  Workers& workers_;
  std::map<relay::PartialKey, Snapshot> snapshots_;
};

}  // namespace tagring::node
