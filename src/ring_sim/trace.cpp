#include "ring_sim/trace.hpp"

#include <algorithm>

#include "ring/messages.hpp"
#include "ring/vserver.hpp"
#include "ring_sim/churn.hpp"

namespace tagring::ring_sim {
namespace {

constexpr std::size_t kPopularKeys = 50;
constexpr Duration kRetryAfter = std::chrono::seconds(1);
constexpr Duration kAnswerTime = std::chrono::seconds(3);
constexpr int kIdealRounds = 100;

// Does the host get an answer from whom it takes for the owner, and does that one own the key?
Task<bool> reach_owner(RingWorld::Member* from, RingId key) {
  const Result<ring::Owner> owner = co_await from->membership.find_owner(key);
  if (owner) {
    const Result<ring::Reply> reply = co_await from->peers->call(
        owner->contact, {Ring::kRelay, ring::Find{key}}, from->clock->now() + kAnswerTime);
    const auto* found = reply ? std::get_if<ring::FindReply>(&*reply) : nullptr;
    if (found != nullptr && found->owned) co_return true;
  }
  from->membership.forget_route(key);
  co_return false;
}

Task<void> look_up(RingWorld::Member* from, RingId key, RingTraceResult* result) {
  bool reached = co_await reach_owner(from, key);
  std::uint64_t failed_first = 0;
  if (!reached) {
    failed_first = 1;
    co_await from->clock->sleep_until(from->clock->now() + kRetryAfter);
    reached = co_await reach_owner(from, key);
  }
  ++result->lookups;
  result->failed_first += failed_first;
  result->failed += reached ? 0 : 1;
}

RingId draw_key(Rng& rng, const std::vector<RingId>& popular) {
  return rng.chance(0.5) ? popular[rng.below(popular.size())] : random_id(rng);
}

// The hosts that are members, to look up from.
RingWorld::Member* draw_member(RingWorld& world, Rng& rng) {
  RingWorld::Member& member = *world.members_.at(world.up_[rng.below(world.up_.size())]);
  return member.membership.is_member() ? &member : nullptr;
}

}  // namespace

RingTraceResult run_ring_trace(std::uint64_t seed, const RingTrace& trace) {
  ring::Tuning tuning;
  tuning.secure_lookups = true;
  RingWorld world(seed, tuning);
  world.faults.refused = false;
  world.build(trace.hosts);
  world.run();
  Rng rng(seed * 31 + 5);
  std::vector<RingId> popular(kPopularKeys);
  for (RingId& key : popular) key = random_id(rng);
  RingTraceResult result;
  result.up_at_least = trace.hosts;
  const Instant start = world.loop.now();
  auto change = trace.changes.begin();
  Duration next_lookup{};
  while (next_lookup < trace.length) {
    for (; change != trace.changes.end() && change->at <= next_lookup; ++change) {
      world.loop.run_until(start + change->at);
      if (change->up == world.is_up(change->host)) continue;  // two outages of a host that overlap
      change->up ? world.start(change->host) : world.crash(change->host);
      ++(change->up ? result.joins : result.crashes);
      result.up_at_least = std::min(result.up_at_least, world.up_.size());
    }
    world.loop.run_until(start + next_lookup);
    if (RingWorld::Member* from = draw_member(world, rng)) {
      world.loop.spawn(from->owner, look_up(from, draw_key(rng, popular), &result));
    }
    next_lookup += Duration(static_cast<Duration::rep>(rng.below(2 * trace.lookup_every.count()) + 1));
    trace.on_progress(next_lookup);
  }
  result.ideal = rounds_until_ideal(world, tuning.stabilise_every, kIdealRounds).has_value();
  result.events = world.loop.events();
  return result;
}

}  // namespace tagring::ring_sim
