// All nodes start at about the same time, and know each other only from before.

#include <fmt/format.h>

#include "tests/sim/fixture.hpp"

namespace tagring::sim {
namespace {

constexpr std::size_t kConfigured = 3;

// Where one comes from each of these nodes, from one to the next, again and again: the least place there, of
// each ring that they stand on. Nothing while one of them stands on none.
std::set<RingId> rings_of(World& world, Ring ring, const std::vector<std::size_t>& nodes) {
  std::map<RingId, RingId> next;
  for (const std::size_t i : nodes) {
    const ring::Vserver& vserver = *world.node(i).rings().of(ring).vservers().front();
    if (!vserver.is_member() || vserver.successors().empty()) return {};
    next[vserver.self().id] = vserver.successors().front().id;
  }
  std::set<RingId> rings;
  for (const auto& [from, after] : next) {
    RingId at = from;
    for (std::size_t step = 0; step < nodes.size(); ++step) at = next.at(at);
    RingId least = at;
    for (RingId other = next.at(at); other != at; other = next.at(other)) least = std::min(least, other);
    rings.insert(least);
  }
  return rings;
}

WorldOptions one_place_each() {
  WorldOptions options;
  options.vservers = 1;
  options.stabilise = std::chrono::seconds(5);
  return options;
}

// Nodes that are configured to know some others, who do not come back.
std::vector<std::size_t> numbers_of(std::size_t nodes) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = kConfigured; i < kConfigured + nodes; ++i) numbers.push_back(i);
  return numbers;
}

// The one of the least origin.
std::size_t first_of(const std::vector<std::size_t>& nodes) {
  return std::ranges::min(nodes, {}, &World::node_origin);
}

// So many nodes, with those whom all are configured to know, become a network whose nodes have met.
bool settles(World& world, std::size_t nodes) {
  for (std::size_t i = 0; i < kConfigured + nodes; ++i) {
    world.start_node(i);
    world.loop.run_for(std::chrono::milliseconds(100));
  }
  if (!world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); })) return false;
  world.loop.run_for(std::chrono::minutes(2));
  return true;
}

// In any order, within seconds.
void start_again(World& world, std::uint64_t seed, std::vector<std::size_t> order) {
  Rng rng(seed);
  for (std::size_t i = 0; i < order.size(); ++i) std::swap(order[i], order[i + rng.below(order.size() - i)]);
  for (const std::size_t i : order) {
    world.start_node(i);
    world.loop.run_for(Duration(static_cast<Duration::rep>(rng.below(10'000 / order.size()))));
  }
  world.loop.run_for(std::chrono::seconds(1));  // the last one is there
}

bool are_one_ring_of_each_kind(World& world, const std::vector<std::size_t>& nodes) {
  return rings_of(world, Ring::kRelay, nodes).size() == 1 &&
         rings_of(world, Ring::kStorage, nodes).size() == 1;
}

// Whether a network of so many stands on one ring of each kind, a minute after its nodes started in any
// order, without those that all are configured to know. If the one of the least origin has lost its disk, it
// knows nobody, and is none of them.
bool comes_back(std::uint64_t seed, std::size_t nodes, bool first_forgets = false) {
  World world(seed, one_place_each());
  if (!settles(world, nodes)) return false;
  for (std::size_t i = 0; i < kConfigured + nodes; ++i) world.crash_node(i);
  std::vector<std::size_t> back = numbers_of(nodes);
  const std::size_t first = first_of(back);
  if (first_forgets) world.disk(first).restore({});
  start_again(world, seed, back);
  if (first_forgets) std::erase(back, first);
  return world.run_until(std::chrono::minutes(1), [&] { return are_one_ring_of_each_kind(world, back); });
}

HttpResponse json_response(std::string body) {
  HttpResponse response;
  response.headers.add("Content-Type", "application/json");
  response.body = std::move(body);
  return response;
}

// Of a vserver that answers pings, owns everything, and lets nobody in.
HttpResponse let_nobody_in(const HttpRequest& request) {
  const Result<ring::Envelope> envelope = ring::decode_envelope(request.body);
  if (envelope && std::holds_alternative<ring::Ping>(envelope->request.body))
    return json_response(encode(ring::Reply(ring::Done{})));
  if (envelope && std::holds_alternative<ring::Find>(envelope->request.body))
    return json_response(encode(ring::Reply(ring::FindReply{Segment{envelope->to, envelope->to}, {}})));
  HttpResponse refused;
  refused.status = 503;
  return refused;
}

// The same network, if the one of the least origin says that it stands on the rings, and maybe that it looks
// for them as well, and lets nobody in. What it runs beside its lies knows nobody. The others have a quarter
// of an hour.
bool comes_back_despite_liar(std::uint64_t seed, bool seeks_too) {
  constexpr std::size_t kNodes = 8;
  std::vector<std::size_t> back = numbers_of(kNodes);
  const std::size_t liar = first_of(back);
  std::optional<json::object> says;
  WorldOptions options = one_place_each();
  options.lie = [&](std::size_t node, const HttpRequest& request) -> std::optional<HttpResponse> {
    if (!says || node != liar) return std::nullopt;
    if (request.target == overlay::RingService::kPath) return let_nobody_in(request);
    if (request.target != "/nodeinfo/2.1") return std::nullopt;
    return json_response(json::serialize(json::object{{"metadata", json::object{{"tagring", *says}}}}));
  };
  World world(seed, options);
  if (!settles(world, kNodes)) return false;
  json::object announced = world.node(liar).rings().announcement();
  if (seeks_too) {
    const std::string own = World::node_origin(liar);
    announced["seeks"] = json::object{{"relay", own}, {"storage", own}};
  }
  for (std::size_t i = 0; i < kConfigured + kNodes; ++i) world.crash_node(i);
  world.disk(liar).restore({});
  says = std::move(announced);
  start_again(world, seed, back);
  std::erase(back, liar);
  return world.run_until(std::chrono::minutes(15), [&] { return are_one_ring_of_each_kind(world, back); });
}

TEST(AfterAPowerCut, SixtyNodesAreOneRingWithinAMinute) {
  for (const std::uint64_t seed : drawn({101, 102, 103, 104}))
    EXPECT_TRUE(comes_back(seed, 60)) << "seed " << seed;
}

TEST(AfterAPowerCut, AHundredAndFortyNodesAreOneRingWithinAMinute) {
  for (const std::uint64_t seed : drawn({201, 202})) EXPECT_TRUE(comes_back(seed, 140)) << "seed " << seed;
}

TEST(AfterAPowerCut, NobodyWaitsForTheFirstThatHasLostItsDisk) { EXPECT_TRUE(comes_back(301, 60, true)); }

TEST(AfterAPowerCut, OneThatAnswersAndLetsNobodyInKeepsNobodyFromTheOthersForLong) {
  for (const std::uint64_t seed : drawn({401, 402}))
    EXPECT_TRUE(comes_back_despite_liar(seed, false)) << seed;
}

TEST(AfterAPowerCut, NorDoesOneThatSaysToLookForTheRingAsWell) {
  for (const std::uint64_t seed : drawn({403, 404})) EXPECT_TRUE(comes_back_despite_liar(seed, true)) << seed;
}

TEST(Bootstrap, AFounderWhoseClockIsYearsAheadStillKnowsItsNetwork) {
  WorldOptions options;
  options.configured_nodes = 1;
  options.vservers = 1;
  World world(11, options);
  for (std::size_t i = 0; i < 4; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(2), [&] { return world.is_settled(); }));
  world.loop.run_for(std::chrono::seconds(10));  // the address book is on the disk
  world.crash_node(0);
  world.set_clock(0, std::chrono::days(730));
  world.start_node(0);
  bool is_alone = false;
  EXPECT_TRUE(world.run_until(std::chrono::minutes(1), [&] {
    if (!world.is_running(0)) return false;
    bool is_member = true;
    for (const Ring ring : {Ring::kRelay, Ring::kStorage}) {
      const ring::Vserver& vserver = *world.node(0).rings().of(ring).vservers().front();
      is_alone = is_alone || vserver.is_alone();
      is_member = is_member && vserver.is_member();
    }
    return is_member;
  }));
  EXPECT_FALSE(is_alone) << "it has founded a second network";
}

// Whoever has given up its places knows those who have not.
TEST(Bootstrap, ANodeWithoutAPlaceIsAWayIn) {
  WorldOptions options;
  options.configured_nodes = 1;
  World world(7, options);
  for (std::size_t i = 0; i < 6; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(2), [&] { return world.is_settled(); }));
  overlay::RingService& rings = world.node(0).rings();
  for (std::uint8_t place = 0; place < options.vservers; ++place) {
    bool is_given_up = false;
    const auto gives_up = [&] {
      if (is_given_up) return true;
      const auto done = world.await(rings.give_up_place(Ring::kRelay, place), std::chrono::minutes(1));
      is_given_up = done && *done;
      return is_given_up;
    };
    ASSERT_TRUE(world.run_until(std::chrono::minutes(1), gives_up));
  }
  ASSERT_TRUE(rings.of(Ring::kRelay).vservers().empty());
  world.start_node(6);
  EXPECT_TRUE(world.run_until(std::chrono::minutes(2), [&] { return world.is_settled(); }))
      << world.unsettled();
}

}  // namespace
}  // namespace tagring::sim
