#include "ring_sim/scale.hpp"

#include <algorithm>

#include "ring/vserver.hpp"

namespace tagring::ring_sim {
namespace {

constexpr Duration kLookUpLimit = std::chrono::minutes(1);
constexpr std::size_t kHealedPart = 100;  // one host of so many crashes, and one joins

Task<void> look_up(ring::Vserver* from, RingId key, ring::LookupCost* cost, std::optional<RingId>* found) {
  const Result<ring::Owner> owner = co_await from->lookup(key, {}, cost);
  if (owner) *found = owner->contact.id;
}

void measure_lookups(RingWorld& world, const RingScale& scale, Rng& rng, RingScaleResult* result) {
  std::uint64_t calls = 0;
  for (unsigned i = 0; i < scale.lookups; ++i) {
    RingWorld::Member& member = *world.members_.at(rng.below(scale.hosts));
    const RingId key = random_id(rng);
    ring::LookupCost cost;
    std::optional<RingId> found;
    world.loop.spawn(member.owner, look_up(&member.vserver, key, &cost, &found));
    world.loop.run_for(kLookUpLimit);
    calls += cost.calls;
    result->calls_max = std::max(result->calls_max, cost.calls);
    if (found != world.true_owner(key).self().id) ++result->failed;
  }
  if (scale.lookups > 0) result->calls_mean = static_cast<double>(calls) / scale.lookups;
}

void measure_upkeep(RingWorld& world, const RingScale& scale, Rng& rng, RingScaleResult* result) {
  world.run();
  const std::uint64_t before = world.messages;
  world.loop.run_for(scale.upkeep);
  const double seconds = std::chrono::duration<double>(scale.upkeep).count();
  result->messages_per_host =
      static_cast<double>(world.messages - before) / static_cast<double>(scale.hosts) / seconds;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, scale.hosts / kHealedPart); ++i) {
    const std::size_t victim = rng.below(scale.hosts);
    if (world.is_up(victim)) world.crash(victim);
    world.start(scale.hosts + i);
  }
  const Duration step = ring::Tuning{}.stabilise_every;
  for (Duration passed = step; passed <= 20 * step; passed += step) {
    world.loop.run_for(step);
    if (!world.is_ideal()) continue;
    result->healed = passed;
    return;
  }
}

}  // namespace

RingScaleResult run_ring_scale(std::uint64_t seed, const RingScale& scale) {
  RingOptions options;
  options.vservers = scale.vservers;
  RingWorld world(seed, ring::Tuning{}, options);
  world.build(scale.hosts);
  Rng rng(seed + 6);
  RingScaleResult result;
  measure_lookups(world, scale, rng, &result);
  if (scale.upkeep > Duration::zero()) measure_upkeep(world, scale, rng, &result);
  result.events = world.loop.events();
  return result;
}

}  // namespace tagring::ring_sim
