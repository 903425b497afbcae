// Where this node and another owner differ about a post, its own server decides.
#include "storage/disputes.hpp"

#include <functional>

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

HistoryEntry entry(bool removed = false) { return {"cats"_tag, kUri, kAuthor, kDate, removed}; }

// Something happens while it is asked.
class SlowHistory final : public db_history::SqliteHistoryStore {
 public:
  using SqliteHistoryStore::SqliteHistoryStore;
  Task<Result<std::vector<WallTime>>> kept_from(std::vector<redundancy::Partition> partitions) override {
    meanwhile();
    co_return co_await SqliteHistoryStore::kept_from(std::move(partitions));
  }
  std::function<void()> meanwhile = [] {};
};

class DisputesTest : public RoleTest {
 protected:
  ~DisputesTest() override { finish(disputes.stop()); }
  void have(HistoryEntry own) { ASSERT_TRUE(run(stores->history.put({std::move(own)}))); }
  void hear(HistoryEntry theirs, const std::string& from = kB) {
    ASSERT_TRUE(run(disputes.hear({std::move(theirs)}, from)));
  }
  void adopt(HistoryEntry theirs, const std::string& from) {
    ASSERT_TRUE(run(disputes.adopt({std::move(theirs)}, from)));
  }
  void pass(Duration time) { loop.run_for(time); }
  std::vector<crypto::Hash256> corrected() {
    return run(stores->history.bucket("cats"_tag, hour_of(kDate), {}, 10))->corrected;
  }
  std::vector<HistoryEntry> all() { return run(stores->history.page("cats"_tag, {}, 10))->entries; }

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
  EXPECT_THAT(all(), ElementsAre(entry()));
}

TEST_F(DisputesTest, OfAHostThatIsNotKnownAFewPostsAreLookedAtAndTheRestTakenTheNextTime) {
  std::vector<HistoryEntry> theirs;
  for (int n = 0; n < 9; ++n) {
    theirs.push_back(entry());
    theirs.back().uri = "https://post.example/" + std::to_string(n);
    servers.publish(theirs.back().uri, kAuthor, "cats", kDate);
  }
  ASSERT_TRUE(run(disputes.hear(theirs, kB)));
  pass(minutes(1));
  EXPECT_EQ(servers.asked_in_all(), 3) << "two, and their author";
  EXPECT_THAT(all(), IsEmpty());
  ASSERT_TRUE(run(disputes.hear(theirs, kB)));
  EXPECT_EQ(all().size(), 9U);
}

TEST_F(DisputesTest, AHostThatHasNothingIsLeftAlone) {
  for (int n = 0; n < 60; ++n) {
    HistoryEntry invented = entry();
    invented.uri = "https://post.example/" + std::to_string(n);
    hear(invented, "https://tags.n" + std::to_string(n) + ".example");
    pass(minutes(1));
  }
  EXPECT_LE(servers.asked_in_all(), 9);
  EXPECT_THAT(all(), IsEmpty());
}

TEST_F(DisputesTest, ANewOwnerKeepsNothingThatOneAloneSaysToBeWhereNothingIs) {
  for (int n = 0; n < 20; ++n) {
    HistoryEntry invented = entry();
    invented.uri = "https://post.example/" + std::to_string(n);
    adopt(invented, "https://tags.n" + std::to_string(n) + ".example");
  }
  EXPECT_EQ(all().size(), 10U) << "a page of them";
  pass(minutes(30));
  EXPECT_LE(servers.asked_in_all(), 4);
  EXPECT_THAT(all(), IsEmpty());
}

TEST_F(DisputesTest, APostThatNeverWasIsNotTaken) {
  hear(entry());
  pass(minutes(20));
  EXPECT_THAT(all(), IsEmpty());
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
  EXPECT_THAT(all(), ElementsAre(entry()));
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

TEST_F(DisputesTest, ANewOwnerTakesWhatItIsGivenAtOnce) {
  adopt(entry(), kB);
  EXPECT_THAT(all(), ElementsAre(entry()));
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
    HistoryEntry invented = entry();
    invented.uri = "https://post.example/" + std::to_string(n);
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
  EXPECT_TRUE(restarted.is_hearsay(all().front()));
  ASSERT_TRUE(run(restarted.adopt({entry()}, kC)));
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
  ASSERT_TRUE(run(small.adopt({other, entry(/*removed=*/true)}, kB)));
  pass(minutes(30));
  ASSERT_TRUE(run(small.adopt({entry()}, kC)));
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

TEST_F(DisputesTest, WhatItsAuthorDoesNotWishToBeFoundIsNotKeptOnAnOwnersWord) {
  servers.publish(kUri, kAuthor, "cats", kDate);
  servers.join(kAuthor, /*indexable=*/false, "");
  adopt(entry(), kB);
  pass(minutes(30));
  EXPECT_THAT(all(), IsEmpty());
}

}  // namespace
}  // namespace tagring::storage
