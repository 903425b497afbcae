#include "runs/swarm.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <tuple>
#include <vector>

#include "base/assert.hpp"
#include "delivery/store.hpp"
#include "http/message.hpp"
#include "ring_sim/world.hpp"
#include "runs/swarm_checks.hpp"
#include "runs/swarm_inboxes.hpp"
#include "runs/swarm_people.hpp"
#include "runs/swarm_plan.hpp"
#include "sim/world.hpp"
#include "storage/history.hpp"

namespace tagring::runs {
namespace {

const std::vector<std::string> kTags = {"caturday", "dogs", "music", "haiku", "fediverse"};
constexpr Duration kRest = std::chrono::minutes(20);   // within which all has to be done
constexpr Duration kStays = std::chrono::minutes(15);  // that what is right is looked at again
constexpr Duration kAdmin = std::chrono::seconds(10);  // that an administrator waits for an answer

class Swarm {
 public:
  Swarm(std::uint64_t seed, const SwarmOptions& options)
      : options_(options),
        rng_(Rng(seed).fork("swarm")),
        more_(Rng(seed).fork("swarm").fork("more")),
        later_(Rng(seed).fork("swarm").fork("later")),
        plan_(draw_swarm(rng_, more_, later_, options)),
        world_(seed, watched()),
        checks_(world_, plan_.world, kTags, Rng(seed).fork("checks"), &inboxes_),
        people_(world_, kTags, plan_.nodes, Rng(seed).fork("people")),
        stays_(Rng(seed).fork("stays").chance(0.2)) {}

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
  sim::WorldOptions watched() {
    sim::WorldOptions options = plan_.world;
    options.onlooker = [this](std::size_t node, const HttpRequest& request) { inboxes_.note(node, request); };
    return options;
  }

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
    people_.come(plan_.people);
    if (!rest()) return "with subscriptions: " + unrest();
    world_.set_inside(plan_.calm);
    world_.faults.loss = plan_.loss;
    world_.faults.duplicates = plan_.duplicates;
    world_.faults.delay_max = plan_.delay_max;
    world_.faults.resets = plan_.resets;
    for (std::size_t n = 0; n < plan_.steps; ++n) {
      people_act();
      people_wish();
      people_.act(plan_.people_fail);
      things_break();
      more_breaks();
      world_.loop.run_for(Duration(static_cast<Duration::rep>(rng_.below(1500))));
      if (const auto broken = world_.broken()) return "meanwhile " + *broken;
      if (!plan_.glances || !later_.chance(0.2)) continue;
      if (std::string wrong = checks_.glance(); !wrong.empty()) return "meanwhile " + wrong;
    }
    if (options_.sabotage == Sabotage::kAbort) TR_ASSERT(!"asked for");
    heal();
    if (!rest()) return "after the faults: " + unrest();
    // What nodes remember of the ring is a minute old at most; then come renewals, and last hand-overs.
    world_.loop.run_for(std::chrono::minutes(2));
    if (!rest()) return "two minutes later: " + unrest();
    if (!plan_.calm) world_.set_inside(true);
    if (plan_.deliveries == 0) {
      checks_.note_rest();
    } else if (std::string wrong = calm_relays(); !wrong.empty()) {
      return wrong;
    }
    for (const std::string& tag : kTags) world_.publish(rng_.below(plan_.nodes), {tag});
    people_.publish();
    if (!rest()) return "with new posts: " + unrest();
    if (options_.sabotage == Sabotage::kLosePost) lose(world_.posts().back());
    if (std::string wrong = checks_.at_rest(patience()); !wrong.empty()) return wrong;
    if (std::string wrong = stay(); !wrong.empty()) return wrong;
    const auto broken = world_.broken();
    return broken ? "in the end " + *broken : "";
  }

  // Nothing that was removed comes back, and nothing that is there goes, when nobody does anything any more.
  std::string stay() {
    const Instant until = world_.loop.now() + kStays;
    while (stays_ && world_.loop.now() < until) {
      world_.loop.run_for(std::chrono::minutes(3));
      if (std::string wrong = checks_.still(); !wrong.empty()) return "no more: " + wrong;
    }
    return {};
  }

  // Sets of relays that have grown shrink again, and what is known of more relays is forgotten. Who relays
  // the next posts nobody can say: they may have to grow for these.
  std::string calm_relays() {
    if (!world_.run_until(patience(), [&] { return world_.relays() <= plan_.world.relay_replicas; }))
      return fmt::format("there are still {} relays of a hashtag", world_.relays());
    world_.loop.run_for(std::chrono::minutes(12));
    return rest() ? "" : "with fewer relays: " + unrest();
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
    Copy copy{node, world_.disk(node).image(), {}, {}, {}, people_.changes(node)};
    for (const std::string& tag : kTags) {
      if (checks_.is_wanted(node, tag)) copy.wanted.insert(tag);
      if (checks_.may_be_wanted(node, tag)) copy.maybe_wanted.insert(tag);
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
  // wanted then, or others followed: nobody could know.
  void restore_copy() {
    const std::size_t node = copy_->node;
    if (!world_.is_running(node) || !has_told_others(node)) return;
    if (!world_.is_running(node) || !world_.node(node).is_idle()) return;
    for (const std::string& tag : kTags) {
      if (checks_.is_wanted(node, tag) != copy_->wanted.contains(tag)) return;
    }
    if (people_.changes(node) != copy_->people) return;
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
    for (const std::string& tag : copy_->maybe_wanted) checks_.may_want(node, tag);
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
    people_.heal();
    while (!down_.empty()) start(*down_.begin());
  }
  // Relays that bear little take longer, however many they are.
  [[nodiscard]] Duration patience() const { return plan_.deliveries > 0 ? kRest * 3 : kRest; }
  bool rest() {
    return world_.run_until(patience(), [&] { return world_.is_quiet() && world_.unideal().empty(); });
  }
  std::string unrest() {
    std::string what = world_.unrest();
    return what.empty() ? world_.unideal() : what;
  }

  struct Copy {
    std::size_t node = 0;
    sim::Disk::Image image;
    std::set<std::string> wanted;
    std::set<std::string> maybe_wanted;
    std::set<std::size_t> known;  // posts
    unsigned people = 0;          // SwarmPeople::changes
  };

  SwarmOptions options_;
  Rng rng_;
  Rng more_;
  Rng later_;
  SwarmPlan plan_;
  Inboxes inboxes_;
  sim::World world_;
  SwarmChecks checks_;
  SwarmPeople people_;
  bool stays_;  // what is right in the end is looked at for longer
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
