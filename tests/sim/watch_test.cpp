// The ring audits itself: nobody types a command.
#include "audit/watch.hpp"

#include <fmt/format.h>

#include "audit/offences.hpp"
#include "audit/receipt_store.hpp"
#include "crypto/merkle.hpp"
#include "hashtag/tag.hpp"
#include "tests/sim/fixture.hpp"

namespace tagring::sim {
namespace {

constexpr const char* kTag = "caturday";
constexpr std::size_t kNodes = 8;

std::int64_t audits(World& world, std::size_t i, const char* what) {
  const json::object status = world.node(i).status();
  return json::get_int(*json::get_object(status, "audits"), what).value_or(-1);
}

std::int64_t audits_of_all(World& world, const char* what) {
  std::int64_t sum = 0;
  for (const std::size_t i : world.up()) sum += audits(world, i, what);
  return sum;
}

std::set<std::string> offenders(World& world, std::size_t i) {
  HttpRequest request;
  request.target = "/offenders";
  const auto answer = world.await(world.node(i).control(std::move(request)), std::chrono::minutes(1));
  const auto body = answer ? json::parse_object(answer->body) : Result<json::object>();
  std::set<std::string> found;
  if (!body) return found;
  json::for_each(json::find(*body, "offenders"), [&](const json::value& element) {
    found.insert(json::get_string(element.get_object(), "owner").value_or(""));
  });
  return found;
}

// Nodes that own the hashtag on the storage ring, each once.
std::vector<std::size_t> storage_owners(World& world) {
  std::vector<std::size_t> owners;
  for (const std::size_t i : world.up()) {
    for (unsigned replica = 0; replica < 4; ++replica) {
      const RingId key = replica_key(Tag::from_canonical(kTag).key(), replica, 4);
      if (world.node(i).rings().of(Ring::kStorage).owning(key) == nullptr) continue;
      owners.push_back(i);
      break;
    }
  }
  return owners;
}

class WatchRun {
 public:
  // `drops`: one of the owners does.
  explicit WatchRun(std::uint64_t seed, bool drops)
      : world_(seed, options([this](std::size_t node, const std::string&) { return node == dropper_; })) {
    for (std::size_t i = 0; i < kNodes; ++i) world_.start_node(i);
    EXPECT_TRUE(world_.run_until(std::chrono::minutes(10), [&] { return world_.is_settled(); }));
    world_.loop.run_for(std::chrono::minutes(1));
    owners_ = storage_owners(world_);
    dropper_ = drops ? owners_.back() : kNodes;
    for (std::size_t n = 0; n < 3 * kNodes; ++n) {
      world_.publish(n % kNodes, {kTag});
      world_.loop.run_for(std::chrono::seconds(10));
    }
  }
  World& world() { return world_; }
  [[nodiscard]] std::string dropper() const { return World::node_origin(dropper_); }
  [[nodiscard]] bool drops(std::size_t i) const { return i == dropper_; }
  [[nodiscard]] const std::vector<std::size_t>& owners() const { return owners_; }

 private:
  static WorldOptions options(Drops drops) {
    WorldOptions world;
    world.posts_an_hour = 1'000'000;
    world.drops_stored = std::move(drops);
    return world;
  }
  std::size_t dropper_ = kNodes;
  std::vector<std::size_t> owners_;
  World world_;
};

TEST(Watch, AStorageOwnerThatDropsPostsIsFoundAndProvedToTheOthers) {
  WatchRun run(3, /*drops=*/true);
  World& world = run.world();
  world.loop.run_for(std::chrono::minutes(50));
  const std::set<std::string> dropper{run.dropper()};
  std::int64_t found = 0;
  std::int64_t told = 0;
  for (std::size_t i = 0; i < kNodes; ++i) {
    if (run.drops(i)) {
      EXPECT_EQ(offenders(world, i), std::set<std::string>()) << i;
      EXPECT_GT(audits(world, i, "accused"), 0);
      continue;
    }
    EXPECT_EQ(offenders(world, i), dropper) << i;
    found += audits(world, i, "found");
    told += audits(world, i, "told");
  }
  EXPECT_GT(found, 0);
  EXPECT_GT(told, 0);
  // Kept on disk.
  const std::size_t witness = run.drops(1) ? 2 : 1;
  world.crash_node(witness);
  world.start_node(witness);
  world.loop.run_for(std::chrono::minutes(1));
  EXPECT_EQ(offenders(world, witness), dropper);
}

TEST(Watch, WhereAllAreHonestNobodyIsAccusedAndLittleIsAsked) {
  WatchRun run(4, /*drops=*/false);
  World& world = run.world();
  world.loop.run_for(std::chrono::hours(1));
  for (std::size_t i = 0; i < kNodes; ++i) {
    EXPECT_EQ(offenders(world, i), std::set<std::string>()) << i;
    EXPECT_GT(audits(world, i, "looks"), 0) << i;
    EXPECT_EQ(audits(world, i, "made"), 0) << i;
  }
}

TEST(Watch, NothingIsAmissWhereOwnersTookOutWhatTheyWereToldTo) {
  WatchRun run(6, /*drops=*/false);
  World& world = run.world();
  world.loop.run_for(std::chrono::minutes(10));
  for (std::size_t i = 0; i < kNodes; ++i) {
    world.set_indexable(i, false);
    world.publish(i, {"dogs"});  // so that its author's profile is looked at
  }
  world.loop.run_for(std::chrono::hours(1));
  const auto left = world.history(0, kTag, 40);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->size(), 0U);
  std::int64_t looks = 0;
  for (std::size_t i = 0; i < kNodes; ++i) {
    looks += audits(world, i, "looks");
    EXPECT_EQ(audits(world, i, "amiss"), 0) << i;
  }
  EXPECT_GT(looks, 0);
}

TEST(Watch, WhoTakesPostsDownShowsWhyOrTheHashtagIsAudited) {
  for (const bool explained : {true, false}) {
    SCOPED_TRACE(explained);
    WatchRun run(7, /*drops=*/false);
    World& world = run.world();
    world.loop.run_for(std::chrono::minutes(1));
    const std::size_t owner = run.owners().front();
    const std::size_t other = run.owners().back();
    for (const World::Post& post : world.posts()) {
      storage::TakeDown notice{"tagring",
                               World::node_origin(owner) + "/actor",
                               Tag::from_canonical(kTag),
                               post.uri,
                               "a court said so",
                               world.loop.wall_now(),
                               {}};
      notice.signature = world.key(explained ? owner : other).sign(notice.signed_text());
      const auto done =
          world.await(world.history_store(owner).take_down(std::move(notice)), std::chrono::seconds(10));
      ASSERT_TRUE(done && *done);
    }
    world.loop.run_for(std::chrono::minutes(50));
    EXPECT_GT(audits_of_all(world, "looks"), 0);
    EXPECT_EQ(audits_of_all(world, "amiss") > 0, !explained);
    EXPECT_EQ(audits_of_all(world, "made") > 0, !explained);
  }
}

// A new owner has only heard of what others were told, and signs nothing of it.
TEST(Watch, OwnersThatObeyMaySayThatAPostIsRemovedOrNothingOfIt) {
  using audit::Watch;
  using storage::PostState;
  EXPECT_FALSE(Watch::is_contradiction({PostState::kLive}));
  EXPECT_FALSE(Watch::is_contradiction({PostState::kAbsent, PostState::kRemoved}));
  EXPECT_FALSE(Watch::is_contradiction({PostState::kAbsent, PostState::kCorrected}));
  EXPECT_TRUE(Watch::is_contradiction({PostState::kAbsent, PostState::kLive}));
  EXPECT_TRUE(Watch::is_contradiction({PostState::kLive, PostState::kRemoved}));
  EXPECT_TRUE(Watch::is_contradiction({PostState::kAbsent, PostState::kLive, PostState::kRemoved}));
}

// What a liar that has a node, and the receipts of honest owners, can make others believe of these: nothing.
TEST(Watch, WhoAccusesFalselyAchievesNothing) {
  WatchRun run(5, /*drops=*/false);
  World& world = run.world();
  const std::size_t victim = run.owners().front();
  const std::size_t liar = victim == 0 ? 1 : 0;
  const WallTime now = world.loop.wall_now();
  const std::string uri = "https://n0.example/p/never";
  const storage::TakenItem item{Tag::from_canonical(kTag), uri, false, now, true};
  const std::vector<crypto::Hash256> leaves = audit::leaves_of({item});
  // A receipt and an empty head, in the name of `who`, with that node's key or the liar's.
  const auto accusation = [&](std::size_t who, std::size_t signer, Duration age) {
    const std::string actor = World::node_origin(who) + "/actor";
    const crypto::PrivateKey& key = world.key(signer);
    storage::Receipt batch{"tagring", Ring::kStorage, actor, now - age, 1, crypto::tree_root(leaves), {}};
    batch.signature = key.sign(batch.signed_text());
    storage::Head head{"tagring",
                       actor,
                       Tag::from_canonical(kTag),
                       storage::hour_of(now),
                       {},
                       now - age + Duration(1),
                       0,
                       crypto::tree_root({}),
                       {}};
    head.signature = key.sign(head.signed_text());
    const audit::Evidence evidence{{batch, item, 0, {}}, head, {}, key.public_key().pem(), actor, now};
    EXPECT_TRUE(audit::check(evidence));
    return json::serialize(audit::to_json(evidence));
  };
  for (std::size_t to = 0; to < kNodes; ++to) {
    const auto tell = [&](std::string body) {
      world.forge_later(liar, to, std::string(audit::Offences::kPath), std::move(body));
      world.loop.run_for(std::chrono::seconds(10));
    };
    tell(accusation(victim, liar, std::chrono::minutes(1)));
    tell(accusation(victim, victim, std::chrono::hours(25)));  // what it did long ago
    if (to == victim) continue;
    EXPECT_EQ(audits(world, to, "refused"), 2) << to;
  }
  for (std::size_t i = 0; i < kNodes; ++i) EXPECT_EQ(offenders(world, i), std::set<std::string>()) << i;
  // With what the victim has signed itself the same is believed.
  const std::size_t judge = victim == 2 ? 3 : 2;
  world.forge_later(liar, judge, std::string(audit::Offences::kPath),
                    accusation(victim, victim, std::chrono::minutes(1)));
  world.loop.run_for(std::chrono::seconds(30));
  EXPECT_EQ(offenders(world, judge), std::set{World::node_origin(victim)});
  world.set_clock(judge, std::chrono::hours(24));
  EXPECT_EQ(offenders(world, judge), std::set<std::string>());
}

}  // namespace
}  // namespace tagring::sim
