// The sender's end of FEP-8fcf (docs/followers.md): the header that goes with announcements, and the lists
// that it names. Which followers stand where: delivery/partial.hpp.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/runtime.hpp"
#include "base/workers.hpp"
#include "delivery/followers.hpp"
#include "delivery/observer.hpp"
#include "federation/authenticator.hpp"
#include "federation/identity.hpp"
#include "followers/documents.hpp"
#include "http/message.hpp"

namespace tagring::delivery {

class PartialCollections {
 public:
  struct Options {
    bool enabled = true;  // else no headers, and 404 for the lists
    followers::DocumentLimits documents;
    std::size_t snapshot_bytes_max = 64U << 20U;  // of all lists in pages that are being read
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

  // The actor of the collection (followers/partial.hpp): of that hashtag; the node if it is empty or, as what
  // an older Unicode may have left, no hashtag.
  [[nodiscard]] std::string actor_of(const std::string& collection) const;
  // Collection-Synchronization for a delivery to `inbox` by the actor of `collection`, or by the node's
  // actor if that is empty, as things stand now. Nothing if there is none to send.
  [[nodiscard]] std::optional<std::string> header(const std::string& collection,
                                                  const std::string& inbox) const;

  // A delivery to that inbox had a header; `problem` says why it was not taken, if it was not.
  void note_sent(const std::string& collection, const std::string& inbox, const std::string& header,
                 std::string problem);
  // A follower in that part was taken away by this node's decision: its server may not know, until a header
  // says so. Who leaves by their server's own word is no news to it.
  void note_turned_away(const PartialKey& key);
  // Parts of collections that are too long to be listed, so that no header is sent for them.
  [[nodiscard]] std::size_t too_long() const;
  // For the administrator: who of that server (an authority's text) follows the hashtag, or the node's actor
  // if `collection` is empty, as this node believes, and what is known of what the server believes.
  // {"server", "followers": […], "count", "digest", "header"?: {"at", "digest", "problem"},
  //  "fetch"?: {"at", "status"}, "problems": […], "unknown": nothing is remembered of an exchange}
  [[nodiscard]] json::object report(const std::string& collection, const std::string& server) const;

  // True for …/followers_synchronization and the pages below it.
  [[nodiscard]] static bool is_path(std::string_view path);
  // Answers a GET of such a path, for the server that signed it and no other: 401 unsigned, 403 if
  // denied, 410 for a hashtag that this node does not offer.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);
  // Of a list that is divided into pages all come from one moment, for as long as it takes to read them, and
  // as far as there is room; or from that at which the root was asked for last, if the list has changed: a
  // header has been sent that fits no older one.
  static constexpr Duration kSnapshotLifetime = std::chrono::minutes(5);
  static constexpr std::size_t kNotedMax = 10'000;    // headers, and fetches
  static constexpr std::size_t kReportedMax = 1'000;  // followers in a report

 private:
  using Documents = std::vector<followers::Document>;
  struct Snapshot {
    Instant made;
    followers::Digest digest;
    Documents documents;
    std::size_t bytes = 0;
  };
  struct SentHeader {
    WallTime at;
    std::string digest;
    std::string problem;
    bool names_turned_away = false;
  };
  struct Fetch {
    WallTime at;
    unsigned status = 0;
  };
  [[nodiscard]] bool fits(const Partial& partial) const;
  Task<HttpResponse> answer_to(federation::Authentic sender, PartialKey key, std::string page);
  Task<std::optional<Documents>> documents_of(PartialKey key, bool fresh);
  void keep(const PartialKey& key, const followers::Digest& digest, const Documents& documents);

  Options options_;
  const Followers& followers_;
  const federation::Identity& identity_;
  federation::Authenticator& authenticator_;
  const Observer& observer_;
  Clock& clock_;
  Workers& workers_;
  std::map<PartialKey, Snapshot> snapshots_;
  std::map<PartialKey, SentHeader> sent_;
  std::map<PartialKey, Fetch> fetches_;
};

}  // namespace tagring::delivery
