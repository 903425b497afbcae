#include "runs/swarm_plan.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "node/environment.hpp"
#include "storage/history.hpp"

namespace tagring::runs {
namespace {

constexpr Duration kSwarmReconciles = std::chrono::minutes(2);

// Those that are not as everywhere.
std::string bounds_text(const node::Bounds& bounds) {
  const node::Bounds usual;
  std::string text;
  const std::vector<std::tuple<std::size_t, std::size_t, std::string_view>> sizes = {
      {bounds.handed_page, usual.handed_page, "handed at once"},
      {bounds.missed_page, usual.missed_page, "missed at once"},
      {bounds.owed_rows, usual.owed_rows, "owed at once"},
      {bounds.moved_rows, usual.moved_rows, "moved at once"},
      {bounds.batch, usual.batch, "sent at once"},
      {bounds.doubts, usual.doubts, "doubts"},
      {bounds.disputes, usual.disputes, "disputes"},
      {bounds.compared.entries, usual.compared.entries, "compared at once"}};
  for (const auto& [size, as_usual, name] : sizes) {
    if (size != as_usual) text += fmt::format(", {} {}", size, name);
  }
  return text;
}

// What was thought of last. Seeds that are known for what they showed go without (SwarmOptions::first_draw).
void draw_later(SwarmPlan& plan, Rng& rng) {
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
void calm_down(SwarmPlan& plan, Rng& rng) {
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

// So small that a few posts are more than one page, batch or memory holds.
void draw_bounds(node::Bounds& bounds, Rng& rng, bool scarce) {
  for (std::size_t* size :
       {&bounds.handed_page, &bounds.missed_page, &bounds.owed_rows, &bounds.moved_rows, &bounds.batch}) {
    if (rng.chance(0.4)) *size = 1 + rng.below(8);
  }
  // What finds no room there waits for the next comparison, or for somebody who says it again: longer than a
  // world has to come to rest.
  node::Bounds small = bounds;
  if (rng.chance(0.3)) small.doubts = 2 + rng.below(20);
  if (rng.chance(0.3)) small.disputes = 8 + rng.below(30);
  if (scarce) bounds = small;
  if (!rng.chance(0.4)) return;
  bounds.compared.ranges = 1 + rng.below(8);
  bounds.compared.parts = 2 + rng.below(4);
  bounds.compared.leaf = 1 + rng.below(8);
  // A whole leaf fits (storage/reconcile.cpp).
  bounds.compared.entries = bounds.compared.leaf + 1 + rng.below(8);
}

// Few enough that the relays of a hashtag, or its storage owners, are doubled.
void draw_loads(SwarmPlan& plan, Rng& rng, bool scarce) {
  sim::WorldOptions& world = plan.world;
  if (rng.chance(0.2)) {
    const auto deliveries = 1 + static_cast<std::uint32_t>(rng.below(4));
    const auto cooldown = 10 + static_cast<std::uint32_t>(rng.below(50));
    if (scarce) {
      plan.deliveries = world.deliveries_per_second = deliveries;
      world.cooldown_seconds = cooldown;
    }
  }
  // A node that chooses its places would go by its capacity, too.
  if (world.balance || !rng.chance(0.2)) return;
  plan.bearable_posts = 6 + rng.below(20);
  world.hashtag_share = 5 + static_cast<unsigned>(rng.below(60));
  world.storage_cooldown_seconds = 20 + static_cast<std::uint32_t>(rng.below(100));
  const std::uint64_t bytes =
      plan.bearable_posts * storage::HistoryStore::kBytesOfEntry * 100 / world.hashtag_share;
  world.storage_capacity = [bytes](std::size_t) { return bytes; };
}

}  // namespace

std::string SwarmPlan::text() const {
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
  if (deliveries > 0) text += fmt::format(", {} deliveries a second", deliveries);
  if (bearable_posts > 0) text += fmt::format(", {} posts of a hashtag", bearable_posts);
  if (people > 0) text += fmt::format(", {} servers of people{}", people, people_fail ? " that fail" : "");
  text += bounds_text(world.bounds);
  return text;
}

SwarmPlan draw_swarm(Rng& rng, Rng& more, Rng& later, const SwarmOptions& options) {
  SwarmPlan plan;
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
  if (options.usual_sizes) return plan;
  Rng sizes = later.fork("sizes");
  draw_bounds(plan.world.bounds, sizes, options.scarce);
  draw_loads(plan, sizes, options.scarce);
  Rng people = later.fork("people");
  if (!options.people) return plan;
  plan.people = 1 + people.below(3);
  plan.people_fail = people.chance(0.3);
  return plan;
}

}  // namespace tagring::runs
