// Look-ups in ideal rings: lookup_bench <hosts>...
//
// Calls of a cold look-up, from a random vserver for a random key, by finger table and successor list alone:
// no routing cache, and the last call, in which the owner confirms itself, included.
#include <boost/asio/co_spawn.hpp>
#include <cmath>
#include <cstdlib>

#include "figures.hpp"
#include "sim/ring_world.hpp"

namespace tagring::bench {
namespace {

constexpr int kLookups = 1000;

RingId random_key(Rng& rng) {
  RingId key;
  for (unsigned bit = 0; bit < RingId::kBits; ++bit) {
    if (rng.chance(0.5)) key = key + RingId::power_of_two(bit);
  }
  return key;
}

Task<void> look_up(ring::Vserver* from, RingId key, ring::LookupCost* cost, bool* found) {
  const Result<ring::Owner> owner = co_await from->lookup(key, {}, cost);
  *found = owner.has_value();
}

void measure(std::size_t hosts) {
  const Stopwatch watch;
  sim::RingWorld world(hosts, ring::Tuning{});
  world.build(hosts);
  const double built = watch.seconds();
  Rng rng(7);
  std::uint64_t calls = 0;
  int failed = 0;
  for (int i = 0; i < kLookups; ++i) {
    sim::RingWorld::Member& member = *world.members_.at(rng.below(hosts));
    ring::LookupCost cost;
    bool found = false;
    boost::asio::co_spawn(world.loop.executor(member.owner),
                          look_up(&member.vserver, random_key(rng), &cost, &found),
                          [](std::exception_ptr) {});
    world.loop.run_for(std::chrono::minutes(1));
    calls += cost.calls;
    if (!found) ++failed;
  }
  fmt::print(stderr, "ring of {}: built in {:.1f} s, {} look-ups in {:.1f} s, {} failed\n", hosts, built,
             kLookups, watch.seconds() - built, failed);
  print({fmt::format("lookup_hops_{}", hosts), static_cast<double>(calls) / kLookups, "calls",
         0.5 * std::log2(static_cast<double>(hosts)) + 1, "goal: 0.5 log2 N + 1"});
}

}  // namespace
}  // namespace tagring::bench

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) tagring::bench::measure(std::strtoull(argv[i], nullptr, 10));
}
