#include "ring_sim/churn.hpp"

#include <algorithm>
#include <cmath>

#include "ring/contact.hpp"
#include "ring/vserver.hpp"

namespace tagring::ring_sim {
namespace {
constexpr std::size_t kBuilt = 8;        // hosts of the ring it begins with, at least
constexpr std::uint64_t kRestless = 24;  // hosts at which one of them joins or crashes every 0.8 s
}  // namespace

ring::Tuning RingChurn::small_ring_tuning() {
  ring::Tuning tuning;
  tuning.ids.scheme = ring::IdScheme::kPaper;  // a hoster's hosts are neighbours: the harder case
  tuning.successors = 4;
  tuning.stabilise_every = std::chrono::seconds(2);
  tuning.fix_finger_every = std::chrono::seconds(10);
  tuning.call_timeout = std::chrono::seconds(1);
  return tuning;
}

RingChurnResult run_ring_churn(std::uint64_t seed, const RingChurn& churn) {
  RingWorld world(seed, churn.tuning, churn.options);
  world.faults.delay_max = Duration(40);
  RingChurnResult result;
  Rng rng(seed * 7 + 1);
  // A large ring begins full, and loses and regains members as often for its size.
  world.build(std::max(kBuilt, churn.hosts > 3 * kBuilt ? churn.hosts * 3 / 4 : kBuilt));
  world.run();
  world.watch(churn.check_every);
  const std::uint64_t pause = std::max<std::uint64_t>(1, 1500 * kRestless / std::max(kRestless, churn.hosts));
  const Instant end = world.loop.now() + churn.duration;
  while (world.loop.now() < end && world.loop.events() < churn.events && !world.broken()) {
    world.loop.run_for(Duration(static_cast<Duration::rep>(pause / 30 + rng.below(pause))));
    churn.on_progress(world.loop.events());
    const std::size_t host = rng.below(churn.hosts);
    if (!world.is_up(host)) {
      world.start(host);
    } else if (rng.chance(0.6) && world.may_crash(host)) {
      world.crash(host);
      ++result.crashes;
      // Some are back at once, while everybody still believes in the former incarnation.
      if (rng.chance(0.3)) world.start(host);
    }
  }
  result.rounds_bound = rounds_bound(world.view().size(), churn.tuning.successors);
  result.ideal_rounds = rounds_until_ideal(world, churn.tuning.stabilise_every, 60);
  result.broken = world.broken();
  result.events = world.loop.events();
  result.checks = world.checks();
  result.trace = world.loop.trace();
  return result;
}

std::optional<int> rounds_until_ideal(RingWorld& world, Duration round, int limit) {
  for (int rounds = 0; rounds <= limit && !world.broken(); ++rounds) {
    if (world.is_ideal()) return rounds;
    world.loop.run_for(round);
  }
  return std::nullopt;
}

int rounds_bound(std::size_t members, std::size_t successors) {
  return static_cast<int>(2 * successors + std::ceil(std::log2(static_cast<double>(members))));
}

}  // namespace tagring::ring_sim
