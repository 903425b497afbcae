#include "runs/swarm.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <tuple>
#include <vector>

#include "base/assert.hpp"
#include "delivery/store.hpp"
#include "ring_sim/world.hpp"
#include "runs/swarm_checks.hpp"
#include "sim/world.hpp"
#include "storage/history.hpp"

namespace tagring::runs {
namespace {

const std::vector<std::string> kTags = {"caturday", "dogs", "music", "haiku", "fediverse"};
constexpr Duration kRest = std::chrono::minutes(20);  // within which all has to be done
constexpr Duration kSwarmReconciles = std::chrono::minutes(2);
constexpr Duration kAdmin = std::chrono::seconds(10);  // that an administrator waits for an answer

// What a world is like, and what may happen in it.
struct Plan {
  std::size_t nodes = 3;
  std::size_t steps = 100;  // of people, with time between them
  sim::WorldOptions world;
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
  bool glances = false;
  bool wishes = false;  // change: hashtags are wanted and unwanted
  bool edits = false;
  bool drift = false;  // clocks go wrong little by little
  bool instances_crash = false;
  bool copies = false;  // a node is restored from a copy of its disk
  double resets = 0;
  bool calm = false;  // nothing happens that the theory of the ring does not allow

  [[nodiscard]] std::string text() const {
    std::string text = fmt::format(
        "{} nodes of {} vservers, R {} and {}, {} known, kappa {}, latency {} ms, loss {:.3f}, twice {:.3f}, "
        "broken {:.3f}, "
        "database {} ms, stabilise {} ms",
        nodes, world.vservers, world.relay_replicas, world.storage_replicas, world.configured_nodes,
        world.ids.kappa, delay_max.count(), loss, duplicates, resets, world.database_pause.count(),
        world.stabilise.count());
    if (crashes_max > 0) text += fmt::format(", {} crashes at once", crashes_max);
    const std::vector<std::pair<bool, std::string_view>> others = {{calm, "calm"},
                                                                   {power_cuts, "power cuts"},
                                                                   {partitions, "partitions"},
                                                                   {cuts, "one-way cuts"},
                                                                   {clocks, "clocks"},
                                                                   {drift, "drift"},
                                                                   {full_disks, "full disks"},
                                                                   {failing_disks, "failing disks"},
                                                                   {copies, "a copy of a disk"},
                                                                   {instances_down, "instances down"},
                                                                   {instances_crash, "instances crash"},
                                                                   {moves, "nodes come and leave"},
                                                                   {world.balance, "balancing"},
                                                                   {wishes, "wishes change"},
                                                                   {edits, "edits"},
                                                                   {glances, "readers"}};
    for (const auto& [there, name] : others) {
      if (there) text += fmt::format(", {}", name);
    }
    return text;
  }
};

// What was thought of last. Seeds that are known for what they showed go without (SwarmOptions::first_draw).
void draw_later(Plan& plan, Rng& rng) {
  sim::WorldOptions& world = plan.world;
  plan.glances = true;
  plan.wishes = rng.chance(0.5);
  plan.edits = rng.chance(0.5);
  plan.drift = rng.chance(0.3) && !plan.clocks;
  plan.instances_crash = rng.chance(0.3);
  plan.copies = world.relay_replicas > 1 && world.storage_replicas > 1 && rng.chance(0.2);
  if (rng.chance(0.4)) plan.resets = 0.02 * rng.uniform();
  if (rng.chance(0.7) && world.database_pause == Duration::zero())
    world.database_pause = Duration(1 + static_cast<Duration::rep>(rng.below(40)));
  world.ids.kappa = world.vservers + static_cast<unsigned>(rng.below(48));
  world.balance = rng.chance(0.15);
}

// A network on which the invariant of the ring has to hold from event to event: who fails is known to have
// failed, no more do than it allows, and there are more nodes than a successor list has entries.
void calm_down(Plan& plan, Rng& rng) {
  plan.calm = true;
  plan.nodes = 18 + rng.below(16);
  plan.world.vservers = 1 + static_cast<unsigned>(rng.below(2));
  plan.world.balance = false;
  plan.delay_max = std::min(plan.delay_max, Duration(300));
  plan.loss = plan.resets = 0;
  plan.crashes_max = 1 + rng.below(plan.nodes - 17);
  plan.moves = true;
  for (bool* fault : {&plan.power_cuts, &plan.partitions, &plan.cuts, &plan.clocks, &plan.drift,
                      &plan.full_disks, &plan.failing_disks, &plan.copies})
    *fault = false;
}

// `more`: of what was thought of later, so that other worlds are as they were.
Plan draw(Rng& rng, Rng& more, Rng& later, const SwarmOptions& options) {
  Plan plan;
  plan.nodes = 3 + rng.below(rng.chance(0.1) ? 58 : 12);
  plan.steps = 40 + rng.below(100);
  sim::WorldOptions& world = plan.world;
  world.vservers = plan.nodes > 20 ? 1 : 1 + static_cast<unsigned>(rng.below(3));
  world.relay_replicas = 1U << rng.below(3);
  world.storage_replicas = 1U << rng.below(3);
  world.configured_nodes = 1 + static_cast<unsigned>(rng.below(3));
  world.stabilise = Duration(1000 + static_cast<Duration::rep>(rng.below(4000)));
  world.reconcile = kSwarmReconciles;
  world.database_pause = Duration(rng.chance(0.5) ? static_cast<Duration::rep>(rng.below(40)) : 0);
  if (options.log) world.log = sim::to_stderr;
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
  if (options.first_draw) return plan;
  draw_later(plan, later);
  Rng calm = later.fork("calm");
  if (options.calm.value_or(calm.chance(0.1))) calm_down(plan, calm);
  return plan;
}

class Swarm {
 public:
  Swarm(std::uint64_t seed, const SwarmOptions& options)
      : options_(options),
        rng_(Rng(seed).fork("swarm")),
        more_(Rng(seed).fork("swarm").fork("more")),
        later_(Rng(seed).fork("swarm").fork("later")),
        plan_(draw(rng_, more_, later_, options)),
        world_(seed, plan_.world),
        checks_(world_, plan_.world, kTags, Rng(seed).fork("checks")) {}

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
    world_.watch();
    world_.set_inside(false);  // whoever founds a ring has no successor at first
    for (std::size_t i = 0; i < plan_.nodes; ++i) {
      world_.start_node(i);
      world_.loop.run_for(Duration(static_cast<Duration::rep>(rng_.below(600))));
    }
    if (!world_.run_until(kRest, [&] { return world_.is_settled(); }))
      return "at the start: " + world_.unsettled();
    world_.set_inside(true);
    for (int n = 0; n < 3; ++n) subscribe(rng_.below(plan_.nodes), rng_.below(kTags.size()));
    if (!rest()) return "with subscriptions: " + world_.unrest();
    world_.set_inside(plan_.calm);
    world_.faults.loss = plan_.loss;
    world_.faults.duplicates = plan_.duplicates;
    world_.faults.delay_max = plan_.delay_max;
    world_.faults.resets = plan_.resets;
    for (std::size_t n = 0; n < plan_.steps; ++n) {
      people_act();
      people_wish();
      things_break();
      more_breaks();
      world_.loop.run_for(Duration(static_cast<Duration::rep>(rng_.below(1500))));
      if (const auto broken = world_.broken()) return "meanwhile " + *broken;
      if (!plan_.glances || !later_.chance(0.2)) continue;
      if (std::string wrong = checks_.glance(); !wrong.empty()) return "meanwhile " + wrong;
    }
    if (options_.sabotage == Sabotage::kAbort) TR_ASSERT(!"asked for");
    heal();
    if (!rest()) return "after the faults: " + world_.unrest();
    // What nodes remember of the ring is a minute old at most; then come renewals, and last hand-overs.
    world_.loop.run_for(std::chrono::minutes(2));
    if (!rest()) return "two minutes later: " + world_.unrest();
    if (!plan_.calm) world_.set_inside(true);
    checks_.note_rest();
    for (const std::string& tag : kTags) world_.publish(rng_.below(plan_.nodes), {tag});
    if (!rest()) return "with new posts: " + world_.unrest();
    if (options_.sabotage == Sabotage::kLosePost) lose(world_.posts().back());
    if (std::string wrong = checks_.at_rest(kRest); !wrong.empty()) return wrong;
    const auto broken = world_.broken();
    return broken ? "in the end " + *broken : "";
  }

  // From all disks.
  void lose(const sim::World::Post& post) {
    const Tag tag = Tag::from_canonical(post.tags.front());
    for (const std::size_t node : world_.up())
      world_.await_on(node, world_.history_store(node).correct(tag, post.uri, std::nullopt, false), kAdmin);
  }

  void subscribe(std::size_t node, std::size_t tag) {
    if (!world_.is_running(node)) return;
    const auto done = world_.await_on(
        node, world_.node(node).subscriber().want({Tag::from_canonical(kTags[tag])}, "admin"), kAdmin);
    if (done && *done) {
      if (!checks_.is_wanted(node, kTags[tag])) checks_.wants(node, kTags[tag]);
    } else {
      checks_.may_want(node, kTags[tag]);
    }
  }

  void unsubscribe(std::size_t node, std::size_t tag) {
    if (!world_.is_running(node)) return;
    const auto done = world_.await_on(
        node, world_.node(node).subscriber().unwant({Tag::from_canonical(kTags[tag])}, "admin"), kAdmin);
    if (done && *done) {
      checks_.wants_no_more(node, kTags[tag]);
    } else {
      checks_.may_want(node, kTags[tag]);
    }
  }

  void people_wish() {
    if (plan_.wishes && later_.chance(0.1)) {
      const std::size_t node = later_.below(plan_.nodes);
      const std::size_t tag = later_.below(kTags.size());
      if (checks_.is_wanted(node, kTags[tag])) {
        unsubscribe(node, tag);
      } else {
        subscribe(node, tag);
      }
    }
    if (plan_.edits && later_.chance(0.15)) {
      const std::size_t post = later_.below(world_.posts().size());
      if (may_change(post)) edit(post);
    }
  }

  // One hashtag goes, or another comes, or one that went before. Never the last one: without hashtags a post
  // is to its node as if it were deleted, for good (delivery/store.hpp, publish).
  void edit(std::size_t post) {
    std::vector<std::string> tags = world_.posts()[post].tags;
    if (tags.size() > 1 && later_.chance(0.5)) {
      tags.pop_back();
    } else if (const auto& left = world_.posts()[post].left; !left.empty() && later_.chance(0.7)) {
      tags.push_back(std::next(left.begin(), static_cast<std::ptrdiff_t>(later_.below(left.size())))->first);
    } else {
      tags.push_back(kTags[later_.below(kTags.size())]);
    }
    world_.edit(post, std::move(tags));
  }

  // Not if it is gone, or its node has been restored from when it had not heard of it.
  [[nodiscard]] bool may_change(std::size_t post) const {
    return !world_.posts()[post].deletion_sent && !forgotten_.contains(post);
  }

  void people_act() {
    world_.publish(rng_.below(plan_.nodes),
                   {kTags[rng_.below(kTags.size())], kTags[rng_.below(kTags.size())]});
    if (!rng_.chance(0.1)) return;
    const std::size_t post = rng_.below(world_.posts().size());
    if (!forgotten_.contains(post)) world_.remove(post);
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

  void more_breaks() {
    const std::size_t node = later_.below(plan_.nodes);
    if (plan_.instances_crash && later_.chance(0.05)) {
      world_.crash_instance(node);
    } else if (plan_.instances_crash && later_.chance(0.3)) {
      world_.set_instance_down(node, false);
    }
    if (plan_.drift) drift();
    if (!plan_.copies) return;
    if (!copy_ && later_.chance(0.1) && world_.is_running(node)) take_copy(node);
    if (copy_ && !restored_ && later_.chance(0.03)) restore_copy();
  }

  // Each clock at its own pace: up to a fifth of a second a step, fast or slow.
  void drift() {
    ++drifts_;
    for (std::size_t i = 0; i < plan_.nodes; ++i)
      world_.set_clock(i, drifts_ * Duration(static_cast<Duration::rep>(i * 7919 % 401) - 200));
  }

  void leave(std::size_t node) {
    if (!world_.is_running(node) || world_.up().size() < 4) return;
    if (plan_.calm && !world_.may_crash(node)) return;
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
    if (plan_.calm && !world_.may_crash(node)) return;
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
  // As after a backup. One node only: what its copy lacks the others have.
  void take_copy(std::size_t node) {
    Copy copy{node, world_.disk(node).image(), {}, {}};
    for (const std::string& tag : kTags) {
      if (checks_.is_wanted(node, tag)) copy.wanted.insert(tag);
    }
    for (std::size_t n = 0; n < world_.posts().size(); ++n) {
      if (world_.posts()[n].acknowledged) copy.known.insert(n);
    }
    copy_ = std::move(copy);
  }

  // What a node alone knows, cut off from all others, is gone with its disk.
  [[nodiscard]] bool has_told_others(std::size_t node) {
    std::set<std::tuple<std::string, std::string, delivery::Op>> told;  // hashtag and URI
    for (const std::size_t other : world_.up()) {
      for (const std::string& tag : kTags) {
        if (other == node || !world_.is_running(other)) continue;
        std::map<std::string, delivery::Op> last;
        const auto events = world_.told(other, tag);
        for (const delivery::TagEvent& event : events.value_or(std::vector<delivery::TagEvent>()))
          last.insert_or_assign(event.uri, event.op);
        for (const auto& [uri, op] : last) told.emplace(tag, uri, op);
      }
    }
    return std::ranges::all_of(world_.posts(), [&](const sim::World::Post& post) {
      return !post.acknowledged || std::ranges::all_of(kTags, [&](const std::string& tag) {
        const auto last = post.is_under(tag) ? delivery::Op::kAdd : delivery::Op::kRemove;
        return !post.was_under(tag) || told.contains({tag, post.uri, last});
      });
    });
  }

  // Not while it owes somebody what it has acknowledged, or is alone with it, and not if other hashtags were
  // wanted then: nobody could know.
  void restore_copy() {
    const std::size_t node = copy_->node;
    if (!world_.is_running(node) || !has_told_others(node)) return;
    if (!world_.is_running(node) || !world_.node(node).is_idle()) return;
    for (const std::string& tag : kTags) {
      if (checks_.is_wanted(node, tag) != copy_->wanted.contains(tag)) return;
    }
    for (std::size_t n = 0; n < world_.posts().size(); ++n) {
      const sim::World::Post& post = world_.posts()[n];
      if (post.origin != node || copy_->known.contains(n)) continue;
      if (post.taken != post.said) return;
      forgotten_.insert(n);
    }
    if (down_.contains(node)) return;
    crash(node);
    world_.disk(node).restore(copy_->image);
    checks_.went_back(node);
    restored_ = true;
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

  struct Copy {
    std::size_t node = 0;
    sim::Disk::Image image;
    std::set<std::string> wanted;
    std::set<std::size_t> known;  // posts
  };

  SwarmOptions options_;
  Rng rng_;
  Rng more_;
  Rng later_;
  Plan plan_;
  sim::World world_;
  SwarmChecks checks_;
  std::optional<Copy> copy_;
  bool restored_ = false;
  std::set<std::size_t> forgotten_;  // posts of which their own node does not know any more
  std::int64_t drifts_ = 0;
  std::set<std::size_t> down_;
  std::set<std::size_t> full_;
  std::set<std::size_t> failing_;
  std::size_t came_ = 0;
};

}  // namespace

SwarmRun run_swarm(std::uint64_t seed, const SwarmOptions& options) { return Swarm(seed, options).run(); }

}  // namespace tagring::runs
