#include <fmt/format.h>
#include <map>

#include "runs/audit_run.hpp"
#include "tests/sim/fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::sim {
namespace {

// What node i finds about a hashtag: the owners, by the kind of the finding.
std::map<std::string, std::set<std::string>> audit(World& world, std::size_t i, const std::string& tag) {
  HttpRequest request;
  request.target = "/audit?tag=" + tag;
  const auto answer = world.await(world.node(i).control(std::move(request)), std::chrono::minutes(5));
  std::map<std::string, std::set<std::string>> found;
  const auto report = answer ? json::parse_object(answer->body) : Result<json::object>();
  EXPECT_TRUE(report);
  if (!report) return found;
  json::for_each(json::find(*report, "findings"), [&](const json::value& element) {
    const json::object& finding = element.get_object();
    found[json::get_string(finding, "kind").value_or("")].insert(
        json::get_string(finding, "owner").value_or(""));
  });
  return found;
}

TEST(AuditRun, AStorageOwnerThatDropsPostsIsNamedWithEvidence) {
  runs::AuditRunOptions options;
  const runs::AuditRunResult result = runs::run_audit(options);
  EXPECT_GT(result.dropped, 10U);
  EXPECT_EQ(result.named, result.dropped);
  EXPECT_EQ(result.proved, result.dropped);
  EXPECT_EQ(result.false_named, 0U);
  EXPECT_GE(result.seconds, 0);
  EXPECT_LE(result.seconds, 310);  // the first audit
  RecordProperty("seconds", std::to_string(result.seconds));
}

TEST(AuditRun, ARelayThatPassesNothingOnIsNamedAlthoughAnotherDid) {
  runs::AuditRunOptions options;
  options.ring = Ring::kRelay;
  const runs::AuditRunResult result = runs::run_audit(options);
  EXPECT_GT(result.dropped, 10U);
  EXPECT_EQ(result.named, result.dropped);
  EXPECT_EQ(result.false_named, 0U);
  EXPECT_GE(result.seconds, 600);  // nobody is accused before that
  EXPECT_LE(result.seconds, 1000);
}

std::set<std::size_t> holders(World& world, const std::string& tag) {
  std::set<std::size_t> found;
  for (const std::size_t i : world.up()) {
    const auto page = world.await(world.history_store(i).page(Tag::from_canonical(tag), std::nullopt, 10),
                                  std::chrono::seconds(10));
    if (page && *page && !(*page)->entries.empty()) found.insert(i);
  }
  return found;
}

// An owner that came to own a hashtag, signed for none of its posts and lost them, is told from those that
// have them.
TEST(AuditRun, AnOwnerThatLacksWhatTheOthersTookIsNamed) {
  World world(5, {});
  for (std::size_t i = 0; i < 8; ++i) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_settled(); }));
  for (std::size_t n = 0; n < 6; ++n) world.publish(0, {"caturday"});
  ASSERT_TRUE(world.run_until(std::chrono::minutes(1), [&] { return world.is_quiet(); })) << world.unrest();
  world.loop.run_for(std::chrono::minutes(11));  // nobody is accused before that
  std::set<std::size_t> owners = holders(world, "caturday");
  std::size_t heir = 8;
  while (heir == 8 && world.up().size() > 4) {
    ASSERT_TRUE(world.leave_node(*owners.rbegin()));
    ASSERT_TRUE(world.run_until(std::chrono::minutes(10), [&] { return world.is_quiet(); }))
        << world.unrest();
    for (const std::size_t i : holders(world, "caturday")) {
      if (i != 0 && owners.insert(i).second) heir = i;
    }
    const std::vector<std::size_t> up = world.up();
    std::erase_if(owners, [&](std::size_t i) { return std::ranges::find(up, i) == up.end(); });
  }
  ASSERT_LT(heir, 8U);
  using Found = std::map<std::string, std::set<std::string>>;
  EXPECT_EQ(audit(world, 0, "caturday"), Found());
  const auto begun = world.history(heir, "caturday", 10)->back().published;
  const auto gone =
      world.await(world.history_store(heir).forget("caturday"_tag, 10, begun), std::chrono::seconds(10));
  ASSERT_TRUE(gone && *gone && **gone == 6);
  EXPECT_EQ(audit(world, 0, "caturday"),
            (Found{{"missing", {fmt::format("https://tags.n{}.example", heir)}}}));
}

}  // namespace
}  // namespace tagring::sim
