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

struct LeavingNode : testing::Test {
  static WorldOptions options_of(std::function<bool(std::size_t, const HttpRequest&)> fails) {
    WorldOptions options{.relay_replicas = 1, .storage_replicas = 1, .reconcile = std::chrono::hours(10)};
    options.lie = [fails = std::move(fails)](std::size_t node,
                                             const HttpRequest& request) -> std::optional<HttpResponse> {
      if (!fails(node, request)) return std::nullopt;
      HttpResponse response;
      response.status = 500;
      return response;
    };
    return options;
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

}  // namespace
}  // namespace tagring::sim
