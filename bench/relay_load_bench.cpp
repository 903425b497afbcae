// What a doubling takes off a relay: whole nodes in the simulator, one hashtag with ten subscribers, the same
// stream of posts before and after a burst has made its relays four instead of two.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "figures.hpp"
#include "sim/world.hpp"

namespace tagring::bench {
namespace {

constexpr std::size_t kNodes = 16;
constexpr std::size_t kSubscribers = 10;
constexpr int kPosts = 400;
constexpr const char* kTag = "caturday";

constexpr unsigned kAtRest = 2;

std::vector<double> delivered(sim::World& world) {
  std::vector<double> all;
  for (const std::size_t i : world.up())
    all.push_back(world.node(i).status().at("announced").to_number<double>());
  return all;
}

// Deliveries a post that the busiest relay had to make.
double load(sim::World& world, unsigned expected) {
  const std::vector<double> before = delivered(world);
  for (int n = 0; n < kPosts; ++n) {
    world.publish(static_cast<std::size_t>(n) % kNodes, {kTag});
    world.loop.run_for(std::chrono::milliseconds(1000));
  }
  const bool quiet = world.run_until(std::chrono::minutes(1), [&] { return world.is_quiet(); });
  if (!quiet || world.relays() != expected) {
    fmt::print(stderr, "the network did not keep to {} relays: {}, {}\n", expected, world.relays(),
               world.unrest());
    std::exit(1);
  }
  const std::vector<double> after = delivered(world);
  double most = 0;
  for (std::size_t i = 0; i < after.size(); ++i) most = std::max(most, after[i] - before[i]);
  return most / kPosts;
}

void measure() {
  sim::WorldOptions options;
  options.relay_replicas = kAtRest;
  options.posts_an_hour = 1'000'000;
  options.deliveries_per_second = 60;
  options.cooldown_seconds = 3600;
  options.stabilise = std::chrono::seconds(5);
  sim::World world(1, options);
  for (std::size_t i = 0; i < kNodes; ++i) world.start_node(i);
  world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); });
  for (std::size_t i = 0; i < kSubscribers; ++i)
    world.await(world.node(i).subscriber().want({Tag::from_canonical(kTag)}, "admin"),
                std::chrono::seconds(10));
  world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); });
  const double two = load(world, kAtRest);
  for (int n = 0; world.relays() < 2 * kAtRest && n < 10'000; ++n) {
    world.publish(static_cast<std::size_t>(n) % kNodes, {kTag});
    world.loop.run_for(std::chrono::milliseconds(200));
  }
  world.run_until(std::chrono::minutes(30), [&] { return world.is_quiet(); });
  const double four = load(world, 2 * kAtRest);
  print({"relay_load_r2", two, "deliveries a post", kSubscribers, "subscribers"});
  print({"relay_load_r4", four, "deliveries a post", two, "with two relays"});
}

}  // namespace
}  // namespace tagring::bench

int main() { tagring::bench::measure(); }
