// Where this node and another owner differ about a post, its own server decides.
#include "storage/disputes.hpp"

#include <functional>
#include <utility>

#include "belief/servers.hpp"
#include "db_history/history_store.hpp"
#include "delivery/role_fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::storage {
namespace {

using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;

const std::string kB = "https://tags.b.example";
const std::string kC = "https://tags.c.example";
constexpr std::size_t kEnough = 2;  // sources of a new owner

HistoryEntry entry(bool removed = false) { return {"cats"_tag, kUri, kAuthor, kDate, removed}; }
HistoryEntry hearsay(HistoryEntry heard = entry()) {
  heard.changed = kBeforeAll;
  return heard;
}
HistoryEntry other(const std::string& name) {
  return {"cats"_tag, "https://post.example/" + name, kAuthor, kDate};
}
// Of one host.
std::vector<HistoryEntry> others(int first, int count) {
  std::vector<HistoryEntry> all;
  for (int n = first; n < first + count; ++n) all.push_back(other(std::to_string(n)));
  return all;
}

// Something happens while it is asked.
class SlowHistory final : public db_history::SqliteHistoryStore {
 public:
  using SqliteHistoryStore::SqliteHistoryStore;
  Task<Result<std::vector<WallTime>>> kept_from(std::vector<redundancy::Partition> partitions) override {
    meanwhile();
    co_return co_await SqliteHistoryStore::kept_from(std::move(partitions));
  }
  Task<Result<std::vector<std::optional<HistoryEntry>>>> find(
      std::vector<std::pair<redundancy::Partition, std::string>> posts) override {
    auto found = co_await SqliteHistoryStore::find(std::move(posts));
    if (found && !found->empty() && found->front()) co_await after_finding();
    co_return found;
  }
  std::function<void()> meanwhile = [] {};
  std::function<Task<void>()> after_finding = []() -> Task<void> { co_return; };
};

class DisputesTest : public RoleTest {
 protected:
  ~DisputesTest() override { finish(disputes.stop()); }
  void have(HistoryEntry own) { ASSERT_TRUE(run(stores->history.put({std::move(own)}))); }
  void hear(HistoryEntry theirs, const std::string& from = kB) { hear_all({std::move(theirs)}, from); }
  void hear_all(std::vector<HistoryEntry> theirs, const std::string& from = kB) {
    Disputes::Heard heard;
    ASSERT_TRUE(run(disputes.hear(std::move(theirs), from, &heard)));
  }
  void adopt(HistoryEntry theirs, const std::string& from) {
    ASSERT_TRUE(run(disputes.adopt({std::move(theirs)}, from, kEnough)));
  }
  void pass(Duration time) { loop.run_for(time); }
  std::vector<crypto::Hash256> corrected() {
    return run(stores->history.bucket("cats"_tag, hour_of(kDate), {}, 10))->corrected;
  }
  std::vector<HistoryEntry> all() { return run(stores->history.page("cats"_tag, {}, 400))->entries; }

  Servers servers;
  federation::SignedClient speaker{identity, servers, runtime};
  budget::Manager budget{budget::default_budgets(), clock};
  belief::OriginChecker origins{budget, speaker, runtime};
  SlowHistory history{*stores->database};
  Disputes disputes{history, origins, runtime};
};

TEST_F(DisputesTest, WhatBothHaveCostsNothing) {
  have(entry());
  hear(entry());
  pass(minutes(20));
  EXPECT_EQ(servers.asked_in_all(), 0);
}

TEST_F(DisputesTest, WhatServersOfOneDomainSayOfManyPostsLeavesRoomToOthers) {
  Disputes few{history, origins, runtime, 8};
  for (int n = 0; n < 20; ++n) {
    HistoryEntry living = other("living" + std::to_string(n));
    servers.publish(living.uri, kAuthor, "cats", kDate);
    have(living);
    living.removed = true;
    Disputes::Heard heard;
    ASSERT_TRUE(
        run(few.hear({std::move(living)}, "https://n" + std::to_string(n) + ".evil.example", &heard)));
  }
  EXPECT_EQ(few.open(), 4U);
  have(entry());
  Disputes::Heard heard;
  ASSERT_TRUE(run(few.hear({entry(/*removed=*/true)}, kC, &heard)));
  pass(minutes(1));
  EXPECT_THAT(all(), testing::Contains(entry(/*removed=*/true)));
  pass(minutes(60));
  EXPECT_EQ(few.open(), 0U);
  finish(few.stop());
}

TEST_F(DisputesTest, OfNothingTheDiskIsNotAsked) {
  int asked = 0;
  history.meanwhile = [&] { ++asked; };
  hear_all({});
  ASSERT_TRUE(run(disputes.adopt({}, Disputes::kNobody, kEnough)));
  EXPECT_EQ(asked, 0);
  hear(entry());
  EXPECT_EQ(asked, 1);
}

TEST_F(DisputesTest, ALivingPostIsNotRemovedByWhoSaysSo) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  have(entry());
  hear(entry(/*removed=*/true));
  pass(minutes(20));
  EXPECT_THAT(all(), ElementsAre(entry()));
  EXPECT_EQ(disputes.counters().upheld, 1U);
}

TEST_F(DisputesTest, ARemovedPostIsRemovedOnceItsServerHasNoneOfIt) {
  have(entry());
  hear(entry(/*removed=*/true));
  pass(minutes(1));
  EXPECT_THAT(all(), ElementsAre(entry(/*removed=*/true)));
}

HistoryEntry changed(WallTime at, bool removed) {
  HistoryEntry entry{"cats"_tag, kUri, kAuthor, kDate, removed};
  entry.changed = at;
  return entry;
}

TEST_F(DisputesTest, AHashtagThatWasPutBackComesBackOnceItsServerSaysSo) {
  servers.publish(kUri, kAuthor, "cats", kDate, kDate + minutes(2));
  have(changed(kDate + minutes(1), true));
  hear(changed(kDate + minutes(2), false));
  EXPECT_THAT(all(), ElementsAre(changed(kDate + minutes(1), true)));
  pass(minutes(1));
  EXPECT_THAT(all(), ElementsAre(changed(kDate + minutes(2), false)));
  hear(changed(kDate + minutes(1), true), kC);
  pass(minutes(20));
  EXPECT_THAT(all(), ElementsAre(changed(kDate + minutes(2), false)));
}

TEST_F(DisputesTest, WhatWasTakenOutStaysOutWhateverDateIsNamed) {
  servers.publish(kUri, kAuthor, "dogs", kDate, kDate + minutes(1));
  have(changed(kDate + minutes(1), true));
  hear(changed(kDate + minutes(2), false));
  pass(minutes(20));
  EXPECT_THAT(all(), ElementsAre(changed(kDate + minutes(1), true)));
  // Its server answers with what was before, and says so.
  servers.publish(kUri, kAuthor, "cats", kDate, kDate + Duration(1));
  hear(changed(kDate + minutes(3), false), kC);
  pass(minutes(20));
  EXPECT_THAT(all(), ElementsAre(changed(kDate + minutes(1), true)));
}

TEST_F(DisputesTest, AMissingPostIsTakenIfItsHostIsKnownToHaveSome) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  hear(entry());
  EXPECT_THAT(all(), IsEmpty()) << "anybody can name a host";
  pass(minutes(1));
  hear(entry());
  EXPECT_THAT(all(), ElementsAre(hearsay()));
}

TEST_F(DisputesTest, WhatAnotherOwnerSaysIsHearsayUntilItIsLookedAt) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  hear(entry());
  pass(minutes(1));
  hear(entry());
  EXPECT_THAT(all(), ElementsAre(hearsay()));
  pass(minutes(2));
  EXPECT_THAT(all(), ElementsAre(entry()));
}

TEST_F(DisputesTest, WhatWasOnlyHeardIsLookedAtAfterARestart) {
  servers.publish("https://post.example/there", kAuthor, "cats", kDate);
  adopt(other("there"), kB);
  adopt(entry(), kB);
  finish(disputes.stop());
  Disputes restarted{history, origins, runtime};
  ASSERT_TRUE(run(restarted.load()));
  EXPECT_EQ(restarted.open(), 2U);
  EXPECT_FALSE(restarted.is_given(hearsay())) << "whoever it was from";
  pass(minutes(15));
  EXPECT_THAT(all(), ElementsAre(other("there")));
  finish(restarted.stop());
}

TEST_F(DisputesTest, WhatEnoughGiveIsNoHearsay) {
  servers.publish("https://post.example/there", kAuthor, "cats", kDate);
  hear(other("there"));
  pass(minutes(1));
  adopt(entry(), kB);
  EXPECT_THAT(all(), ElementsAre(hearsay()));
  EXPECT_TRUE(disputes.is_given(hearsay()));
  adopt(entry(), kC);
  EXPECT_THAT(all(), ElementsAre(entry()));
}

TEST_F(DisputesTest, WhatItsServerCannotBeAskedForStaysAndIsNoHearsayInTheEnd) {
  servers.down = true;
  adopt(entry(), kB);
  pass(std::chrono::hours(12));
  EXPECT_THAT(all(), ElementsAre(hearsay()));
  pass(std::chrono::hours(72));
  EXPECT_THAT(all(), ElementsAre(entry()));
}

TEST_F(DisputesTest, WhoWasToldOfWhatNeverWasIsNotWrongAboutIt) {
  servers.publish("https://post.example/there", kAuthor, "cats", kDate);
  hear(other("there"));
  pass(minutes(1));
  for (int n = 0; n < 8; ++n) {
    HistoryEntry told = other(std::to_string(n));
    told.changed = kBeforeAll;
    hear(told, kB);
    hear(other(std::to_string(100 + n)), kC);
  }
  pass(minutes(30));
  EXPECT_FALSE(disputes.is_doubtful(kB));
  EXPECT_TRUE(disputes.is_doubtful(kC));
}

TEST_F(DisputesTest, OfAHostThatIsNotKnownAFewPostsAreLookedAtAndTheRestTakenTheNextTime) {
  std::vector<HistoryEntry> theirs;
  for (int n = 0; n < 9; ++n) {
    theirs.push_back(entry());
    theirs.back().uri = "https://post.example/" + std::to_string(n);
    servers.publish(theirs.back().uri, kAuthor, "cats", kDate);
  }
  hear_all(theirs);
  pass(minutes(1));
  EXPECT_EQ(servers.asked_in_all(), 3) << "two, and their author";
  EXPECT_THAT(all(), IsEmpty());
  hear_all(theirs);
  EXPECT_EQ(all().size(), 9U);
}

TEST_F(DisputesTest, WhatIsHeardInOneComparisonCountsTogetherHoweverManyAnswersItHas) {
  Disputes::Heard heard;
  constexpr int kMost = Disputes::kOfDoubtful;
  const auto hear_some = [&](int first, int count = 5) {
    std::vector<HistoryEntry> theirs;
    for (int n = first; n < first + count; ++n) {
      theirs.push_back(entry());
      theirs.back().uri = "https://post.example/" + std::to_string(n);
      servers.publish(theirs.back().uri, kAuthor, "cats", kDate);
    }
    return run(disputes.hear(std::move(theirs), kB, &heard));
  };
  ASSERT_TRUE(hear_some(0));
  ASSERT_TRUE(hear_some(5));
  pass(minutes(1));
  EXPECT_EQ(servers.asked_in_all(), 3) << "two of a host that is not known, and their author";
  heard = {};
  for (int n = 0; n < 9; ++n) origins.standing().note(kB, "https://a.example/" + std::to_string(n), false);
  ASSERT_TRUE(hear_some(10, kMost - 3));
  EXPECT_FALSE(hear_some(7 + kMost)) << "so the comparison ends";
  EXPECT_EQ(all().size(), kMost);
  EXPECT_FALSE(hear_some(12 + kMost));
  EXPECT_EQ(all().size(), kMost);
}

TEST_F(DisputesTest, AHostThatHasNothingIsLeftAlone) {
  for (int n = 0; n < 60; ++n) {
    const HistoryEntry invented = other(std::to_string(n));
    hear(invented, "https://tags.n" + std::to_string(n) + ".example");
    pass(minutes(1));
  }
  EXPECT_LE(servers.asked_in_all(), 9);
  EXPECT_THAT(all(), IsEmpty());
}

TEST_F(DisputesTest, ANewOwnerKeepsNothingThatOneAloneSaysToBeWhereNothingIs) {
  for (int n = 0; n < 20; ++n) {
    const HistoryEntry invented = other(std::to_string(n));
    adopt(invented, "https://tags.n" + std::to_string(n) + ".example");
  }
  EXPECT_EQ(all().size(), 20U);
  pass(minutes(30));
  EXPECT_LE(servers.asked_in_all(), 4);
  EXPECT_THAT(all(), IsEmpty());
}

TEST_F(DisputesTest, APostThatNeverWasIsNotTaken) {
  hear(entry());
  pass(minutes(20));
  EXPECT_THAT(all(), IsEmpty());
}

TEST_F(DisputesTest, AnOwnerTakesNoMoreThanItCanLookAt) {
  const HistoryEntry known = other("known");
  servers.publish(known.uri, kAuthor, "cats", kDate);
  hear(known);
  pass(minutes(1));
  const std::vector<HistoryEntry> theirs = others(0, 2);
  Disputes small(history, origins, runtime, 1);
  Disputes::Heard heard;
  ASSERT_TRUE(run(small.hear(theirs, kB, &heard)));
  EXPECT_THAT(all(), ElementsAre(hearsay(theirs.front())));
  pass(minutes(20));
  EXPECT_THAT(all(), IsEmpty());
  // Nothing is lost by it.
  servers.publish(theirs.back().uri, kAuthor, "cats", kDate);
  ASSERT_TRUE(run(small.hear({theirs.back()}, kC, &heard)));
  pass(minutes(20));
  EXPECT_THAT(all(), ElementsAre(theirs.back()));
  finish(small.stop());
}

// The budget allows some four looks a minute.
TEST_F(DisputesTest, WhatItsServerCouldNotBeAskedForIsNoFactHoweverMuchItIs) {
  const HistoryEntry known = other("known");
  servers.publish(known.uri, kAuthor, "cats", kDate);
  hear(known);
  pass(minutes(1));
  const std::vector<HistoryEntry> invented = others(0, 300);
  hear_all(invented);
  EXPECT_EQ(run(stores->history.totals())->entries, 300U);
  pass(std::chrono::hours(72));
  EXPECT_EQ(run(stores->history.totals())->entries, 0U);
  EXPECT_EQ(disputes.open(), 0U);
}

TEST_F(DisputesTest, WhoInventsLeavesRoomForWhatOthersSay) {
  const HistoryEntry known = other("known");
  servers.publish(known.uri, kAuthor, "cats", kDate);
  hear(known);
  pass(minutes(1));
  const std::vector<HistoryEntry> invented = others(0, 100);
  Disputes small(history, origins, runtime, 100);
  Disputes::Heard heard;
  ASSERT_TRUE(run(small.hear(invented, kB, &heard)));
  EXPECT_EQ(small.open(), 50U) << "all that one alone may have";
  pass(minutes(3));
  EXPECT_EQ(small.open(), 0U);
  EXPECT_EQ(run(stores->history.totals())->entries, 0U);
  finish(small.stop());
}

TEST_F(DisputesTest, APostOfAnotherHashtagIsNotTaken) {
  servers.publish(kUri, kAuthor, "dogs", kDate);
  hear(entry());
  pass(minutes(20));
  EXPECT_THAT(all(), IsEmpty());
}

TEST_F(DisputesTest, TheDateIsThatOfThePost) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  HistoryEntry wrong = entry();
  wrong.published = WallTime(Duration(0));
  adopt(wrong, kB);
  pass(minutes(20));
  EXPECT_THAT(all(), ElementsAre(entry()));
}

TEST_F(DisputesTest, AWrongDateHereIsMended) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  HistoryEntry wrong = entry();
  wrong.published -= std::chrono::hours(5);
  have(wrong);
  hear(entry());
  pass(minutes(1));
  EXPECT_THAT(all(), ElementsAre(entry()));
  EXPECT_EQ(run(stores->history.totals())->entries, 1U);
}

TEST_F(DisputesTest, APostWhoseDateNobodyCanReadOrIsToComeKeepsTheOneThatItHas) {
  for (const std::string date : {"yesterday", "2999-01-01T00:00:00Z"}) {
    const HistoryEntry mine = other(date.substr(0, 4));
    servers.publish(mine.uri, kAuthor, "cats", kDate);
    servers.date(mine.uri, date);
    have(mine);
    HistoryEntry theirs = mine;
    theirs.published -= std::chrono::hours(1);
    for (const std::string& from : {kB, kC}) {
      hear(theirs, from);
      pass(minutes(20));
    }
    EXPECT_THAT(all(), testing::Contains(mine)) << date;
  }
  EXPECT_EQ(disputes.counters().corrected, 0U);
  EXPECT_EQ(disputes.counters().upheld, 4U);
}

TEST_F(DisputesTest, WhoNamesAnotherAuthorTakesNothingAway) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  for (const bool removed : {false, true}) {
    have(entry());
    HistoryEntry wrong = entry(removed);
    wrong.author += "0";
    hear(wrong);
    pass(minutes(20));
    EXPECT_THAT(all(), ElementsAre(entry()));
  }
}

TEST_F(DisputesTest, AWrongAuthorHereIsNoReasonToCallThePostRemoved) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  HistoryEntry wrong = entry();
  wrong.author += "0";
  have(wrong);
  hear(entry(/*removed=*/true));
  pass(minutes(20));
  EXPECT_THAT(all(), IsEmpty());
  hear(entry());
  pass(minutes(1));
  hear(entry());
  EXPECT_THAT(all(), ElementsAre(hearsay()));
}

TEST_F(DisputesTest, WhereTheServerIsDownEverybodyKeepsWhatTheyHave) {
  servers.down = true;
  have(entry());
  hear(entry(/*removed=*/true));
  pass(std::chrono::hours(1));
  EXPECT_THAT(all(), ElementsAre(entry()));
}

// Or one owner that lies would be believed of all posts of a server that shows this node nothing.
TEST_F(DisputesTest, WhatTheServerDoesNotShowToThisNodeIsKept) {
  servers.refusals[kUri] = 403;
  servers.refusals[kAuthor] = 403;
  have(entry());
  hear(entry(/*removed=*/true));
  HistoryEntry redated = entry();
  redated.uri += "0";
  servers.refusals[redated.uri] = 401;
  have(redated);
  redated.published += minutes(1);
  hear(redated);
  pass(std::chrono::hours(72));
  EXPECT_THAT(all(), testing::SizeIs(2));
  EXPECT_THAT(all(), testing::Each(testing::Field(&HistoryEntry::removed, false)));
}

// Relays brought it since it was heard, and were believed.
TEST_F(DisputesTest, WhatWasPromisedIsKeptThoughItWasHeardBeforeAndItsServerDoesNotShowIt) {
  servers.refusals[kUri] = 403;
  adopt(entry(), kB);
  disputes.promise({entry()});
  pass(std::chrono::hours(72));
  EXPECT_GT(servers.asked[kUri], 1);
  EXPECT_EQ(disputes.open(), 0U);
  EXPECT_THAT(all(), ElementsAre(entry()));
  EXPECT_THAT(corrected(), IsEmpty());
}

TEST_F(DisputesTest, TheSameDisputeIsLookedAtEverMoreSeldom) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  have(entry());
  for (int half_hour = 0; half_hour < 48; ++half_hour) {
    hear(entry(/*removed=*/true));
    pass(minutes(30));
  }
  EXPECT_LE(servers.asked_in_all(), 32) << "post and author, twice, some eight times a day";
  EXPECT_GE(servers.asked_in_all(), 4);
}

TEST_F(DisputesTest, WhatIsRemovedAfterALookIsRemovedBeforeLong) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  have(entry());
  hear(entry(/*removed=*/true));
  pass(minutes(8));
  EXPECT_THAT(all(), ElementsAre(entry()));
  servers.documents.erase(kUri);
  for (int minute = 0; minute < 15; ++minute) {
    hear(entry(/*removed=*/true));
    pass(minutes(1));
  }
  EXPECT_THAT(all(), ElementsAre(entry(/*removed=*/true)));
}

// That it was deleted is later than all that may have been looked at.
TEST_F(DisputesTest, WhatIsDeletedAfterALookAtAnEditIsRemovedAtOnce) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  have(entry());
  hear(changed(kDate + minutes(1), true));
  pass(minutes(8));
  EXPECT_THAT(all(), ElementsAre(entry()));
  servers.documents.erase(kUri);
  hear(entry(/*removed=*/true));
  pass(minutes(1));
  EXPECT_THAT(all(), ElementsAre(entry(/*removed=*/true)));
}

// Nor does a false deletion keep anything out that has a time.
TEST_F(DisputesTest, WhatIsTakenOutAfterALookAtADeletionIsTakenOutAtOnce) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  have(entry());
  hear(entry(/*removed=*/true));
  pass(minutes(8));
  ASSERT_THAT(all(), ElementsAre(entry()));
  servers.publish(kUri, kAuthor, "dogs", kDate, kDate + minutes(1));
  hear(changed(kDate + minutes(1), true), kC);
  pass(minutes(1));
  EXPECT_THAT(all(), ElementsAre(testing::Field(&HistoryEntry::removed, true)));
}

TEST_F(DisputesTest, WhatIsPutBackAfterALookAtADeletionComesBackAtOnce) {
  servers.publish(kUri, kAuthor, "dogs", kDate, kDate + minutes(1));
  have(entry());
  hear(entry(/*removed=*/true));
  pass(minutes(1));
  ASSERT_THAT(all(), ElementsAre(testing::Field(&HistoryEntry::removed, true)));
  servers.publish(kUri, kAuthor, "cats", kDate, kDate + minutes(2));
  hear(changed(kDate + minutes(2), false), kC);
  pass(minutes(1));
  EXPECT_THAT(all(), ElementsAre(changed(kDate + minutes(2), false)));
}

Task<void> hear_meanwhile(Disputes& disputes, HistoryEntry theirs, Disputes::Heard* heard) {
  std::vector<HistoryEntry> entries{std::move(theirs)};
  const Result<void> done = co_await disputes.hear(std::move(entries), kC, heard);
  EXPECT_TRUE(done);
}

// The answer may be from before.
TEST_F(DisputesTest, WhatIsSaidDuringALookIsLookedAtWhenItIsSaidAgain) {
  const HistoryEntry later = changed(kDate + minutes(2), true);
  servers.publish(kUri, kAuthor, "cats", kDate);
  have(entry());
  hear(changed(kDate + minutes(1), true));
  pass(minutes(1));
  Disputes::Heard heard;
  servers.pause = [&] { return hear_meanwhile(disputes, later, &heard); };
  pass(minutes(7));
  servers.pause = nullptr;
  ASSERT_EQ(servers.asked[kUri], 2);
  ASSERT_EQ(disputes.open(), 0U);
  ASSERT_THAT(all(), ElementsAre(entry()));
  servers.publish(kUri, kAuthor, "dogs", kDate, later.changed);
  hear(later, kC);
  pass(minutes(1));
  EXPECT_THAT(all(), ElementsAre(testing::Field(&HistoryEntry::removed, true)));
}

TEST_F(DisputesTest, ANewOwnerTakesWhatItIsGivenAtOnce) {
  adopt(entry(), kB);
  EXPECT_THAT(all(), ElementsAre(hearsay()));
}

TEST_F(DisputesTest, WhatTwoGaveANewOwnerCostsOneLookAtItsHost) {
  for (int n = 0; n < 9; ++n) {
    HistoryEntry given = entry();
    given.uri = "https://post.example/" + std::to_string(n);
    servers.publish(given.uri, kAuthor, "cats", kDate);
    adopt(given, kB);
    adopt(given, kC);
  }
  pass(minutes(30));
  EXPECT_EQ(all().size(), 9U);
  EXPECT_LE(servers.asked_in_all(), 2) << "a post and its author";
  HistoryEntry later = entry();
  later.uri = "https://post.example/later";
  adopt(later, kB);
  adopt(later, kC);
  pass(minutes(30));
  EXPECT_LE(servers.asked_in_all(), 2) << "two say the same, of a host that is known";
  EXPECT_EQ(all().size(), 10U);
}

TEST_F(DisputesTest, WhatTwoLiarsGaveANewOwnerOfAHostThatHasNothingIsForgotten) {
  for (int n = 0; n < 9; ++n) {
    HistoryEntry invented = other(std::to_string(n));
    adopt(invented, kB);
    adopt(invented, kC);
    // Liars need not say the same: that they differ makes it no truer.
    invented.published += minutes(1);
    adopt(invented, "https://tags.d.example");
  }
  EXPECT_EQ(all().size(), 9U);
  pass(minutes(30));
  EXPECT_LE(servers.asked_in_all(), 4);
  EXPECT_THAT(all(), IsEmpty());
}

TEST_F(DisputesTest, WhatOneAloneGaveANewOwnerIsLookedAt) {
  adopt(entry(), kB);
  adopt(entry(), kB);
  pass(minutes(30));
  EXPECT_THAT(all(), IsEmpty());
}

TEST_F(DisputesTest, ANewOwnerThatWasToldOfARemovalRevivesThePostIfAnotherHasIt) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  adopt(entry(/*removed=*/true), kB);
  adopt(entry(), kC);
  pass(minutes(30));
  EXPECT_THAT(all(), ElementsAre(entry()));
}

HistoryEntry heard_removal() {
  HistoryEntry removal = entry(/*removed=*/true);
  removal.changed = kBeforeAll;
  return removal;
}

TEST_F(DisputesTest, ARemovalThatWasOnlyHeardIsNotFinalAfterARestart) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  adopt(entry(/*removed=*/true), kB);
  EXPECT_THAT(all(), ElementsAre(heard_removal()));
  finish(disputes.stop());
  Disputes restarted(history, origins, runtime);
  EXPECT_TRUE(all().front().is_hearsay());
  ASSERT_TRUE(run(restarted.adopt({entry()}, kC, kEnough)));
  pass(minutes(30));
  EXPECT_THAT(all(), ElementsAre(entry()));
  finish(restarted.stop());
}

TEST_F(DisputesTest, ARemovalThatWasOnlyHeardIsNotFinalWhereNoMoreCanBeOpen) {
  HistoryEntry other = entry();
  other.uri = "https://post.example/other";
  servers.publish(kUri, kAuthor, "cats", kDate);
  servers.publish(other.uri, kAuthor, "cats", kDate);
  Disputes small(history, origins, runtime, 1);
  ASSERT_TRUE(run(small.adopt({other, entry(/*removed=*/true)}, kB, kEnough)));
  pass(minutes(30));
  ASSERT_TRUE(run(small.adopt({entry()}, kC, kEnough)));
  pass(minutes(30));
  EXPECT_THAT(all(), testing::UnorderedElementsAre(other, entry()));
  finish(small.stop());
}

TEST_F(DisputesTest, ARemovalThatWasOnlyHeardYieldsToWhoSpeaksForThePost) {
  servers.down = true;
  adopt(entry(/*removed=*/true), kB);
  pass(std::chrono::hours(72));
  EXPECT_EQ(disputes.open(), 0U);
  have(entry());
  EXPECT_THAT(all(), ElementsAre(entry()));
}

TEST_F(DisputesTest, WhatIsBorneOutToBeRemovedIsSoWhateverTimeWasHeardOfThePost) {
  servers.publish(kUri, kAuthor, "dogs", kDate, kDate + minutes(1));
  const HistoryEntry taken_out = changed(kDate + minutes(1), true);
  const HistoryEntry put_back = changed(kDate + minutes(2), false);
  for (const bool is_liar_first : {false, true}) {
    ASSERT_TRUE(run(stores->history.correct("cats"_tag, kUri, std::nullopt, /*promised=*/false)));
    adopt(is_liar_first ? put_back : taken_out, kB);
    adopt(is_liar_first ? taken_out : put_back, kC);
    EXPECT_THAT(all(), ElementsAre(hearsay()));
    pass(std::chrono::hours(1));
    EXPECT_THAT(all(), ElementsAre(testing::AllOf(
                           testing::Field(&HistoryEntry::removed, true),
                           testing::Field(&HistoryEntry::changed, testing::Lt(put_back.changed)))));
  }
}

TEST_F(DisputesTest, ARemovalThatWasOnlyHeardKeepsNothingOutThoughItsServerIsGone) {
  servers.down = true;
  adopt(entry(/*removed=*/true), kB);
  adopt(entry(), kC);
  EXPECT_THAT(all(), ElementsAre(hearsay()));
  adopt(entry(/*removed=*/true), kB);
  pass(std::chrono::hours(72));
  EXPECT_EQ(disputes.open(), 0U);
  EXPECT_THAT(all(), ElementsAre(entry()));
}

TEST_F(DisputesTest, ARemovalThatWasOnlyHeardKeepsNothingOutOfAKnownHostThatAnotherOneHas) {
  const HistoryEntry seen = other("seen");
  servers.publish(seen.uri, kAuthor, "cats", kDate);
  ASSERT_TRUE(run(origins.ask_of_post({"cats"_tag, seen.uri, kAuthor, false, kDate})));
  hear(entry(/*removed=*/true));
  EXPECT_THAT(all(), ElementsAre(heard_removal()));
  servers.down = true;
  hear(entry(), kC);
  pass(std::chrono::hours(72));
  EXPECT_THAT(all(), ElementsAre(entry()));
}

TEST_F(DisputesTest, AHeardRemovalIsFinalOnceItIsBorneOutOrEnoughGaveIt) {
  adopt(entry(/*removed=*/true), kB);
  pass(minutes(30));
  EXPECT_THAT(all(), ElementsAre(entry(/*removed=*/true)));
  HistoryEntry other = entry();
  other.uri = "https://post.example/other";
  servers.publish(other.uri, kAuthor, "cats", kDate);
  pass(std::chrono::hours(2));
  adopt(other, kB);
  pass(minutes(30));
  HistoryEntry given = entry(/*removed=*/true);
  given.uri = "https://post.example/given";
  adopt(given, kB);
  adopt(given, kC);
  EXPECT_THAT(all(), testing::UnorderedElementsAre(entry(/*removed=*/true), other, given));
}

TEST_F(DisputesTest, WhatAnotherOneHasOnlyHeardTakesNothingAway) {
  have(entry());
  hear(heard_removal());
  pass(minutes(30));
  EXPECT_EQ(disputes.counters().raised, 0U);
  EXPECT_THAT(all(), ElementsAre(entry()));
}

TEST_F(DisputesTest, WhatSomebodyHeardFirstIsFinalOnceEnoughGaveIt) {
  const HistoryEntry removal = changed(kDate + minutes(1), true);
  ASSERT_TRUE(run(disputes.adopt({heard_removal()}, Disputes::kNobody, kEnough)));
  adopt(removal, kB);
  adopt(removal, kC);  // nothing was seen at its host yet
  const HistoryEntry seen = other("seen");
  servers.publish(seen.uri, kAuthor, "cats", kDate);
  adopt(seen, kB);
  pass(minutes(30));
  EXPECT_THAT(all(), testing::Contains(removal));
}

TEST_F(DisputesTest, WhoHasOnlyHeardOfARemovalIsNoSourceOfIt) {
  const HistoryEntry removal = changed(kDate + minutes(1), true);
  const HistoryEntry seen = other("seen");
  servers.publish(seen.uri, kAuthor, "cats", kDate);
  ASSERT_TRUE(run(origins.ask_of_post({"cats"_tag, seen.uri, kAuthor, false, kDate})));
  const auto adopt_of_three = [&](const std::string& from) {
    ASSERT_TRUE(run(disputes.adopt({removal}, from, 3)));
  };
  adopt_of_three(kB);
  hear(heard_removal(), kC);
  adopt_of_three("https://tags.d.example");
  EXPECT_EQ(disputes.open(), 1U) << "two of three";
  adopt_of_three("https://tags.e.example");
  EXPECT_EQ(disputes.open(), 0U);
  EXPECT_THAT(all(), ElementsAre(removal)) << "with its time";
}

// Else that one's post would be the truth here without anybody having looked.
TEST_F(DisputesTest, ARemovalThatEnoughGaveIsLookedAtIfAnotherOneHasThePost) {
  adopt(entry(/*removed=*/true), kB);
  adopt(entry(/*removed=*/true), kC);  // nothing was seen at its host yet
  adopt(entry(), "https://tags.d.example");
  const HistoryEntry seen = other("seen");
  servers.publish(seen.uri, kAuthor, "cats", kDate);
  ASSERT_TRUE(run(origins.ask_of_post({"cats"_tag, seen.uri, kAuthor, false, kDate})));
  pass(minutes(30));
  EXPECT_TRUE(servers.asked.contains(kUri));
  EXPECT_THAT(all(), ElementsAre(entry(/*removed=*/true)));
}

// Else a single liar would keep out for ever what its author puts back.
TEST_F(DisputesTest, OfARemovalThatEnoughGaveTheEarliestTimeCounts) {
  const WallTime at = kDate + minutes(1);
  const auto removal = [](const std::string& name, WallTime changed) {
    HistoryEntry removal = other(name);
    removal.removed = true;
    removal.changed = changed;
    return removal;
  };
  const auto give = [&](const std::string& name, WallTime first, WallTime second) {
    adopt(removal(name, first), kB);
    adopt(removal(name, second), kC);
  };
  give("1", at, {});
  give("2", {}, at);
  const HistoryEntry seen = other("seen");
  servers.publish(seen.uri, kAuthor, "cats", kDate);
  ASSERT_TRUE(run(origins.ask_of_post({"cats"_tag, seen.uri, kAuthor, false, kDate})));
  give("3", at, {});
  give("4", {}, at);
  pass(minutes(30));
  EXPECT_FALSE(servers.asked.contains(other("1").uri)) << "two gave it, and its host is known";
  EXPECT_THAT(all(), testing::UnorderedElementsAre(removal("1", at), removal("2", at), removal("3", at),
                                                   removal("4", at)));
  HistoryEntry put_back = other("4");
  put_back.changed = at + minutes(1);
  have(put_back);
  EXPECT_THAT(all(), testing::Contains(put_back));
}

// Its server answers from a cache first, and what it says then is no deletion.
TEST_F(DisputesTest, AHashtagThatWasTakenOutMayComeBackWhoeverSaidThatItWasForEver) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  have(entry());
  hear(entry(/*removed=*/true));
  pass(minutes(1));
  servers.publish(kUri, kAuthor, "dogs", kDate);
  pass(minutes(20));
  ASSERT_THAT(all(), ElementsAre(testing::Field(&HistoryEntry::removed, true)));
  have(changed(clock.wall_now(), false));
  EXPECT_THAT(all(), ElementsAre(testing::Field(&HistoryEntry::removed, false)));
}

TEST_F(DisputesTest, AHeardRemovalThatNamesAnotherAuthorIsForgotten) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  HistoryEntry wrong = entry(/*removed=*/true);
  wrong.author += "0";
  adopt(wrong, kB);
  pass(minutes(30));
  EXPECT_THAT(all(), IsEmpty());
}

TEST_F(DisputesTest, ARemovalThatThisNodeBelievedIsFinal) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  have(entry(/*removed=*/true));
  hear(entry());
  adopt(entry(), kC);
  pass(minutes(30));
  EXPECT_THAT(all(), ElementsAre(entry(/*removed=*/true)));
}

// What its server answers may be from before the removal.
TEST_F(DisputesTest, ARemovalThatIsToldAfterAPostWasHeardIsFinal) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  adopt(entry(), kB);
  pass(minutes(9));
  have(entry(/*removed=*/true));
  pass(minutes(30));
  EXPECT_THAT(all(), ElementsAre(entry(/*removed=*/true)));
  HistoryEntry post = other("other");
  servers.publish(post.uri, kAuthor, "cats", kDate);
  hear(post);
  post.removed = true;
  have(post);
  pass(minutes(30));
  EXPECT_THAT(all(), testing::UnorderedElementsAre(entry(/*removed=*/true), post));
}

Task<void> once(std::function<void()>* what) {
  if (*what) std::exchange(*what, nullptr)();
  co_return;
}

TEST_F(DisputesTest, ARemovalThatIsBeingWrittenWhileAPostIsSetRightIsFinal) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  HistoryEntry wrong = entry();
  wrong.published -= minutes(1);
  adopt(wrong, kB);
  std::function<void()> tell = [this] { disputes.promise({entry(/*removed=*/true)}); };
  history.after_finding = [&] { return once(&tell); };
  pass(minutes(30));
  EXPECT_THAT(all(), ElementsAre(hearsay(wrong))) << "what is told comes to the disk in its turn";
  EXPECT_FALSE(tell);
}

TEST_F(DisputesTest, WhatTheDiskDidNotTakeIsSetRightLater) {
  const auto execute = [&](const char* sql) {
    return run(stores->database->write([sql](sql::Connection& db) { return db.execute(sql); }));
  };
  ASSERT_TRUE(execute("CREATE TRIGGER refuse BEFORE UPDATE ON history BEGIN SELECT RAISE(ABORT, 'no'); END"));
  have(entry());
  hear(entry(/*removed=*/true));
  pass(minutes(1));
  EXPECT_THAT(all(), ElementsAre(entry()));
  EXPECT_EQ(disputes.open(), 1U);
  ASSERT_TRUE(execute("DROP TRIGGER refuse"));
  pass(minutes(2));
  EXPECT_THAT(all(), ElementsAre(entry(/*removed=*/true)));
  EXPECT_EQ(disputes.open(), 0U);
}

// Its server says one thing to those who sign that they took a post, and another one later: these must not be
// proved to have dropped it.
TEST_F(DisputesTest, WhatThisNodeTookAndCorrectsLeavesItsNameInTheHour) {
  HistoryEntry other = entry();
  other.published += std::chrono::hours(5);
  have(entry());
  hear(other);
  pass(minutes(1));
  EXPECT_THAT(all(), IsEmpty());
  EXPECT_THAT(corrected(), ElementsAre(post_id(kUri)));
}

TEST_F(DisputesTest, WhatThisNodeHasOnlyHeardLeavesNothingUnlessItWasPromised) {
  for (const bool promised : {false, true}) {
    adopt(entry(), kB);
    if (promised) disputes.promise({entry()});
    pass(minutes(30));
    EXPECT_THAT(all(), IsEmpty());
    EXPECT_EQ(corrected().size(), promised ? 1U : 0U);
  }
}

// Else the owner of the post's server could have this node sign what it then takes for hearsay.
TEST_F(DisputesTest, WhatIsPromisedWhileItIsBeingHeardIsPromised) {
  history.meanwhile = [this] { disputes.promise({entry()}); };
  adopt(entry(), kB);
  history.meanwhile = [] {};
  pass(minutes(30));
  EXPECT_THAT(all(), IsEmpty());
  EXPECT_THAT(corrected(), ElementsAre(post_id(kUri)));
}

TEST_F(DisputesTest, WhatWasDroppedMeanwhileIsNotPutBack) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  adopt(entry(), kB);
  ASSERT_TRUE(run(stores->history.forget("cats"_tag, 10, clock.wall_now())));
  pass(minutes(30));
  EXPECT_THAT(all(), IsEmpty());
}

TEST_F(DisputesTest, WhatWasLetGoIsNotLookedAtWhoeverHasIt) {
  HistoryEntry old = entry();
  old.uri = "https://post.example/old";
  old.published -= std::chrono::hours(1);
  servers.publish(kUri, kAuthor, "cats", kDate);
  servers.publish(old.uri, kAuthor, "cats", old.published);
  have(old);
  have(entry());
  ASSERT_TRUE(run(stores->history.let_go("cats"_tag, 1, WallTime::max())));
  for (const bool removed : {false, true}) {
    old.removed = removed;
    hear(old);
    adopt(old, kC);
    pass(minutes(20));
  }
  EXPECT_EQ(servers.asked_in_all(), 0);
  EXPECT_EQ(disputes.counters().raised, 0U);
  // What is kept is, whatever date others have.
  HistoryEntry wrong = entry(/*removed=*/true);
  wrong.published = old.published;
  hear(wrong);
  EXPECT_EQ(disputes.open(), 1U);
}

Task<void> an_hour_once(Clock& clock, bool* is_first) {
  if (std::exchange(*is_first, false)) co_await clock.sleep_until(clock.now() + std::chrono::hours(1));
}

TEST_F(DisputesTest, AServerThatIsSlowHoldsUpNothingOfOthers) {
  HistoryEntry slow = entry();
  slow.uri = "https://slow.example/1";
  slow.author = "https://slow.example/u";
  HistoryEntry slow_too = slow;
  slow_too.uri = "https://slow.example/2";
  bool is_first = true;
  servers.pause = [&] { return an_hour_once(clock, &is_first); };
  for (HistoryEntry one : {slow, slow_too, entry()}) {
    have(one);
    one.removed = true;
    hear(one);
  }
  pass(minutes(1));
  EXPECT_THAT(all(), testing::UnorderedElementsAre(slow, slow_too, entry(/*removed=*/true)));
  EXPECT_TRUE(servers.asked.contains(slow.uri));
  EXPECT_FALSE(servers.asked.contains(slow_too.uri)) << "nor is any asked for two things at once";
}

TEST_F(DisputesTest, WhatItsAuthorDoesNotWishToBeFoundIsNotKeptOnAnOwnersWord) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  servers.join(kAuthor, /*indexable=*/false, "");
  adopt(entry(), kB);
  pass(minutes(30));
  EXPECT_THAT(all(), IsEmpty());
}

}  // namespace
}  // namespace tagring::storage
