// Whole nodes of which a part lies. "tagring sim liars" takes the same figures of larger networks.
#include "runs/liars.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <string>

#include "delivery/wire.hpp"
#include "handover/transfer.hpp"
#include "hashtag/tag.hpp"
#include "tests/sim/fixture.hpp"

namespace tagring::sim {
namespace {

runs::LiarRunOptions small() {
  runs::LiarRunOptions options;
  options.nodes = 10;
  options.hashtags = 5;
  options.attack = std::chrono::minutes(4);
  return options;
}

// What the counting rests on: where nobody lies nothing is amiss, although nodes restart, one comes late, and
// authors remove posts.
TEST(Liars, WhereNobodyLiesEveryPostIsReadAsItIs) {
  runs::LiarRunOptions options = small();
  options.malicious = 0;
  const runs::LiarRunResult result = runs::run_liars(options);
  EXPECT_EQ(result.hashtags_counted, options.hashtags);
  EXPECT_GT(result.posts, 10U);
  EXPECT_GT(result.removed, 0U);
  EXPECT_GT(result.pairs, 100U);
  EXPECT_TRUE(result.rested);
  EXPECT_EQ(result.lost, 0U);
  EXPECT_EQ(result.invented, 0U);
  EXPECT_EQ(result.altered, 0U);
  EXPECT_EQ(result.third_party_requests_per_minute, 0);
  EXPECT_TRUE(result.lies.empty());
}

TEST(Liars, OfEachRoleTellLies) {
  runs::LiarRunOptions options = small();
  options.malicious = 0.3;
  const runs::LiarRunResult result = runs::run_liars(options);
  EXPECT_EQ(result.liars, 3U);
  EXPECT_GT(result.hashtags_counted, 0U);
  for (const char* role : {"relay", "storage", "keeper", "publisher"})
    EXPECT_GT(result.lies.contains(role) ? result.lies.at(role) : 0, 50U) << role;
}

TEST(Liars, OfOneRoleTellNoOthers) {
  const std::map<std::string, LiarRoles> roles = {{"neighbour", {.neighbour = true}},
                                                  {"publisher", {.publisher = true}}};
  for (const auto& [role, only] : roles) {
    runs::LiarRunOptions options = small();
    options.malicious = 0.3;
    options.roles = only;
    const runs::LiarRunResult result = runs::run_liars(options);
    ASSERT_EQ(result.lies.size(), 1U) << role;
    EXPECT_GT(result.lies.at(role), 50U) << role;
  }
}

// Of all roles the one whose lies have no end: each page of followers that it hands over is the same.
TEST(Liars, AKeeperKeepsNobodyFromServing) {
  runs::LiarRunOptions options = small();
  options.malicious = 0.2;
  options.nodes = 20;
  options.roles = {.keeper = true};
  const runs::LiarRunResult result = runs::run_liars(options);
  EXPECT_GT(result.hashtags_counted, 0U);
  EXPECT_GT(result.lies.at("keeper"), 50U);
  EXPECT_TRUE(result.rested) << "everybody serves what it owns, and nothing is owed";
  EXPECT_EQ(result.lost, 0U);
}

// A hashtag of the segment.
std::optional<Tag> tag_in(const Segment& keys) {
  for (int n = 0; n < 2'000; ++n) {
    Tag tag = Tag::from_canonical(fmt::format("topic{}", n));
    if (keys.contains(tag.key())) return tag;
  }
  return std::nullopt;
}

// One post of a feed that goes on and on, in order.
std::optional<HttpResponse> next_of_endless_feed(const HttpRequest& request) {
  const Result<json::object> body = json::parse_object(request.body);
  if (!body || json::text_of(*body, "kind") != "feed") return std::nullopt;
  const Segment keys{*RingId::from_hex(json::text_of(*body, "from")),
                     *RingId::from_hex(json::text_of(*body, "to"))};
  const std::optional<Tag> tag = tag_in(keys);
  if (!tag) return std::nullopt;
  const std::string after = json::text_of(*body, "after");
  const std::uint64_t seq = after.empty() ? 1 : std::stoull(after) + 1;
  const std::string author = "https://nowhere.example/users/alice";
  const delivery::FeedEntry entry{seq,
                                  {*tag, delivery::Op::kAdd, fmt::format("{}/{}", author, seq), author,
                                   WallTime(std::chrono::seconds(seq)), true}};
  HttpResponse response;
  response.headers.add("Content-Type", "application/json");
  response.body = json::serialize(json::object{{"items", delivery::to_json(std::vector{entry})}});
  return response;
}

TEST(Liars, WhoseFeedHasNoEndKeepsNobodyFromServing) {
  std::uint64_t told = 0;
  WorldOptions options;
  options.lie = [&](std::size_t node, const HttpRequest& request) -> std::optional<HttpResponse> {
    if (node != 1 || request.target != handover::Transfer::kPath) return std::nullopt;
    std::optional<HttpResponse> lie = next_of_endless_feed(request);
    if (lie) ++told;
    return lie;
  };
  World world(7, options);
  // Who joins when there is nobody but the liar waits for an hour for what it says.
  for (const std::size_t i : {0, 2, 3, 1}) {
    world.start_node(i);
    world.loop.run_for(std::chrono::seconds(30));
  }
  const std::uint64_t before = told;
  world.start_node(4);
  EXPECT_TRUE(world.run_until(3 * handover::Transfer::kPatience, [&] { return world.is_settled(); }))
      << world.unsettled();
  EXPECT_GT(told, before + 10) << "it was asked, and told more and more";
}

TEST(Liars, OfOneSeedDoTheSame) {
  runs::LiarRunOptions options = small();
  options.malicious = 0.3;
  options.roles = {.relay = true};
  options.attack = std::chrono::minutes(1);
  const runs::LiarRunResult once = runs::run_liars(options);
  const runs::LiarRunResult again = runs::run_liars(options);
  EXPECT_EQ(once.trace, again.trace);
  EXPECT_EQ(once.lies, again.lies);
  options.seed = 2;
  EXPECT_NE(once.trace, runs::run_liars(options).trace);
}

}  // namespace
}  // namespace tagring::sim
