// What must hold of a world that a seed drew, while things break and when all is at rest. The model is what
// people did: who published what under which hashtags, with which date, and took it back when; who wants what
// since when.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/rng.hpp"
#include "base/time.hpp"
#include "delivery/store.hpp"
#include "redundancy/partition.hpp"
#include "redundancy/storage_hints.hpp"
#include "runs/swarm_inboxes.hpp"
#include "sim/people.hpp"
#include "sim/world.hpp"
#include "storage/history.hpp"
#include "storage/statements.hpp"

namespace tagring::runs {

// What is wrong with what somebody was told of posts under one hashtag, in that order; empty if nothing. Of
// each post an Add and then a removal, or a removal alone, and each of them again only if it is later than
// what was told before (docs/protocol.md, 10).
std::string wrong_order(const std::vector<delivery::TagEvent>& told);

class SwarmChecks {
 public:
  // `tags`: all that are used. `inboxes`: what has reached nodes since the world began, or null.
  SwarmChecks(sim::World& world, const sim::WorldOptions& options, std::vector<std::string> tags, Rng rng,
              const Inboxes* inboxes = nullptr)
      : world_(world), options_(options), tags_(std::move(tags)), rng_(rng), inboxes_(inboxes) {}

  // --- what administrators want, from now on ---------------------------------------------------------------
  void wants(std::size_t node, const std::string& tag) {
    wanted_[{node, tag}] = world_.loop.now();
    unknown_.erase({node, tag});
  }
  void wants_no_more(std::size_t node, const std::string& tag) {
    wanted_.erase({node, tag});
    unknown_.erase({node, tag});
    former_.emplace(node, tag);
  }
  // It was told that it wants the hashtag, or not, and failed: who knows.
  void may_want(std::size_t node, const std::string& tag) {
    wanted_.erase({node, tag});
    unknown_.emplace(node, tag);
  }
  [[nodiscard]] bool is_wanted(std::size_t node, const std::string& tag) const {
    return wanted_.contains({node, tag});
  }
  [[nodiscard]] bool may_be_wanted(std::size_t node, const std::string& tag) const {
    return unknown_.contains({node, tag});
  }
  // Its disk is that of some time ago: of what it was told since then nobody tells it again.
  void went_back(std::size_t node);

  // --- what holds ------------------------------------------------------------------------------------------
  // At any time: what a node reads of a history, and was told, is something that was published, as it was.
  // What cannot be read now is not wrong: who could answer may be down.
  std::string glance();
  // Of posts from this one on, which were published when all was at rest, it is known who relays them.
  void note_rest() { first_at_rest_ = world_.posts().size(); }
  // At rest, `patience` later at most: what it is that does not hold, or empty.
  // `lists`: of followers and of what is followed, too.
  std::string at_rest(Duration patience, bool lists = true);
  // The same of what is read and of the disks, now: of what was at rest before.
  std::string still();

 private:
  static constexpr Duration kRead = std::chrono::seconds(30);
  // A hashtag, by a node: for its administrator, or because somebody follows it there.
  struct Wanted {
    bool is_certain = false;
    bool may_be = false;  // who knows
    bool ever = false;
    Instant since{};  // `is_certain`
  };
  using Posts = std::map<std::string, const sim::World::Post*>;  // by URI
  using Sets = std::map<std::string, redundancy::StorageSet>;    // by hashtag

  [[nodiscard]] Posts posts_under(const std::string& tag) const;
  [[nodiscard]] Wanted wanted(std::size_t node, const std::string& tag) const;
  // `replicas`: at rest, if not said.
  [[nodiscard]] std::set<std::size_t> owners(Ring ring, const std::string& tag) const;
  [[nodiscard]] std::set<std::size_t> owners(Ring ring, const std::string& tag, unsigned replicas) const;
  std::string wrong_entries(const std::vector<storage::HistoryEntry>& entries, const std::string& tag) const;
  std::string wrong_history();
  std::string wrong_feeds();
  std::string wrong_feed(std::size_t node, const std::string& tag, Instant since);
  std::string wrong_told(std::size_t node, const std::string& tag);

  // --- storage owners (swarm_storage_checks.cpp) ---
  [[nodiscard]] redundancy::StorageSet set_at_rest(const std::string& tag) const;
  Sets sets_in_memory(std::size_t node);
  // The set of storage owners that the hashtag has at last, as far as any node knows.
  [[nodiscard]] redundancy::StorageSet set_of(const std::string& tag);
  std::string wrong_sets_on_disk(std::size_t node, const Sets& in_memory);
  std::string wrong_sets();
  [[nodiscard]] std::set<std::size_t> owners_of_partition(const redundancy::Partition& partition) const;
  std::string wrong_disks();
  // What an owner holds of a partition, by URI: whether it is removed.
  using Held = std::map<std::string, bool>;
  // The first node that holds that, and its digest.
  using Digests = std::map<Held, std::pair<std::size_t, std::uint64_t>>;
  std::string wrong_disk(std::size_t node, const redundancy::Partition& partition, Held* held);
  std::string wrong_digests();
  std::string wrong_digest(std::size_t node, const redundancy::Partition& partition, const Held& held,
                           Digests* digests);
  std::string wrong_owners(const redundancy::StorageSet& set,
                           const std::map<unsigned, std::map<std::size_t, Held>>& held);
  Result<json::object> ask_head(std::size_t node, const redundancy::Partition& partition, std::int64_t hour,
                                const std::vector<std::string>& ids);
  std::string wrong_heads();
  std::string wrong_head(std::size_t node, const std::string& tag, std::int64_t hour,
                         std::span<const sim::World::Post* const> posts);
  bool has_only_heard(std::size_t node, const std::string& tag, const std::string& uri);
  std::optional<std::vector<storage::HeadLeaf>> leaves_on_disk(std::size_t node,
                                                               const redundancy::Partition& partition,
                                                               std::int64_t hour);
  std::string wrong_roots();
  std::string wrong_root(std::size_t node, const redundancy::Partition& partition, std::int64_t hour);

  // --- publishers, relays, subscribers (swarm_relay_checks.cpp) ---
  std::string wrong_relays();
  std::string wrong_followers(std::size_t relay, const std::string& tag);
  [[nodiscard]] std::optional<unsigned> place_of(std::size_t relay, const std::string& tag,
                                                 const std::string& uri) const;
  std::string wrong_relayed(std::size_t relay, const std::string& tag);
  std::string wrong_relay_sets();
  std::string wrong_subscriptions();
  std::string wrong_wants();
  std::string wrong_published();
  std::string wrong_outboxes();
  std::string wrong_inboxes();

  // --- people (swarm_people_checks.cpp) ---
  using Boosts = std::map<std::string, std::vector<const sim::People::Boost*>>;  // by URI of the post
  [[nodiscard]] Instant follows_since(const sim::People::Subject& subject,
                                      const sim::People::Wish& wish) const;
  std::string wrong_people();
  std::string wrong_server(const sim::People& server);
  std::string wrong_boosts(const sim::People& server, std::size_t node, const std::string& tag);
  std::string wrong_undone(const sim::People& server, std::size_t node, const std::string& tag,
                           const sim::World::Post& post, const sim::People::Boost& boost) const;
  std::string wrong_shown(const sim::People& server, std::size_t person, std::size_t node) const;

  std::string traces(const std::string& uri, const std::string& tag);
  std::string whereabouts(std::size_t node, const std::string& tag);

  sim::World& world_;
  const sim::WorldOptions& options_;
  std::vector<std::string> tags_;
  Rng rng_;
  const Inboxes* inboxes_;
  std::map<std::pair<std::size_t, std::string>, Instant> wanted_;
  std::set<std::pair<std::size_t, std::string>> former_;
  std::set<std::pair<std::size_t, std::string>> unknown_;
  std::map<std::size_t, Instant> went_back_;
  std::size_t first_at_rest_ = SIZE_MAX;
};

}  // namespace tagring::runs
