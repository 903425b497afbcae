// Nodes that choose their places on the rings while posts go through them: loads even out, and no post is
// lost or told twice.
#include <fmt/format.h>

#include "sim/world.hpp"
#include "tests/sim/fixture.hpp"

namespace tagring::sim {
namespace {

struct Storage {
  double over = 0;  // bytes above capacity
  std::uint64_t moves = 0;
};

Storage storage_of(World& world) {
  Storage sum;
  for (const std::size_t i : world.up()) {
    const json::object status = world.node(i).status();
    const json::object& ring = status.at("rings").at("storage").as_object();
    const double excess = ring.at("load").to_number<double>() - ring.at("capacity").to_number<double>();
    sum.over += std::max(0.0, excess);
    sum.moves += ring.at("moves").to_number<std::uint64_t>();
  }
  return sum;
}

constexpr std::size_t kNodes = 8;
constexpr std::uint64_t kSmall = 3'000;

WorldOptions skewed() {
  WorldOptions options;
  options.vservers = 2;
  options.storage_replicas = 2;
  options.balance = true;
  options.balance_every = std::chrono::seconds(40);
  // Two nodes can bear everything, the others next to nothing.
  options.storage_capacity = [](std::size_t node) { return node < 2 ? 1'000'000 : kSmall; };
  return options;
}

std::vector<std::string> many_tags() {
  std::vector<std::string> tags;
  for (int n = 0; n < 12; ++n) tags.push_back(fmt::format("tag{}", n));
  return tags;
}

void publish(World& world, const std::vector<std::string>& tags, std::size_t count) {
  for (std::size_t n = 0; n < count; ++n) {
    world.publish(n % kNodes, {tags[n % tags.size()]});
    world.loop.run_for(std::chrono::milliseconds(50));
  }
}

void expect_nothing_lost(World& world, const std::vector<std::string>& tags, std::size_t subscriber,
                         std::size_t reader) {
  for (const std::string& tag : tags) {
    EXPECT_EQ(world.feed(subscriber, tag), live_posts(world, tag)) << "#" << tag;
    const auto history = world.history(reader, tag, 20);
    ASSERT_TRUE(history) << "#" << tag;
    EXPECT_EQ(uris_of(*history), live_posts(world, tag)) << "#" << tag;
  }
}

// Bytes above capacity in the end, when posts arrive before and while nodes move.
double run(std::uint64_t seed, bool balanced) {
  WorldOptions options = skewed();
  options.balance = balanced;
  World world(seed, options);
  const std::vector<std::string> tags = many_tags();
  for (std::size_t i = 0; i < kNodes; ++i) world.start_node(i);
  EXPECT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
  const auto wanted =
      world.await(world.node(7).subscriber().want(tags_of(tags), "admin"), std::chrono::seconds(10));
  EXPECT_TRUE(wanted && *wanted);
  publish(world, tags, 400);
  for (int round = 0; round < 8; ++round) {
    world.loop.run_for(std::chrono::seconds(90));
    publish(world, tags, 20);  // in the middle of moves
  }
  EXPECT_TRUE(world.run_until(std::chrono::minutes(10), [&] { return world.is_quiet(); })) << world.unrest();
  world.loop.run_for(std::chrono::minutes(3));
  const Storage after = storage_of(world);
  EXPECT_EQ(after.moves > 0, balanced);
  EXPECT_TRUE(world.run_until(std::chrono::minutes(10), [&] { return world.is_quiet(); })) << world.unrest();
  expect_nothing_lost(world, tags, 7, 2);
  return after.over;
}

// In a world of eight nodes there may be no place left that would help; over several worlds there are. Of 34
// between a sixth and nine tenths remained, 62 % in all, with a deviation of 0.2 of one.
TEST(Balance, FullNodesGiveTheirPlacesToThoseWithRoomAndNoPostIsLost) {
  double resting = 0;
  double balanced = 0;
  for (std::uint64_t seed = 11; seed < 14; ++seed) {
    SCOPED_TRACE(seed);
    resting += run(seed, /*balanced=*/false);
    balanced += run(seed, /*balanced=*/true);
  }
  EXPECT_GT(resting, 0);
  EXPECT_LT(balanced, 0.85 * resting) << "bytes above capacity, of " << resting;
}

TEST(Balance, ANewNodeThatCrashesWhileItChoosesItsPlacesGetsThemAll) {
  constexpr std::size_t kNew = 4;
  WorldOptions options;
  options.vservers = 4;
  options.storage_replicas = 2;
  options.balance = true;
  World world(17, options);
  const auto places = [&](Ring ring) {
    return world.is_running(kNew) ? world.node(kNew).rings().of(ring).vservers().size() : std::size_t{0};
  };
  for (std::size_t i = 0; i < kNew; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
  world.start_node(kNew);
  const Instant end = world.loop.now() + std::chrono::minutes(5);
  while (world.loop.now() < end && places(Ring::kRelay) < 2 && places(Ring::kStorage) < 2)
    world.loop.run_for(std::chrono::milliseconds(10));
  ASSERT_LT(world.loop.now(), end);
  ASSERT_LT(places(Ring::kRelay) + places(Ring::kStorage), 2U * options.vservers);
  world.crash_node(kNew);
  world.loop.run_for(std::chrono::seconds(5));
  world.start_node(kNew);
  EXPECT_TRUE(world.run_until(
      std::chrono::minutes(5),
      [&] { return places(Ring::kRelay) == options.vservers && places(Ring::kStorage) == options.vservers; }))
      << places(Ring::kRelay) << " and " << places(Ring::kStorage);
}

// Whoever would have to take it over has blocked the node.
TEST(Balance, ANodeDoesNotTryEachTimeToLeaveAPlaceThatNobodyTakesOver) {
  std::map<std::string, std::int64_t> stuck;  // by host, the first place that it wants to leave
  std::size_t denied = 0;
  WorldOptions options = skewed();
  options.lie = [&](std::size_t, const HttpRequest& request) -> std::optional<HttpResponse> {
    if (request.target != overlay::RingService::kPath || !request.body.contains("\"take_over\""))
      return std::nullopt;
    const Result<json::object> body = json::parse_object(request.body);
    const json::object* leaver = body ? json::get_object(*body, "leaver") : nullptr;
    if (leaver == nullptr || json::text_of(*body, "ring") != "storage") return std::nullopt;
    const std::int64_t place = json::get_int(*leaver, "vserver").value_or(-1);
    if (stuck.try_emplace(json::text_of(*leaver, "host"), place).first->second != place) return std::nullopt;
    ++denied;
    HttpResponse refusal;
    refusal.status = 403;
    refusal.body = R"({"error":"denied","message":"blocked here"})";
    return refusal;
  };
  World world(11, options);
  for (std::size_t i = 0; i < kNodes; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
  publish(world, many_tags(), 400);
  world.loop.run_for(std::chrono::minutes(20));
  EXPECT_GT(denied, 0U);
  EXPECT_EQ(denied, stuck.size()) << "each once a day";
}

TEST(Balance, ANodeThatCrashesAmongMovesComesBackToItsPlaces) {
  World world(12, skewed());
  const std::vector<std::string> tags = many_tags();
  for (std::size_t i = 0; i < kNodes; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
  const auto wanted =
      world.await(world.node(7).subscriber().want(tags_of(tags), "admin"), std::chrono::seconds(10));
  ASSERT_TRUE(wanted && *wanted);
  publish(world, tags, 300);
  for (std::size_t round = 0; round < 6; ++round) {
    world.loop.run_for(std::chrono::seconds(45));
    const std::size_t victim = round % 7;
    world.crash_node(victim);
    world.loop.run_for(std::chrono::seconds(5));
    world.start_node(victim);
    publish(world, tags, 12);
  }
  ASSERT_TRUE(world.run_until(std::chrono::minutes(15), [&] { return world.is_quiet(); })) << world.unrest();
  world.loop.run_for(std::chrono::minutes(2));
  ASSERT_TRUE(world.run_until(std::chrono::minutes(10), [&] { return world.is_quiet(); })) << world.unrest();
  expect_nothing_lost(world, tags, 7, 2);
  for (const std::size_t i : world.up()) EXPECT_TRUE(world.node(i).rings().of(Ring::kStorage).is_member());
}

}  // namespace
}  // namespace tagring::sim
