// Attackers that are whole nodes, among others (docs/attacks.md). What they say is signed, and false.

#include <fmt/format.h>

#include "delivery/wire.hpp"
#include "redundancy/overload_token.hpp"
#include "tests/sim/fixture.hpp"

namespace tagring::sim {
namespace {

constexpr const char* kTag = "caturday";
constexpr std::size_t kNodes = 12;
constexpr std::size_t kAtRest = 2;

std::string origin_of_node(std::size_t i) { return fmt::format("https://tags.n{}.example", i); }

class Tokens : public testing::Test {
 protected:
  Tokens() : world(1, options()) {
    for (std::size_t i = 0; i < kNodes; ++i) world.start_node(i);
    EXPECT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
    for (std::size_t i = 0; i < kNodes; ++i) (relays(kTag, 0).contains(i) ? good : bad) = i;
  }

  static WorldOptions options() {
    WorldOptions options;
    options.deliveries_per_second = 100;
    return options;
  }
  // Two posts a second, which both relays take.
  void bring_load() {
    for (std::size_t i = 0; i < 20; ++i) {
      world.publish(i % kNodes, {kTag});
      world.loop.run_for(std::chrono::milliseconds(500));
    }
  }

  // Who relays a hashtag for the first of two replicas.
  std::set<std::size_t> relays(const std::string& tag, unsigned replica) {
    std::set<std::size_t> owners;
    const RingId key = replica_key(Tag::from_canonical(tag).key(), replica, kAtRest);
    for (const std::size_t i : world.up())
      if (world.node(i).rings().of(Ring::kRelay).serving(key) != nullptr) owners.insert(i);
    return owners;
  }
  // "The hashtag needs more than two relays", says `actor` with the key of `signer`.
  redundancy::OverloadToken token(std::size_t actor, std::size_t signer, Duration age = Duration::zero(),
                                  const std::string& network = "tagring") {
    redundancy::OverloadToken made{Tag::from_canonical(kTag),
                                   kAtRest,
                                   origin_of_node(actor) + "/actor",
                                   world.loop.wall_now() - age,
                                   {}};
    made.signature = world.key(signer).sign(made.signed_text(network));
    return made;
  }
  // While there is some load. The number of relays after a while.
  unsigned relays_after(const redundancy::OverloadToken& shown) {
    bring_load();
    return relays_without_load(shown);
  }
  // An Add with the token, from the attacker to everybody.
  unsigned relays_without_load(const redundancy::OverloadToken& shown) {
    const delivery::TagEvent event{Tag::from_canonical(kTag), delivery::Op::kAdd,
                                   origin_of_node(bad) + "/posts/1", origin_of_node(bad) + "/users/alice",
                                   world.loop.wall_now()};
    for (std::size_t to = 0; to < kNodes; ++to) {
      if (to == bad) continue;
      const std::string target = origin_of_node(to) + "/relay";
      world.forge(bad, to,
                  delivery::add_activity(origin_of_node(bad) + "/adds/1", origin_of_node(bad) + "/actor",
                                         target, {event}, {{}, {shown}}));
    }
    world.loop.run_for(std::chrono::seconds(20));
    return world.relays();
  }

  World world;
  std::size_t good = 0;  // a relay of the hashtag
  std::size_t bad = 0;   // none
};

TEST_F(Tokens, OfARelayThatIsOverloadedEnlargeTheSet) {
  EXPECT_EQ(relays_after(token(good, good)), 2 * kAtRest);
}

// Whoever is a relay may say that it has too much to do; the other one has nothing to do.
TEST_F(Tokens, OfARelayWithoutLoadEnlargeNothing) {
  relays_without_load(token(good, good));
  // Who became a relay for it hears within a minute that those at rest do not go along.
  world.loop.run_for(std::chrono::minutes(3));
  EXPECT_EQ(world.relays(), kAtRest);
}

TEST_F(Tokens, OneAfterTheOtherEnlargeTheSetOnce) {
  bring_load();
  redundancy::OverloadToken shown = token(good, good);
  for (unsigned of = kAtRest; of <= 16; of *= 2) {
    shown.relays = of;
    shown.signature = world.key(good).sign(shown.signed_text("tagring"));
    const std::string body = json::serialize(json::object{{"action", "raise"},
                                                          {"tag", kTag},
                                                          {"index", 0},
                                                          {"of", of},
                                                          {"relays", 2 * of},
                                                          {"token", redundancy::to_json(shown)}});
    for (std::size_t to = 0; to < kNodes; ++to) {
      if (relays(kTag, 1).contains(to)) world.forge_later(good, to, "/tagring/v1/relays", body);
    }
    world.loop.run_for(std::chrono::milliseconds(500));
  }
  EXPECT_EQ(world.relays(), 2 * kAtRest);
}

TEST_F(Tokens, OfANodeThatIsNoRelayEnlargeNothing) { EXPECT_EQ(relays_after(token(bad, bad)), kAtRest); }

TEST_F(Tokens, SignedInTheNameOfARelayEnlargeNothing) { EXPECT_EQ(relays_after(token(good, bad)), kAtRest); }

TEST_F(Tokens, ThatAreForgedHaveNobodyLookedUp) {
  redundancy::OverloadToken forged = token(good, bad);
  forged.relays = 64;
  forged.signature = world.key(bad).sign(forged.signed_text("tagring"));
  const auto looked_up = [&] {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < kNodes; ++i) {
      const auto& counters = world.node(i).rings().of(Ring::kRelay).counters();
      all += counters.lookups + counters.cached;
    }
    return all;
  };
  const std::uint64_t begun = looked_up();
  world.loop.run_for(std::chrono::seconds(20));
  const std::uint64_t at_rest = looked_up() - begun;
  EXPECT_EQ(relays_without_load(forged), kAtRest);
  EXPECT_LT(looked_up() - begun - at_rest, at_rest + 100) << "64 of each who is shown it";
}

TEST_F(Tokens, KeptFromAnEarlierOverloadEnlargeNothing) {
  EXPECT_EQ(relays_after(token(good, good, std::chrono::minutes(2))), kAtRest);
}

TEST_F(Tokens, OfAnotherNetworkEnlargeNothing) {
  EXPECT_EQ(relays_after(token(good, good, Duration::zero(), "another")), kAtRest);
}

using Announcements = Tokens;

// Nobody looks at what it says of a hashtag that it announces nothing of.
TEST_F(Announcements, OfOneHashtagDoNotSayHowManyRelaysAnotherHas) {
  const std::size_t subscriber = (bad + 1) % kNodes;
  subscribe(world, subscriber, {kTag});
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); }));
  const auto looked_up = [&] {
    const auto& counters = world.node(subscriber).rings().of(Ring::kRelay).counters();
    return counters.lookups + counters.cached;
  };
  const std::uint64_t begun = looked_up();
  world.loop.run_for(std::chrono::minutes(1));
  const std::uint64_t at_rest = looked_up() - begun;
  const delivery::TagEvent event{Tag::from_canonical("unwanted"), delivery::Op::kAdd,
                                 origin_of_node(bad) + "/posts/1", origin_of_node(bad) + "/users/alice",
                                 world.loop.wall_now()};
  const redundancy::RelayClaims claims = {{Tag::from_canonical(kTag), {256, 0}}};
  EXPECT_TRUE(world.forge(
      bad, subscriber,
      delivery::announce_activity(origin_of_node(bad) + "/announces/1", origin_of_node(bad) + "/actor",
                                  {event}, world.loop.wall_now(), claims)));
  world.loop.run_for(std::chrono::minutes(1));
  EXPECT_LT(looked_up() - begun - at_rest, at_rest + 100) << "256 of who believes it";
}

using ShrinkRequests = Tokens;

// The owner of the key is also the owner of replica 0 of 1.
TEST_F(ShrinkRequests, BelowTheNumberAtRestChangeNothingAndLeaveNothing) {
  const std::string body = json::serialize(
      json::object{{"action", "shrink"}, {"tag", kTag}, {"index", 0}, {"of", 1}, {"relays", 1}});
  for (std::size_t to = 0; to < kNodes; ++to) {
    if (to != good) world.forge_later(good, to, "/tagring/v1/relays", body);
  }
  world.loop.run_for(std::chrono::seconds(20));
  for (std::size_t i = 0; i < kNodes; ++i)
    EXPECT_TRUE(world.node(i).status().at("relay_sets").get_array().empty()) << "node " << i;
}

// A node that claims to be overloaded, so that others take its keys, or come for data that it does not have.
// Those who store other copies of the same hashtags contradict it.
struct LyingAboutLoads {
  explicit LyingAboutLoads(std::set<std::size_t> nodes) : liars(std::move(nodes)) {
    options.storage_replicas = 2;
    options.balance = true;
    options.balance_every = std::chrono::seconds(40);
    options.storage_capacity = [](std::size_t) { return 100'000'000; };
    options.lie = [this](std::size_t node, const HttpRequest& request) { return lie(node, request); };
  }
  std::optional<HttpResponse> lie(std::size_t node, const HttpRequest& request) const {
    if (!lying || !liars.contains(node) || request.target != overlay::RingService::kPath) return std::nullopt;
    const Result<ring::Envelope> asked = ring::decode_envelope(request.body);
    if (!asked || !std::holds_alternative<ring::GetLoad>(asked->request.body)) return std::nullopt;
    HttpResponse response;
    response.body = ring::encode(ring::Reply(ring::Load{30'000'000, 60'000'000, 10'000'000, true}));
    return response;
  }

  std::set<std::size_t> liars;
  bool lying = false;
  WorldOptions options;
};

class LoadLiars : public testing::TestWithParam<std::uint64_t> {};

// Nor do they where they own all copies of what they speak of, and nobody else can tell.
TEST_P(LoadLiars, MoveNobody) {
  constexpr std::size_t kLiar = 3;
  LyingAboutLoads load({kLiar});
  World world(GetParam(), load.options);
  for (std::size_t i = 0; i < kNodes; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
  load.lying = true;
  world.loop.run_for(std::chrono::minutes(10));
  std::uint64_t not_believed = 0;
  for (std::size_t i = 0; i < kNodes; ++i) {
    if (i == kLiar) continue;
    const json::object status = world.node(i).status();
    const json::object& storage = status.at("rings").at("storage").as_object();
    EXPECT_EQ(storage.at("moves").to_number<std::uint64_t>(), 0U) << "node " << i;
    not_believed += storage.at("loads_not_believed").to_number<std::uint64_t>();
  }
  EXPECT_GT(not_believed, 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LoadLiars, testing::Values(2, 13, 19));

// Before their first regular decision they have chosen their places, and asked others about them.
TEST_F(LoadLiars, AreNotBelievedByNewNodesEither) {
  LyingAboutLoads load({3, 8});
  load.options.ids.kappa = 32;
  load.options.balance_every = std::chrono::hours(1);
  World world(2, load.options);
  for (std::size_t i = 0; i < kNodes; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
  load.lying = true;
  std::uint64_t not_believed = 0;
  for (std::size_t i = kNodes; i < kNodes + 4; ++i) {
    world.start_node(i);
    const auto stands = [&](Ring ring) {
      return world.is_running(i) && world.node(i).rings().of(ring).vservers().size() >= load.options.vservers;
    };
    EXPECT_TRUE(world.run_until(std::chrono::minutes(5),
                                [&] { return stands(Ring::kRelay) && stands(Ring::kStorage); }))
        << "node " << i;
    const json::object status = world.node(i).status();
    for (const char* ring : {"relay", "storage"})
      not_believed += status.at("rings").at(ring).at("loads_not_believed").to_number<std::uint64_t>();
  }
  EXPECT_GT(not_believed, 0U);
}

}  // namespace
}  // namespace tagring::sim
