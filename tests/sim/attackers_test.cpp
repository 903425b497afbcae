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
  Tokens() : world(1, WorldOptions{}) {
    for (std::size_t i = 0; i < kNodes; ++i) world.start_node(i);
    EXPECT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
    for (std::size_t i = 0; i < kNodes; ++i) (relays(kTag, 0).contains(i) ? good : bad) = i;
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
  // An Add with the token, from the attacker to everybody. The number of relays after a while.
  unsigned relays_after(const redundancy::OverloadToken& shown) {
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
  EXPECT_EQ(relays_after(forged), kAtRest);
  EXPECT_LT(looked_up() - begun - at_rest, at_rest + 100) << "64 of each who is shown it";
}

TEST_F(Tokens, KeptFromAnEarlierOverloadEnlargeNothing) {
  EXPECT_EQ(relays_after(token(good, good, std::chrono::minutes(2))), kAtRest);
}

TEST_F(Tokens, OfAnotherNetworkEnlargeNothing) {
  EXPECT_EQ(relays_after(token(good, good, Duration::zero(), "another")), kAtRest);
}

// A node that claims to be overloaded, so that others take its keys, or come for data that it does not have.
// Those who store other copies of the same hashtags contradict it.
TEST(LoadLiars, MoveNobody) {
  WorldOptions options;
  options.storage_replicas = 2;
  options.balance = true;
  options.balance_every = std::chrono::seconds(40);
  options.storage_capacity = [](std::size_t) { return 100'000'000; };
  constexpr std::size_t kLiar = 3;
  bool lying = false;
  options.lie = [&](std::size_t node, const HttpRequest& request) -> std::optional<HttpResponse> {
    if (!lying || node != kLiar || request.target != overlay::RingService::kPath) return std::nullopt;
    const Result<ring::Envelope> asked = ring::decode_envelope(request.body);
    if (!asked || !std::holds_alternative<ring::GetLoad>(asked->request.body)) return std::nullopt;
    HttpResponse response;
    response.body = ring::encode(ring::Reply(ring::Load{30'000'000, 60'000'000, 10'000'000, true}));
    return response;
  };
  World world(2, options);
  for (std::size_t i = 0; i < kNodes; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
  lying = true;
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

}  // namespace
}  // namespace tagring::sim
