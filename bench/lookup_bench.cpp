// Look-ups in ideal rings: lookup_bench <hosts>...
//
// Calls of a cold look-up, from a random vserver for a random key, by finger table and successor list alone:
// no routing cache, and the last call, in which the owner confirms itself, included.
#include <cmath>
#include <cstdlib>

#include "figures.hpp"
#include "ring_sim/scale.hpp"

namespace tagring::bench {
namespace {

void measure(std::size_t hosts) {
  const Stopwatch watch;
  ring_sim::RingScale scale;
  scale.hosts = hosts;
  const ring_sim::RingScaleResult result = ring_sim::run_ring_scale(hosts, scale);
  fmt::print(stderr, "ring of {}: {} look-ups in {:.1f} s, {} failed\n", hosts, scale.lookups,
             watch.seconds(), result.failed);
  print({fmt::format("lookup_hops_{}", hosts), result.calls_mean, "calls",
         0.5 * std::log2(static_cast<double>(hosts)) + 1, "goal: 0.5 log2 N + 1"});
}

}  // namespace
}  // namespace tagring::bench

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) tagring::bench::measure(std::strtoull(argv[i], nullptr, 10));
}
