#include "sim/swarm.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <vector>

#include "base/ring_id.hpp"
#include "hashtag/tag.hpp"
#include "ring_sim/world.hpp"
#include "sim/world.hpp"
#include "storage/history.hpp"

namespace tagring::sim {
namespace {

const std::vector<std::string> kTags = {"caturday", "dogs", "music", "haiku", "fediverse"};
constexpr Duration kRest = std::chrono::minutes(20);  // within which all has to be done
constexpr Duration kReconcile = std::chrono::minutes(2);

// What a world is like, and what may happen in it.
struct Plan {
  std::size_t nodes = 3;
  std::size_t steps = 100;  // of people, with time between them
  WorldOptions world;
  double loss = 0;
  double duplicates = 0;
  Duration delay_max = Duration(50);
  std::size_t crashes_max = 0;  // at the same time
  bool power_cuts = false;
  bool partitions = false;
  bool cuts = false;
  bool clocks = false;
  bool full_disks = false;
  bool instances_down = false;
  bool failing_disks = false;
  bool moves = false;  // nodes leave and come back, others come

  [[nodiscard]] std::string text() const {
    return fmt::format(
        "{} nodes of {} vservers, R {} and {}, {} known, latency {} ms, loss {:.3f}, twice {:.3f}, database "
        "{} ms, "
        "stabilise {} ms{}{}{}{}{}{}{}{}{}",
        nodes, world.vservers, world.relay_replicas, world.storage_replicas, world.configured_nodes,
        delay_max.count(), loss, duplicates, world.database_pause.count(), world.stabilise.count(),
        crashes_max > 0 ? fmt::format(", {} crashes at once", crashes_max) : "",
        power_cuts ? ", power cuts" : "", partitions ? ", partitions" : "", cuts ? ", one-way cuts" : "",
        clocks ? ", clocks" : "", full_disks ? ", full disks" : "", instances_down ? ", instances down" : "",
        failing_disks ? ", failing disks" : "", moves ? ", nodes come and leave" : "");
  }
};

// `more`: of what was thought of later, so that other worlds are as they were.
Plan draw(Rng& rng, Rng& more, bool log) {
  Plan plan;
  plan.nodes = 3 + rng.below(rng.chance(0.1) ? 58 : 12);
  plan.steps = 40 + rng.below(100);
  WorldOptions& world = plan.world;
  world.vservers = plan.nodes > 20 ? 1 : 1 + static_cast<unsigned>(rng.below(3));
  world.relay_replicas = 1U << rng.below(3);
  world.storage_replicas = 1U << rng.below(3);
  world.configured_nodes = 1 + static_cast<unsigned>(rng.below(3));
  world.stabilise = Duration(1000 + static_cast<Duration::rep>(rng.below(4000)));
  world.reconcile = kReconcile;
  world.database_pause = Duration(rng.chance(0.5) ? static_cast<Duration::rep>(rng.below(40)) : 0);
  world.log = log;
  plan.delay_max = Duration(20 + static_cast<Duration::rep>(rng.below(rng.chance(0.2) ? 1500 : 300)));
  if (rng.chance(0.5)) plan.loss = 0.03 * rng.uniform();
  if (rng.chance(0.5)) plan.duplicates = 0.05 * rng.uniform();
  if (rng.chance(0.6)) plan.crashes_max = 1 + rng.below(std::max<std::size_t>(1, plan.nodes / 3));
  plan.power_cuts = rng.chance(0.25);
  plan.partitions = rng.chance(0.5);
  plan.cuts = rng.chance(0.3);
  plan.clocks = rng.chance(0.3);
  plan.full_disks = rng.chance(0.2);
  plan.instances_down = rng.chance(0.3);
  plan.failing_disks = more.chance(0.2);
  plan.moves = more.chance(0.2);
  return plan;
}

class Swarm {
 public:
  Swarm(std::uint64_t seed, bool log)
      : rng_(Rng(seed).fork("swarm")),
        more_(Rng(seed).fork("swarm").fork("more")),
        plan_(draw(rng_, more_, log)),
        world_(seed, plan_.world) {}

  SwarmRun run() {
    SwarmRun result;
    result.world = plan_.text();
    result.what = live();
    result.simulated = std::chrono::duration_cast<Duration>(world_.loop.now() - Instant{});
    result.steps = world_.loop.events();
    result.trace = world_.loop.trace();
    return result;
  }

 private:
  // What did not hold; empty if all did.
  std::string live() {
    for (std::size_t i = 0; i < plan_.nodes; ++i) {
      world_.start_node(i);
      world_.loop.run_for(Duration(static_cast<Duration::rep>(rng_.below(600))));
    }
    if (!world_.run_until(kRest, [&] { return world_.is_settled(); }))
      return "at the start: " + world_.unsettled();
    for (int n = 0; n < 3; ++n) subscribe(rng_.below(plan_.nodes), rng_.below(kTags.size()));
    if (!rest()) return "with subscriptions: " + world_.unrest();
    world_.faults.loss = plan_.loss;
    world_.faults.duplicates = plan_.duplicates;
    world_.faults.delay_max = plan_.delay_max;
    for (std::size_t n = 0; n < plan_.steps; ++n) {
      people_act();
      things_break();
      world_.loop.run_for(Duration(static_cast<Duration::rep>(rng_.below(1500))));
    }
    heal();
    if (!rest()) return "after the faults: " + world_.unrest();
    // What nodes remember of the ring is a minute old at most; then come renewals, and last hand-overs.
    world_.loop.run_for(std::chrono::minutes(2));
    if (!rest()) return "two minutes later: " + world_.unrest();
    for (const std::string& tag : kTags) world_.publish(rng_.below(plan_.nodes), {tag});
    if (!rest()) return "with new posts: " + world_.unrest();
    return check();
  }

  void subscribe(std::size_t node, std::size_t tag) {
    if (!world_.is_running(node)) return;
    const auto wanted =
        world_.await(world_.node(node).subscriber().want({kTags[tag]}, "admin"), std::chrono::seconds(10));
    if (wanted && *wanted) followed_.insert({node, kTags[tag]});
  }

  void people_act() {
    world_.publish(rng_.below(plan_.nodes),
                   {kTags[rng_.below(kTags.size())], kTags[rng_.below(kTags.size())]});
    if (rng_.chance(0.1)) world_.remove(rng_.below(world_.posts().size()));
  }

  void things_break() {
    if (down_.size() < plan_.crashes_max && rng_.chance(0.1)) crash(rng_.below(plan_.nodes));
    if (!down_.empty() && rng_.chance(0.15)) start(*std::next(down_.begin(), pick(down_.size())));
    if (plan_.power_cuts && rng_.chance(0.01)) {
      for (std::size_t i = 0; i < plan_.nodes; ++i) crash(i);
      world_.loop.run_for(Duration(static_cast<Duration::rep>(rng_.below(10'000))));
      while (!down_.empty()) start(*std::next(down_.begin(), pick(down_.size())));
    }
    if (plan_.partitions && rng_.chance(0.03)) {
      std::map<std::size_t, int> parts;
      const std::uint64_t count = 2 + rng_.below(2);
      for (std::size_t i = 0; i < plan_.nodes; ++i) parts[i] = static_cast<int>(rng_.below(count));
      world_.partition(std::move(parts));
    }
    if (plan_.partitions && rng_.chance(0.05)) world_.partition({});
    if (plan_.cuts && rng_.chance(0.03)) world_.cut(some(), some());
    if (plan_.cuts && rng_.chance(0.08)) world_.cut({}, {});
    const auto wrong = Duration(static_cast<Duration::rep>(rng_.below(60'000)) - 30'000);
    if (plan_.clocks && rng_.chance(0.05)) world_.set_clock(rng_.below(plan_.nodes), wrong);
    const std::size_t node = rng_.below(plan_.nodes);
    if (plan_.full_disks && rng_.chance(0.05) && world_.is_up(node)) {
      world_.disk(node).set_capacity(world_.disk(node).size());
      full_.insert(node);
    }
    if (!full_.empty() && rng_.chance(0.1)) empty_disk(*full_.begin());
    if (plan_.instances_down && rng_.chance(0.05)) world_.set_instance_down(node, rng_.chance(0.5));
    if (plan_.failing_disks && more_.chance(0.05) && world_.is_up(node)) {
      world_.disk(node).set_failures(0.3, 0.3);
      failing_.insert(node);
    }
    if (!failing_.empty() && more_.chance(0.15)) mend_disk(*failing_.begin());
    if (plan_.moves && more_.chance(0.02)) world_.start_node(plan_.nodes + came_++);
    if (plan_.moves && more_.chance(0.03)) leave(node);
  }

  void leave(std::size_t node) {
    if (!world_.is_running(node) || world_.up().size() < 4) return;
    world_.leave_node(node);
    down_.insert(node);
    empty_disk(node);
    mend_disk(node);
  }

  std::ptrdiff_t pick(std::size_t count) { return static_cast<std::ptrdiff_t>(rng_.below(count)); }
  std::set<std::size_t> some() {
    std::set<std::size_t> chosen;
    for (std::size_t i = 0; i < plan_.nodes; ++i) {
      if (rng_.chance(0.3)) chosen.insert(i);
    }
    return chosen;
  }
  void crash(std::size_t node) {
    if (!down_.insert(node).second) return;
    world_.crash_node(node);
    // Who starts needs room on the disk.
    empty_disk(node);
    mend_disk(node);
  }
  void start(std::size_t node) {
    down_.erase(node);
    world_.start_node(node);
    world_.loop.run_for(Duration(static_cast<Duration::rep>(rng_.below(3'000))));
  }
  void empty_disk(std::size_t node) {
    world_.disk(node).set_capacity(UINT64_MAX);
    full_.erase(node);
  }

  void mend_disk(std::size_t node) {
    world_.disk(node).set_failures(0, 0);
    failing_.erase(node);
  }

  void heal() {
    world_.partition({});
    world_.cut({}, {});
    world_.faults = ring_sim::NetworkFaults{};
    for (std::size_t i = 0; i < plan_.nodes; ++i) {
      world_.set_instance_down(i, false);
      world_.set_clock(i, Duration::zero());
      empty_disk(i);
      mend_disk(i);
    }
    while (!down_.empty()) start(*down_.begin());
  }
  bool rest() {
    return world_.run_until(kRest, [&] { return world_.is_quiet(); });
  }

  // --- what has to hold at rest
  // -----------------------------------------------------------------------------

  [[nodiscard]] std::multiset<std::string> living(const std::string& tag) const {
    std::multiset<std::string> uris;
    for (const World::Post& post : world_.posts()) {
      if (!post.deleted && std::ranges::find(post.tags, tag) != post.tags.end()) uris.insert(post.uri);
    }
    return uris;
  }

  // How two sets of URIs differ, in words; empty if they are the same.
  static std::string difference(const std::multiset<std::string>& expected,
                                const std::multiset<std::string>& found) {
    std::vector<std::string> missing;
    std::vector<std::string> added;
    std::ranges::set_difference(expected, found, std::back_inserter(missing));
    std::ranges::set_difference(found, expected, std::back_inserter(added));
    std::string text;
    if (!missing.empty())
      text += fmt::format("lacks {} of {}: {}", missing.size(), expected.size(), fmt::join(missing, " "));
    if (!added.empty())
      text += fmt::format("{}has what is gone or told twice: {}", text.empty() ? "" : "; ",
                          fmt::join(added, " "));
    return text;
  }

  std::string check() {
    for (const auto& [node, tag] : followed_) {
      const std::string wrong = difference(living(tag), world_.feed(node, tag));
      if (!wrong.empty())
        return fmt::format("the feed of node {} under #{} {}; {}", node, tag, wrong, whereabouts(node, tag));
    }
    // What owners differ about they ask the post's server, some minutes apart.
    std::string wrong;
    world_.run_until(kRest, [&] { return (wrong = wrong_history()).empty(); });
    if (!wrong.empty()) return wrong;
    world_.run_until(3 * kReconcile, [&] { return (wrong = wrong_owner()).empty(); });
    return wrong;
  }

  // A history that a node does not read as it is; empty if there is none.
  std::string wrong_history() {
    for (const std::string& tag : kTags) {
      const std::size_t reader = rng_.below(plan_.nodes);
      const auto history = world_.history(reader, tag, 1 + rng_.below(30));
      if (!history) return fmt::format("the history of #{} cannot be read through node {}", tag, reader);
      std::multiset<std::string> uris;
      for (const storage::HistoryEntry& entry : *history) uris.insert(entry.uri);
      const std::string wrong = difference(living(tag), uris);
      if (!wrong.empty()) return fmt::format("the history of #{} through node {} {}", tag, reader, wrong);
    }
    return {};
  }

  // Who relays a hashtag, and who has posts of it that are missing in the feed of a node.
  std::string whereabouts(std::size_t node, const std::string& tag) {
    const std::multiset<std::string> feed = world_.feed(node, tag);
    std::string text;
    for (const std::size_t other : world_.up()) {
      if (world_.node(other).rings().of(Ring::kRelay).serving(Tag::parse(tag)->key()) != nullptr)
        text += fmt::format("node {} relays it, ", other);
      const std::multiset<std::string> theirs = world_.feed(other, tag);
      if (!std::ranges::includes(feed, theirs)) text += fmt::format("node {} has more, ", other);
    }
    return text;
  }

  // An owner on the storage ring that does not hold what it should; empty if there is none.
  std::string wrong_owner() {
    for (const std::string& tag : kTags) {
      for (const std::size_t owner : owners(tag)) {
        std::multiset<std::string> held;
        std::optional<storage::HistoryCursor> cursor;
        for (bool more = true; more;) {
          const auto page =
              world_.await(world_.history_store(owner).page(tag, cursor, 500), std::chrono::seconds(10));
          if (!page || !*page) return fmt::format("node {} cannot read its disk", owner);
          for (const storage::HistoryEntry& entry : (*page)->entries) {
            if (!entry.removed) held.insert(entry.uri);
          }
          more = (*page)->more;
          cursor = (*page)->next;
        }
        const std::string wrong = difference(living(tag), held);
        if (!wrong.empty()) return fmt::format("node {}, which owns #{}, {}", owner, tag, wrong);
      }
    }
    return {};
  }

  [[nodiscard]] std::set<std::size_t> owners(const std::string& tag) {
    std::set<std::size_t> found;
    for (unsigned i = 0; i < plan_.world.storage_replicas; ++i) {
      const RingId position = replica_key(Tag::parse(tag)->key(), i, plan_.world.storage_replicas);
      for (const std::size_t node : world_.up()) {
        if (world_.node(node).rings().of(Ring::kStorage).serving(position) != nullptr) found.insert(node);
      }
    }
    return found;
  }

  Rng rng_;
  Rng more_;
  Plan plan_;
  World world_;
  std::set<std::pair<std::size_t, std::string>> followed_;
  std::set<std::size_t> down_;
  std::set<std::size_t> full_;
  std::set<std::size_t> failing_;
  std::size_t came_ = 0;
};

}  // namespace

SwarmRun run_swarm(std::uint64_t seed, bool log) { return Swarm(seed, log).run(); }

}  // namespace tagring::sim
