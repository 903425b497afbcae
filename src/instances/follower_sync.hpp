// The receiver's end of FEP-8fcf (docs/followers.md): compares what senders say about who follows them here
// with what this node knows, and repairs what differs.
//
// Two kinds of senders. A node's actor: its followers here are this node's hashtag actors, by the hashtags
// that this node follows there (delivery/partial.hpp). Any other actor: those of this node's actors that
// follow it back, because somebody uses this node as a relay. Who says to be a node, and neither has anything
// of this one's to follow nor was met on the rings, is one of the others: it may list hashtags by the
// thousand.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/counted.hpp"
#include "base/log.hpp"
#include "base/runtime.hpp"
#include "base/workers.hpp"
#include "delivery/observer.hpp"
#include "federation/authenticator.hpp"
#include "fediverse/actor.hpp"
#include "followers/header.hpp"
#include "followers/listing.hpp"
#include "followers/plan.hpp"
#include "followers/throttle.hpp"
#include "instances/instances.hpp"
#include "subscriber/subscriptions.hpp"

namespace tagring::instances {

class FollowerSync {
 public:
  struct Options {
    bool enabled = true;
    bool require_coverage = true;
    Duration grace = followers::PlanRules{}.grace;
    followers::ThrottleLimits throttle;
  };
  struct Counters {
    std::uint64_t ignored = 0;    // headers; why is in the debug log, and check() tells
    std::uint64_t equal = 0;      // headers with the digest of what is known here
    std::uint64_t different = 0;  // the others
    std::uint64_t settled = 0;    // had become equal shortly after: something was on its way
    std::uint64_t throttled = 0;
    std::uint64_t lists = 0;   // fetched, or tried to
    std::uint64_t doubts = 0;  // lists on whose word nothing may be removed
    std::uint64_t removed = 0;
    std::uint64_t accepted = 0;
    std::uint64_t undone = 0;
    [[nodiscard]] json::object to_json() const;
  };

  FollowerSync(Options options, subscriber::Subscriptions& subscriber, Instances& instances,
               federation::SignedClient& client, const delivery::Observer& observer, const Runtime& runtime);
  // From now on owners of hashtags that this node follows, and that were not heard to agree lately, are
  // asked.
  void start();
  [[nodiscard]] Task<void> stop();

  // A delivery by `sender` had this header. What there is to do follows in the background.
  void take(const std::string& value, const federation::Authentic& sender);

  // For the administrator: whether the two sides agree about who of this node follows `actor`, what would be
  // repaired, and what is wrong with its headers. With `apply` it is repaired, at once and unthrottled. Where
  // a header in order came lately, only a list with its digest takes anything away.
  [[nodiscard]] Task<Result<json::object>> check(std::string actor, bool apply);

  [[nodiscard]] const Counters& counters() const { return counters_; }

  // Between a header and its comparison with what is known by then: what is on its way arrives, and not all
  // who got the same post ask at once.
  static constexpr Duration kDelayMin = std::chrono::seconds(5);
  static constexpr Duration kDelayMax = std::chrono::seconds(30);
  // An owner that has forgotten this node sends it nothing, so no header either: a follow is as good as the
  // last look. Posts of a day can be asked for afterwards (subscriber/catch_up.hpp).
  static constexpr Duration kLookEvery = std::chrono::hours(6);
  // A list that a check fetches so soon after a header must be the one that was signed. Later, the list may
  // have changed, and no post have brought another header.
  static constexpr Duration kHeaderCounts = std::chrono::minutes(15);
  // For all pages of a list: few are read at a time. The last request may take longer.
  static constexpr Duration kListMax = std::chrono::minutes(1);
  static constexpr std::size_t kWaitingMax = 1'000;  // senders who are no nodes
  static constexpr std::size_t kSeenMax = 1'000;     // senders whose last header check() can tell of

 private:
  // `is_node` is what this node believes, for as long as it deals with that header or list.
  [[nodiscard]] fediverse::RemoteActor as_believed(fediverse::RemoteActor sender) const;
  struct Waiting {
    fediverse::RemoteActor sender;
    followers::Header header;     // the latest
    std::string counted_as = {};  // in strangers_; empty for a node
  };
  struct Seen {
    std::string value;
    std::string ignored;  // why; empty if it was not
    WallTime at;
    bool agrees = false;
  };
  [[nodiscard]] std::expected<followers::Header, followers::Ignore> judge(
      const std::string& value, const federation::Authentic& sender) const;
  void note_seen(const std::string& actor, Seen seen);
  [[nodiscard]] const Seen* find_seen(const std::string& actor) const;
  [[nodiscard]] followers::Digest digest_of(const fediverse::RemoteActor& sender) const;
  [[nodiscard]] followers::Knowledge knowledge_of(const fediverse::RemoteActor& sender) const;
  Task<void> look_again_and_again();
  Task<void> compare_later(std::string actor);
  Task<void> synchronise(Waiting waiting);
  // By the last header: where the list is, and what its digest was.
  struct Said {
    std::string url;
    std::optional<followers::Digest> digest;
    bool counts = false;
  };
  [[nodiscard]] Said said_by(const std::string& actor, json::object* report) const;
  struct Fetched {
    followers::Listing listing;
    std::string problem;  // why it is not whole; empty if it is
  };
  Task<Fetched> fetch(std::string url);
  Task<followers::Plan> plan(fediverse::RemoteActor sender, followers::Listing listing,
                             followers::Digest digest);
  Task<void> apply(fediverse::RemoteActor sender, followers::Plan plan);
  Task<void> apply_to_node(std::string owner, followers::Plan plan);
  [[nodiscard]] std::vector<Tag> tags_of(const std::vector<std::string>& ids) const;

  Options options_;
  subscriber::Subscriptions& subscriber_;
  Instances& instances_;
  const delivery::Observer& observer_;
  federation::SignedClient& client_;
  const federation::Identity& identity_;
  Clock& clock_;
  Workers& workers_;
  Log& log_;
  Rng rng_;
  followers::Authority own_;
  followers::Throttle throttle_;
  followers::Throttle nodes_throttle_;         // for nodes, whom strangers shall leave room
  std::map<std::string, Waiting> waiting_;     // by actor: those to be compared shortly
  DynamicThreshold strangers_{kWaitingMax};    // of these, by registered domain
  using SeenOf = std::map<std::string, Seen>;  // by actor
  Shares<SeenOf> seen_;                        // by registered domain
  Counters counters_;
  TaskGroup tasks_;
};

}  // namespace tagring::instances
