#include "followers/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tagring::followers {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;
using Ids = std::vector<std::string>;

const TimePoint kNow{hours(500'000)};
const Authority kOwn = *Authority::of("https://own.example");

std::string id(const std::string& name) { return "https://own.example/users/" + name; }

Knowledge knows(const Ids& accepted, const Ids& pending = {}) {
  Knowledge known;
  for (const std::string& follower : accepted) known.accepted.push_back({follower, kNow - hours(24)});
  known.pending = pending;
  return known;
}

Plan plan(const Knowledge& known, const Ids& listed, const Digest& digest, const PlanRules& rules = {}) {
  return make_plan(known, listed, digest, kOwn, kNow, rules);
}
// With the digest that fits.
Plan plan(const Knowledge& known, const Ids& listed) { return plan(known, listed, Digest::of(listed)); }

TEST(Knowledge, HasTheDigestOfWhatIsAccepted) {
  EXPECT_EQ(knows({}, {id("c")}).digest(), Digest());
  EXPECT_EQ(knows({id("b"), id("a"), id("a")}, {id("c")}).digest(), Digest::of(Ids{id("a"), id("b")}));
}

TEST(Plan, OfMastodonServiceSpecKeepsAliceRemovesBobAcceptsMalloryAndUndoesEve) {
  const Plan p =
      plan(knows({id("alice"), id("bob")}, {id("mallory")}), {id("alice"), id("eve"), id("mallory")});
  EXPECT_EQ(p.doubt, std::nullopt);
  EXPECT_THAT(p.remove, ElementsAre(id("bob")));
  EXPECT_THAT(p.accept, ElementsAre(id("mallory")));
  EXPECT_THAT(p.undo, ElementsAre(id("eve")));
}

TEST(Plan, OfMastodonServiceSpecWithAnotherDigestRemovesNobody) {
  const Plan p = plan(knows({id("alice"), id("bob")}, {id("mallory")}),
                      {id("alice"), id("eve"), id("mallory")}, Digest());
  EXPECT_EQ(p.doubt, Doubt::kOtherDigest);
  EXPECT_THAT(p.remove, IsEmpty());
  EXPECT_THAT(p.accept, ElementsAre(id("mallory")));
  EXPECT_THAT(p.undo, ElementsAre(id("eve")));
}

TEST(Plan, OfAListThatCouldNotBeReadChangesNothing) {
  const Plan p = make_plan(knows({id("alice")}, {id("mallory")}), std::nullopt, Digest(), kOwn, kNow);
  EXPECT_EQ(p.doubt, Doubt::kIncomplete);
  EXPECT_TRUE(p.empty());
}

TEST(Plan, OfEqualKnowledgeIsEmpty) {
  EXPECT_TRUE(plan(knows({id("alice"), id("bob")}), {id("bob"), id("alice")}).empty());
  EXPECT_TRUE(plan(knows({}), {}).empty());
}

TEST(Plan, OfTootikSyncTestRemovesTheFollowThatTheOtherSideForgot) {
  const Plan p = plan(knows({id("alice"), id("carol")}), {id("carol")});
  EXPECT_THAT(p.remove, ElementsAre(id("alice")));
}

TEST(Plan, OfTootikSyncTestUndoesTheFollowThatOnlyTheOtherSideKnows) {
  const Plan p = plan(knows({id("carol")}), {id("alice"), id("carol")});
  EXPECT_THAT(p.remove, IsEmpty());
  EXPECT_THAT(p.undo, ElementsAre(id("alice")));
}

TEST(Plan, OfFedifyWithoutItemsAndAZeroDigestRemovesEverybody) {
  const Plan p = plan(knows({id("bob"), id("alice")}), {}, Digest());
  EXPECT_THAT(p.remove, ElementsAre(id("alice"), id("bob")));
}

TEST(Plan, OfAnEmptyListUnderAnotherDigestRemovesNobody) {
  const Plan p = plan(knows({id("alice")}), {}, Digest::of(Ids{id("alice")}));
  EXPECT_EQ(p.doubt, Doubt::kOtherDigest);
  EXPECT_TRUE(p.empty());
}

TEST(Plan, OfTheFirstPageOfFedifyTakenForAllRemovesNobody) {
  const Plan p =
      plan(knows({id("a"), id("b"), id("c")}), {id("a")}, Digest::of(Ids{id("a"), id("b"), id("c")}));
  EXPECT_TRUE(p.empty());
}

TEST(Plan, OfSukhiFediWithADigestOfAJoinedListRemovesNobody) {
  // SHA-256 of the list, one id a line: 64 digits, but no XOR.
  Digest joined;
  joined.add(id("a") + '\n' + id("b"));
  const Plan p = plan(knows({id("a"), id("b"), id("c")}), {id("a"), id("b")}, joined);
  EXPECT_EQ(p.doubt, Doubt::kOtherDigest);
  EXPECT_TRUE(p.empty());
}

TEST(Plan, OfAListWithRepetitionsRemovesNobodyEvenIfTheDigestFits) {
  const Plan p = plan(knows({id("a"), id("b")}, {id("c")}), {id("a"), id("c"), id("c")},
                      Digest::of(Ids{id("a"), id("c")}));
  EXPECT_EQ(p.doubt, Doubt::kRepeated);
  EXPECT_THAT(p.remove, IsEmpty());
  EXPECT_THAT(p.accept, ElementsAre(id("c")));
}

TEST(Plan, OfTryGhostWithEntriesOfOtherServersRemovesNobodyAndLeavesThemAlone) {
  const Ids listed = {id("a"), "https://other.example/users/x", "https://own.example.evil.com/users/b"};
  const Plan p = plan(knows({id("a"), id("b")}), listed);
  EXPECT_EQ(p.doubt, Doubt::kForeign);
  EXPECT_TRUE(p.empty());
}

TEST(Plan, OfPixelfedWithAnIdThatIsNoActorOfOursRemovesNobody) {
  PlanRules rules;
  rules.is_own_actor = [](std::string_view actor) { return actor.starts_with("https://own.example/users/"); };
  const Ids listed = {id("a"), "https://own.example/@bob"};
  const Plan p = plan(knows({id("a"), id("bob")}), listed, Digest::of(listed), rules);
  EXPECT_EQ(p.doubt, Doubt::kForeign);
  EXPECT_TRUE(p.empty());
  EXPECT_THAT(plan(knows({id("a"), id("bob")}), {id("a")}, Digest::of(Ids{id("a")}), rules).remove,
              ElementsAre(id("bob")));
}

TEST(Plan, OfPixelfedKeepsAFollowOfAMinuteAgainstAnEmptyList) {
  Knowledge known;
  known.accepted = {{id("new"), kNow - minutes(1)}, {id("old"), kNow - minutes(11)}};
  const Plan p = plan(known, {});
  EXPECT_THAT(p.remove, ElementsAre(id("old")));
  EXPECT_EQ(p.too_young, 1U);
}

TEST(Plan, HasAGraceOfTenMinutesAndKeepsFollowsFromTheFuture) {
  Knowledge known;
  known.accepted = {{id("at"), kNow - minutes(10)},
                    {id("over"), kNow - minutes(10) - std::chrono::milliseconds(1)},
                    {id("future"), kNow + hours(1)}};
  const Plan p = plan(known, {});
  EXPECT_THAT(p.remove, ElementsAre(id("over")));
  EXPECT_EQ(p.too_young, 2U);
}

TEST(Plan, OfPixelfedUndoesAHundredAtMost) {
  Ids listed;
  for (int i = 0; i < 103; ++i) listed.push_back(id(std::to_string(1000 + i)));
  const Plan p = plan(knows({}), listed);
  EXPECT_EQ(p.undo.size(), 100U);
  EXPECT_EQ(p.undo.front(), listed.front());
  EXPECT_EQ(p.undo_later, 3U);
}

TEST(Plan, AcceptsWhatIsBothPendingAndListedOnce) {
  const Plan p = plan(knows({id("a")}, {id("a"), id("b"), id("c")}), {id("a"), id("b")});
  EXPECT_THAT(p.accept, ElementsAre(id("b")));
  EXPECT_THAT(p.undo, IsEmpty());
  EXPECT_THAT(p.remove, IsEmpty()) << "a pending follow that is not listed is still on its way";
}

TEST(Plan, OfMastodonCountsTheActorWithoutAPath) {
  const Plan p = plan(knows({"https://own.example"}), {"https://own.example"});
  EXPECT_EQ(p.doubt, std::nullopt);
  EXPECT_TRUE(p.empty());
}

}  // namespace
}  // namespace tagring::followers
