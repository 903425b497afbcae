// Nodes that have left the rings and run on: what they owe, and what comes after, reaches its owners.

#include "config/config.hpp"
#include "overlay/ring_service.hpp"
#include "ring/vserver.hpp"
#include "tests/sim/fixture.hpp"

namespace tagring::sim {
namespace {

constexpr std::size_t kLeaver = 5;

Task<bool> told_to_leave(node::Node* node) {
  co_await node->leave();
  co_return true;
}

Task<bool> leaves_storage(node::Node* node) {
  co_await node->rings().leave(Ring::kStorage);
  co_return true;
}

struct LeavingNode : testing::Test {
  WorldOptions options_of(std::function<bool(std::size_t, const HttpRequest&)> fails) {
    WorldOptions options{.relay_replicas = 1, .storage_replicas = 1, .reconcile = std::chrono::hours(10)};
    options.lie = [this, fails = std::move(fails)](
                      std::size_t node, const HttpRequest& request) -> std::optional<HttpResponse> {
      if (node == kLeaver && names_all) return the_whole_ring(request);
      if (!fails(node, request)) return std::nullopt;
      HttpResponse response;
      response.status = 500;
      return response;
    };
    return options;
  }
  // What the leaver says that it owns.
  static std::optional<HttpResponse> the_whole_ring(const HttpRequest& request) {
    const auto question = json::parse_object(request.body);
    if (!request.target.starts_with("/tagring/v1/transfer") || !question ||
        json::text_of(*question, "kind") != "leaving")
      return std::nullopt;
    const std::string to = json::text_of(*question, "to");
    HttpResponse response;
    response.body = json::serialize(json::object{{"from", to}, {"to", to}});
    return response;
  }
  void begin() {
    for (std::size_t i = 0; i <= kLeaver; ++i) world.start_node(i);
    ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
    subscribe(world, 0, tags);
    ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); })) << world.unrest();
  }
  // A post of the leaver's instance under each hashtag.
  void publish() {
    for (const std::string& tag : tags) world.publish(kLeaver, {tag});
    world.loop.run_for(std::chrono::seconds(20));
  }
  void leave() {
    const auto left = world.await_on(kLeaver, told_to_leave(&world.node(kLeaver)), std::chrono::minutes(30));
    ASSERT_TRUE(left && *left);
  }
  std::size_t not_handed_over(Ring ring) {
    return world.node(kLeaver).rings().left(ring).at("not_handed_over").as_array().size();
  }
  void expect_that_all_arrives() {
    ASSERT_TRUE(world.run_until(std::chrono::minutes(15), [&] { return world.is_quiet(); }))
        << world.unrest();
    for (const std::string& tag : tags) {
      EXPECT_EQ(world.feed(0, tag), live_posts(world, tag)) << "#" << tag;
      const auto history = world.history(2, tag, 10);
      ASSERT_TRUE(history);
      EXPECT_EQ(uris_of(*history), live_posts(world, tag)) << "#" << tag;
    }
  }

  bool names_all = false;         // the leaver, as its own
  bool owners_fail = false;       // to take posts
  bool refuse_to_follow = false;  // in the leaver's places
  const std::vector<std::string> tags = {"caturday", "dogs", "music", "haiku", "art", "books"};
  World world{3, options_of([this](std::size_t node, const HttpRequest& request) {
                if (node == kLeaver) return false;
                if (owners_fail && request.target == "/inbox" && request.body.contains("\"Add\""))
                  return true;
                return refuse_to_follow && request.body.contains("take_over");
              })};
};

TEST_F(LeavingNode, TakesPostsOfItsInstancesToTheirOwners) {
  begin();
  leave();
  EXPECT_EQ(not_handed_over(Ring::kStorage), 0U);
  world.loop.run_for(std::chrono::minutes(5));  // it has forgotten who the owners were
  publish();
  expect_that_all_arrives();
}

TEST_F(LeavingNode, DeliversWhatItOwedWhenItLeft) {
  begin();
  owners_fail = true;
  publish();
  leave();
  world.loop.run_for(std::chrono::minutes(5));
  EXPECT_GT(json::get_int(world.node(kLeaver).status(), "owed").value_or(0), 0);
  owners_fail = false;
  expect_that_all_arrives();
}

TEST_F(LeavingNode, SendsItsHistoryToTheOwnersWhereNobodyTakesItOver) {
  begin();
  for (int i = 0; i < 4; ++i) publish();
  expect_that_all_arrives();
  refuse_to_follow = true;
  leave();
  EXPECT_GT(not_handed_over(Ring::kStorage), 0U);
  expect_that_all_arrives();
}

TEST_F(LeavingNode, HandsOverNoMoreThanItOwns) {
  begin();
  const auto position = [](const std::string& tag) { return Tag::from_canonical(tag).key(); };
  const auto entry = [](const std::string& tag) {
    return storage::HistoryEntry{Tag::from_canonical(tag), "https://n5.example/posts/" + tag,
                                 "https://n5.example/users/alice", WallTime(std::chrono::hours(480'000))};
  };
  std::set<std::string> owned;
  for (const std::string& tag : tags) {
    if (world.node(kLeaver).rings().of(Ring::kStorage).owning(position(tag)) != nullptr) owned.insert(tag);
    ASSERT_TRUE(world.await(world.history_store(kLeaver).put({entry(tag)}), std::chrono::seconds(10)));
  }
  ASSERT_LT(owned.size(), tags.size());
  names_all = true;
  leave();
  EXPECT_EQ(not_handed_over(Ring::kStorage), 0U);
  for (const std::string& tag : tags) {
    for (std::size_t i = 0; i < kLeaver; ++i) {
      const auto found =
          world.await(world.history_store(i).find({{Tag::from_canonical(tag), entry(tag).uri}}),
                      std::chrono::seconds(10));
      ASSERT_TRUE(found && *found);
      if (!owned.contains(tag)) EXPECT_FALSE((*found)->front()) << "#" << tag << " at node " << i;
    }
  }
}

// Else the second copies what it never comes to own, and leaves with it.
TEST(Leaving, NeighboursThatLeaveAtOnceHandOverToWhoStays) {
  World world(
      4, WorldOptions{
             .vservers = 1, .relay_replicas = 1, .storage_replicas = 1, .reconcile = std::chrono::hours(10)});
  for (std::size_t i = 0; i < 6; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
  std::vector<std::string> tags;
  for (int n = 0; n < 30; ++n) tags.push_back(fmt::format("tag{}", n));
  for (const std::string& tag : tags) world.publish(0, {tag});
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); })) << world.unrest();
  const auto place_of = [&](std::size_t i) -> const ring::Vserver& {
    return *world.node(i).rings().of(Ring::kStorage).vservers().front();
  };
  std::vector<std::size_t> leavers;
  for (std::size_t i = 1; i < 6; ++i) {
    const RingId next = place_of(i).successors().front().id;
    for (std::size_t j = 1; j < 6 && leavers.empty(); ++j)
      if (place_of(j).self().id == next) leavers = {i, j};
  }
  ASSERT_EQ(leavers.size(), 2U);
  std::vector<Task<bool>> leaves;
  for (const std::size_t i : leavers) leaves.push_back(leaves_storage(&world.node(i)));
  const auto left = world.await_on(leavers.front(), all_of(std::move(leaves)), std::chrono::minutes(10));
  ASSERT_TRUE(left);
  world.loop.run_for(std::chrono::minutes(5));
  for (const std::string& tag : tags) {
    const auto history = world.history(0, tag, 10);
    ASSERT_TRUE(history) << "#" << tag;
    EXPECT_EQ(uris_of(*history), live_posts(world, tag)) << "#" << tag;
  }
}

}  // namespace
}  // namespace tagring::sim
