// Whom owners and subscribers believe about posts of others.
#include "belief/post_checker.hpp"

#include <boost/asio/co_spawn.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/assert.hpp"
#include "belief/fixture.hpp"
#include "ring_sim/loop.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::belief {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kA = "https://tags.a.example";
const std::string kB = "https://tags.b.example";

TagEvent event(Op op = Op::kAdd, const std::string& uri = kUri) {
  return {"cats"_tag, op, uri, kAuthor, kDate, true};
}

class PostCheckerTest : public BeliefTest {
 protected:
  ~PostCheckerTest() override { loop.drop(kOwner); }

  // What a subscriber takes of what a relay announces; and why not the others.
  std::vector<TagEvent> taken(std::vector<TagEvent> events, const std::string& relay) {
    refusals.clear();
    const auto start = start_taking(std::move(events), relay);
    loop.run_for(std::chrono::seconds(30));
    TR_ASSERT(*start);
    return **start;
  }
  std::shared_ptr<std::optional<std::vector<TagEvent>>> start_taking(std::vector<TagEvent> events,
                                                                     const std::string& relay) {
    auto result = std::make_shared<std::optional<std::vector<TagEvent>>>();
    boost::asio::co_spawn(loop.executor(kOwner),
                          checker.corroborated(std::move(events), relay, relayed, &refusals),
                          [result](std::exception_ptr error, std::vector<TagEvent> believed) {
                            if (!error) result->emplace(std::move(believed));
                          });
    return result;
  }
  void is_often_wrong(const std::string& origin) {
    for (int i = 0; i < 3; ++i)
      origins.standing().note(origin, "https://wrong.example/" + std::to_string(i), /*right=*/false);
  }
  void publish(const std::string& uri = kUri) { servers.publish(uri, kAuthor, "cats", kDate); }

  federation::Blocks blocks;
  OriginChecker origins{budget, client, runtime};
  PostChecker checker{{}, identity, blocks, origins, runtime};
  PostChecker::Relayed relayed = {{"cats"_tag, redundancy::kBothHalves}};
  std::vector<Refusal> refusals;
};

TEST_F(PostCheckerTest, WhatTwoRelaysSayIsTakenWithoutAskingAnybody) {
  const auto of_a = start_taking({event()}, kA);
  const auto of_b = start_taking({event()}, kB);
  loop.run_for(std::chrono::seconds(2));
  EXPECT_THAT(of_a->value(), ElementsAre(event()));
  EXPECT_THAT(of_b->value(), ElementsAre(event()));
  EXPECT_EQ(servers.asked_in_all(), 0);
}

TEST_F(PostCheckerTest, OfTwoWhoAreNotSurelyRelaysNobodyIsAWitness) {
  relayed.clear();
  EXPECT_THAT(taken({event()}, kA), IsEmpty());
  EXPECT_THAT(taken({event()}, kB), IsEmpty());
}

TEST_F(PostCheckerTest, WhatOneRelaySaysIsTakenIfThePostBearsItOut) {
  publish();
  EXPECT_THAT(taken({event()}, kA), ElementsAre(event()));
  EXPECT_EQ(servers.asked[kUri], 1);
}

TEST_F(PostCheckerTest, APostThatNeverWasIsNotTakenFromOneRelayHoweverOften) {
  EXPECT_THAT(taken({event()}, kA), IsEmpty());
  EXPECT_EQ(refusals.front().error.code, ErrorCode::kNotFound);
  EXPECT_THAT(taken({event()}, kA), IsEmpty());
}

TEST_F(PostCheckerTest, WhatIsSaidToBeLaterThanThePostWasEditedIsTakenAsOfThen) {
  servers.publish(kUri, kAuthor, "cats", kDate, kDate + std::chrono::minutes(1));
  TagEvent back = event();
  back.changed = kDate + std::chrono::minutes(9);
  TagEvent expected = event();
  expected.changed = kDate + std::chrono::minutes(1) + Duration(999);  // servers name the second
  EXPECT_THAT(taken({back}, kA), ElementsAre(expected));
}

TEST_F(PostCheckerTest, APostThatIsThereWithoutTheHashtagHasNotLostItForEver) {
  servers.publish(kUri, kAuthor, "dogs", kDate, kDate + std::chrono::minutes(1));
  TagEvent expected = event(Op::kRemove);
  expected.changed = kDate + std::chrono::minutes(1) + Duration(999);
  EXPECT_THAT(taken({event(Op::kRemove)}, kA), ElementsAre(expected));
}

TEST_F(PostCheckerTest, AServerThatNamesNoTimeBearsOutNothingThatIsNewerThanItsAnswer) {
  publish();
  TagEvent back = event();
  back.changed = clock.wall_now() + std::chrono::minutes(4);
  const WallTime before = clock.wall_now();
  const std::vector<TagEvent> believed = taken({back}, kA);
  ASSERT_THAT(believed, SizeIs(1));
  EXPECT_GE(believed.front().changed, before);
  EXPECT_LT(believed.front().changed, before + std::chrono::minutes(1));
  servers.cache_control = "max-age=180";
  back.changed = clock.wall_now();
  EXPECT_LT(taken({back}, kA).front().changed, back.changed - std::chrono::minutes(1));
}

TEST_F(PostCheckerTest, ALivingPostIsNotRemovedByOneRelay) {
  publish();
  EXPECT_THAT(taken({event(Op::kRemove)}, kA), IsEmpty());
  EXPECT_EQ(refusals.front().error.message, "the post still carries the tag");
}

// While the first one said so, who does not lie stood opposite to it.
TEST_F(PostCheckerTest, ALivingPostIsNotRemovedByTwoRelaysOneAfterTheOther) {
  publish();
  EXPECT_THAT(taken({event(Op::kRemove)}, kA), IsEmpty());
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(taken({event(Op::kRemove)}, kB), IsEmpty());
}

// Who hands on what it was only told, since it lost its place, may be one of several whom one liar told so.
TEST_F(PostCheckerTest, OfARemovalThatTwoRelaysHaveOnlyHeardThePostsServerIsAsked) {
  publish();
  TagEvent heard = event(Op::kRemove);
  heard.changed = kBeforeAll;
  const auto of_a = start_taking({heard}, kA);
  const auto of_b = start_taking({heard}, kB);
  loop.run_for(std::chrono::seconds(30));
  EXPECT_THAT(of_a->value(), IsEmpty());
  EXPECT_THAT(of_b->value(), IsEmpty());
  servers.documents.erase(kUri);
  loop.run_for(std::chrono::minutes(4));  // profiles are remembered
  EXPECT_THAT(taken({heard}, kA), ElementsAre(event(Op::kRemove))) << "as its server has it, for ever";
}

// Its author may have blocked that node, say.
TEST_F(PostCheckerTest, WhoWithdrawsWhatIsThereIsNotBelievedNorTakenForALiar) {
  const auto remove_three = [&](WallTime changed) {
    for (int i = 0; i < 3; ++i) {
      loop.run_for(std::chrono::minutes(4));  // profiles are remembered
      const std::string uri = "https://post.example/" + std::to_string(i);
      publish(uri);
      TagEvent removal = event(Op::kRemove, uri);
      removal.changed = changed;
      EXPECT_THAT(taken({removal}, kA), IsEmpty());
    }
    return origins.standing().is_doubtful(kA);
  };
  EXPECT_FALSE(remove_three(kDate + std::chrono::seconds(1)));
  EXPECT_TRUE(remove_three({})) << "that they were deleted is a lie";
}

TEST_F(PostCheckerTest, NorIsOneWhoseRemovalsWereNotDecidedFor) {
  std::vector<TagEvent> removals;
  for (int i = 0; i < 4; ++i) {
    removals.push_back(event(Op::kRemove, "https://post.example/" + std::to_string(i)));
    removals.back().changed = kDate + std::chrono::seconds(1);
    publish(removals.back().uri);
  }
  EXPECT_THAT(taken({removals.front()}, kA), IsEmpty());
  removals.erase(removals.begin());
  EXPECT_THAT(taken(removals, kA), IsEmpty());
  EXPECT_EQ(refusals.front().error.code, ErrorCode::kBusy) << "the profile is from before";
  loop.run_for(std::chrono::minutes(31));
  EXPECT_THAT(taken({event()}, kB), SizeIs(1));
  EXPECT_FALSE(origins.standing().is_doubtful(kA));
}

TEST_F(PostCheckerTest, APostThatIsGoneIsRemoved) { EXPECT_THAT(taken({event(Op::kRemove)}, kA), SizeIs(1)); }

TEST_F(PostCheckerTest, APostWhoseAuthorWithdrewConsentIsRemovedAlthoughItIsThere) {
  publish();
  servers.join(kAuthor, /*indexable=*/true, "#nobot");
  EXPECT_THAT(taken({event(Op::kRemove)}, kA), SizeIs(1));
}

// Most authors never say `indexable`: anybody could have all that they write taken back.
TEST_F(PostCheckerTest, WhoDoesNotWishToBeFoundInTheArchiveIsRelayedAllTheSame) {
  publish();
  servers.join(kAuthor, /*indexable=*/false);
  EXPECT_THAT(taken({event(Op::kRemove)}, kA), IsEmpty());
}

// A relay of all hashtags, which looks at each post that its sender vouches for.
class Relay : public PostChecker::Owner {
 public:
  [[nodiscard]] Result<void> check_place(const TagEvent&) const override { return {}; }
  [[nodiscard]] Task<redundancy::RelayHalves> witness(Tag, std::string,
                                                      std::optional<redundancy::RelayClaim>) override {
    co_return redundancy::RelayHalves{};
  }
  void mistaken_for_owner(const Tag&, const std::string&) override {}
  [[nodiscard]] bool samples() const override { return true; }
  [[nodiscard]] bool is_archive() const override { return false; }
};

class Looking : public PostCheckerTest {
 protected:
  // Of the server of the post itself.
  bool takes_own(const TagEvent& event) {
    std::optional<std::size_t> count;
    boost::asio::co_spawn(
        loop.executor(kOwner), looks.believable(relay, {event}, origin_of(kUri), {}, &refusals),
        [&](std::exception_ptr, const std::vector<TagEvent>& events) { count = events.size(); });
    loop.run_for(std::chrono::minutes(2));
    return count == 1U;
  }

  PostChecker looks{{.check_share = 1}, identity, blocks, origins, runtime};
  Relay relay;
};

TEST_F(Looking, WhoWithdrawsItsOwnPostThatIsThereIsBelievedStill) {
  for (const std::string& uri : {kUri, kUri + "1"}) {
    publish(uri);
    TagEvent removal = event(Op::kRemove, uri);
    removal.changed = kDate + std::chrono::seconds(1);
    EXPECT_TRUE(takes_own(removal));
  }
}

TEST_F(Looking, WhoWasOnlyToldThatItsOwnPostIsRemovedIsNotBelieved) {
  publish();
  TagEvent heard = event(Op::kRemove);
  heard.changed = kBeforeAll;
  EXPECT_FALSE(takes_own(heard));
}

TEST_F(Looking, WhoWasWrongAboutItsOwnPostIsBelievedAgainADayLater) {
  const auto takes = [&](const std::string& uri) {
    servers.publish(uri, kAuthor, "dogs", kDate);  // which is not what its sender says
    return takes_own(event(Op::kAdd, uri));
  };
  EXPECT_TRUE(takes(kUri));
  EXPECT_FALSE(takes(kUri + "1"));
  loop.run_for(std::chrono::hours(23));
  EXPECT_FALSE(takes(kUri + "2"));
  loop.run_for(std::chrono::hours(1));
  EXPECT_TRUE(takes(kUri + "3"));
}

TEST_F(PostCheckerTest, TheDateIsThatOfThePostNotOfWhoTellsOfIt) {
  publish();
  TagEvent told = event();
  told.published -= std::chrono::hours(24 * 365);
  EXPECT_THAT(taken({told}, kA), ElementsAre(event()));
}

TEST_F(PostCheckerTest, TheDateThatIsToldStaysWhereThePostHasNoneThatCanBe) {
  publish();
  servers.date(kUri, "2999-01-01T00:00:00Z");
  EXPECT_THAT(taken({event()}, kA), ElementsAre(event()));
}

TEST_F(PostCheckerTest, ARelayIsBelievedAboutPostsOfItsOwnHost) {
  TagEvent own = event(Op::kAdd, "https://a.example/1");
  own.author = "https://a.example/u";
  EXPECT_THAT(taken({own}, kA), ElementsAre(own));
  EXPECT_EQ(servers.asked_in_all(), 0);
}

TEST_F(PostCheckerTest, OnePostSaidAgainAndAgainMakesUpForNoLies) {
  publish();
  EXPECT_THAT(taken(std::vector<TagEvent>(500, event()), kA), SizeIs(500));
  is_often_wrong(kA);
  EXPECT_TRUE(origins.standing().is_doubtful(kA));
}

TEST_F(PostCheckerTest, ThatAnAuthorDoesNotWishItIsNotHeldAgainstTheRelay) {
  publish();
  servers.join(kAuthor, /*indexable=*/true, "#nobot");
  EXPECT_THAT(taken({event()}, kA), IsEmpty());
  EXPECT_EQ(refusals.front().error.code, ErrorCode::kInvalid) << "a denial would end the subscription";
}

TEST_F(PostCheckerTest, ForWhoIsOftenWrongServersWhereNothingWasSeenAreAskedOnceAMinute) {
  is_often_wrong(kA);
  EXPECT_TRUE(origins.standing().may_name_stranger(kA, "elsewhere.example"));  // its turn of this minute
  EXPECT_THAT(taken({event()}, kA), IsEmpty());
  EXPECT_EQ(refusals.front().error.code, ErrorCode::kBusy);
  EXPECT_EQ(servers.asked_in_all(), 0);
  publish("https://post.example/2");
  EXPECT_THAT(taken({event(Op::kAdd, "https://post.example/2")}, kB), SizeIs(1));
  EXPECT_THAT(taken({event()}, kA), IsEmpty());
  EXPECT_EQ(servers.asked[kUri], 1) << "people publish there";
}

TEST_F(PostCheckerTest, WhatWhoIsOftenWrongOwesOfAServerThatNobodyNamedYetIsTakenWhenItComesAgain) {
  is_often_wrong(kA);
  EXPECT_TRUE(origins.standing().may_name_stranger(kA, "elsewhere.example"));
  publish();
  EXPECT_THAT(taken({event()}, kA), IsEmpty());
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(taken({event()}, kA), SizeIs(1));
}

TEST_F(PostCheckerTest, WhoNamesPostsAtServersThatDoNotAnswerLeavesChecksForOthers) {
  servers.down = true;
  for (int batch = 0; batch < 10; ++batch) {
    std::vector<TagEvent> invented;
    for (int i = 0; i < 50; ++i) {
      const std::string host = fmt::format("https://n{}.invalid", batch * 50 + i);
      invented.push_back(event(Op::kAdd, host + "/1"));
      invented.back().author = host + "/u";
    }
    start_taking(std::move(invented), kA);
  }
  loop.run_for(std::chrono::seconds(10));
  EXPECT_LE(servers.asked_in_all(), 2 * 60);
  servers.down = false;
  publish();
  EXPECT_THAT(taken({event()}, kB), SizeIs(1));
}

// A server that refuses is asked with each form of signature.
TEST_F(PostCheckerTest, EachRequestThatALookTakesCountsForTheHost) {
  std::vector<TagEvent> invented;
  for (int i = 0; i < 20; ++i) {
    invented.push_back(event(Op::kAdd, fmt::format("https://post.example/?{}", i)));
    servers.refusals[invented.back().uri] = 401;
  }
  EXPECT_THAT(taken(invented, kA), IsEmpty());
  EXPECT_LE(servers.asked_in_all(), 4);
}

TEST_F(PostCheckerTest, WhoNamesPostsThatAreThereMayNameAsManyAsThereAre) {
  std::vector<TagEvent> events;
  for (int i = 0; i < 200; ++i) {
    const std::string host = fmt::format("https://n{}.example", i);
    events.push_back(event(Op::kAdd, host + "/1"));
    events.back().author = host + "/u";
    servers.publish(events.back().uri, events.back().author, "cats", kDate);
  }
  for (std::size_t i = 0; i < events.size(); i += 50) {
    const auto part = events.begin() + static_cast<std::ptrdiff_t>(i);
    EXPECT_THAT(taken({part, part + 50}, kA), SizeIs(50));
  }
}

TEST_F(PostCheckerTest, WhoNamesPostsWhereNothingIsIsWrong) {
  for (int i = 0; i < 3; ++i) {
    const std::string host = "https://elsewhere" + std::to_string(i) + ".example";
    TagEvent invented = event(Op::kAdd, host + "/1");
    invented.author = host + "/u";
    EXPECT_FALSE(origins.standing().is_doubtful(kA));
    EXPECT_THAT(taken({invented}, kA), IsEmpty());
  }
  EXPECT_TRUE(origins.standing().is_doubtful(kA));
}

TEST_F(PostCheckerTest, WhoHasNotHeardOfAnEditIsNotWrong) {
  int posts = 0;
  const auto say_what_it_lacks = [&](WallTime updated) {
    for (int i = 0; i < 3; ++i) {
      const std::string uri = fmt::format("https://post.example/{}", ++posts);
      servers.publish(uri, kAuthor, "dogs", kDate, updated);
      EXPECT_THAT(taken({event(Op::kAdd, uri)}, kA), IsEmpty());
      EXPECT_EQ(refusals.front().error.code, ErrorCode::kInvalid);
    }
  };
  say_what_it_lacks(kDate + std::chrono::minutes(5));
  EXPECT_FALSE(origins.standing().is_doubtful(kA)) << "it may have carried the hashtag";
  say_what_it_lacks(kDate);
  EXPECT_TRUE(origins.standing().is_doubtful(kA)) << "it never did";
}

TEST_F(PostCheckerTest, AHostIsKnownByAnAuthorWhosePostsAreGone) {
  servers.join(kAuthor, /*indexable=*/true);
  EXPECT_THAT(taken({event()}, kA), IsEmpty());
  EXPECT_TRUE(origins.hosts().is_known("post.example"));
  EXPECT_FALSE(origins.standing().is_doubtful(kA)) << "posts are deleted";
  publish("https://post.example/2");
  EXPECT_THAT(taken({event(Op::kAdd, "https://post.example/2")}, kA), SizeIs(1));
}

TEST_F(PostCheckerTest, RemovalsOfWhatNeverWasAimNobodyAtAHost) {
  for (int i = 0; i < 10; ++i)
    (void)taken({event(Op::kRemove, "https://post.example/" + std::to_string(i))}, kA);
  EXPECT_EQ(servers.asked_in_all(), 2) << "for the first of them, and for its author";
}

// A node that was away is told of thirty posts, and that all of them are gone.
TEST_F(PostCheckerTest, AsManyPostsMayBeGoneAtOnceAsWereThere) {
  std::vector<TagEvent> posts;
  std::vector<TagEvent> removals;
  for (int i = 0; i < 30; ++i) {
    const std::string uri = "https://post.example/" + std::to_string(i);
    publish(uri);
    posts.push_back(event(Op::kAdd, uri));
    removals.push_back(event(Op::kRemove, uri));
  }
  EXPECT_THAT(taken(posts, kA), SizeIs(30));
  for (const TagEvent& post : posts) servers.documents.erase(post.uri);
  EXPECT_THAT(taken(removals, kA), SizeIs(30));
}

TEST_F(PostCheckerTest, ServersAreAskedOnceForWhatSeveralSayAtOnce) {
  servers.pause = [this] { return clock.sleep_until(clock.now() + std::chrono::seconds(1)); };
  publish();
  const auto of_a = start_taking({event()}, kA);
  const auto again = start_taking({event()}, kA);
  const auto of_another = start_taking({event(Op::kAdd, "https://post.example/gone")}, kA);
  const auto of_it_again = start_taking({event(Op::kAdd, "https://post.example/gone")}, kA);
  loop.run_for(std::chrono::seconds(30));
  EXPECT_THAT(**of_a, SizeIs(1));
  EXPECT_THAT(**again, SizeIs(1));
  EXPECT_THAT(**of_another, IsEmpty());
  EXPECT_THAT(**of_it_again, IsEmpty());
  EXPECT_EQ(servers.asked_in_all(), 3) << "for two posts and their author";
}

TEST_F(PostCheckerTest, AServerThatNobodyKnowsIsAskedForOnePostOfThoseThatSeveralInventAtOnce) {
  servers.pause = [this] { return clock.sleep_until(clock.now() + std::chrono::seconds(1)); };
  for (int i = 0; i < 5; ++i)
    start_taking({event(Op::kAdd, fmt::format("https://post.example/invented/{}", i))},
                 fmt::format("https://tags.liar{}.example", i));
  loop.run_for(std::chrono::minutes(1));
  EXPECT_EQ(servers.asked_in_all(), 2) << "for the first of them, and for its author";
}

// As activitypub-bot has them, with status 200.
TEST_F(PostCheckerTest, TombstonesCostTheirServerNothing) {
  std::vector<TagEvent> removals;
  std::vector<TagEvent> late;
  for (int i = 0; i < 30; ++i) {
    const std::string uri = "https://post.example/" + std::to_string(i);
    servers.documents[uri] = fmt::format(R"({{"id":"{}","type":"Tombstone","formerType":"Note"}})", uri);
    removals.push_back(event(Op::kRemove, uri));
    late.push_back(event(Op::kAdd, uri));
  }
  EXPECT_THAT(taken(late, kB), IsEmpty());
  EXPECT_THAT(refusals, Each(Field(&Refusal::error, Field(&Error::code, ErrorCode::kNotFound))));
  EXPECT_FALSE(origins.standing().is_doubtful(kB)) << "they were there";
  EXPECT_THAT(taken(removals, kA), SizeIs(30));
  EXPECT_EQ(servers.asked_in_all(), 30);
}

TEST_F(PostCheckerTest, EditsCostTheirServerNoMoreThanPosts) {
  std::vector<TagEvent> removals;
  for (int i = 0; i < 30; ++i) {
    const std::string uri = "https://post.example/" + std::to_string(i);
    servers.publish(uri, kAuthor, "dogs", kDate);
    removals.push_back(event(Op::kRemove, uri));
  }
  EXPECT_THAT(taken(removals, kA), SizeIs(30)) << "of #cats";
}

TEST_F(PostCheckerTest, RemovalsOfWhatNeverWasMakeUpForNoLie) {
  for (int i = 0; i < 12; ++i) {
    const std::string host = "https://elsewhere" + std::to_string(i) + ".example";
    servers.join(host + "/u", /*indexable=*/true);
    TagEvent removal = event(Op::kRemove, host + "/1");
    removal.author = host + "/u";
    EXPECT_THAT(taken({removal}, kA), SizeIs(1));
  }
  is_often_wrong(kA);
  EXPECT_TRUE(origins.standing().is_doubtful(kA));
}

TEST_F(PostCheckerTest, WhoeverIsWrongAboutALivingPostHasItFetchedNoMoreThanSoOften) {
  publish();
  for (int batch = 0; batch < 2; ++batch) {
    std::vector<TagEvent> lacks;
    for (int i = 0; i < 45; ++i) {
      lacks.push_back(event());
      lacks.back().tag = Tag::from_canonical(fmt::format("lacks{}x{}", batch, i));
    }
    EXPECT_THAT(taken(std::move(lacks), kA), IsEmpty());
  }
  EXPECT_EQ(servers.asked[kUri], 60);
  publish("https://post.example/2");
  EXPECT_THAT(taken({event(Op::kAdd, "https://post.example/2")}, kB), SizeIs(1)) << "others are heard";
}

// Mastodon answers from a cache of three minutes, whatever changed. What it says right after a change is no
// proof against who tells of the change.
class CachedServers : public PostCheckerTest {
 protected:
  CachedServers() { servers.cache_control = "max-age=180, public"; }
  // Says it again and again for some minutes, as who is told to come again does: what comes of it, and when.
  std::optional<ErrorCode> outcome(const TagEvent& said, std::chrono::minutes until) {
    const Instant end = clock.now() + until;
    while (clock.now() < end) {
      if (!taken({said}, kA).empty()) return std::nullopt;
      if (refusals.front().error.code != ErrorCode::kBusy) return refusals.front().error.code;
    }
    return ErrorCode::kBusy;
  }
  void edit_tag_away() { servers.publish(kUri, kAuthor, "dogs", kDate); }
};

TEST_F(CachedServers, ARemovalCountsOnceTheServerShowsIt) {
  publish();
  EXPECT_EQ(outcome(event(Op::kRemove), std::chrono::minutes(2)), ErrorCode::kBusy);
  edit_tag_away();
  EXPECT_EQ(outcome(event(Op::kRemove), std::chrono::minutes(3)), std::nullopt);
  EXPECT_FALSE(origins.standing().is_doubtful(kA));
  EXPECT_LE(servers.asked[kUri], 6) << "once a minute";
}

TEST_F(CachedServers, WithdrawnConsentCountsOnceTheServerShowsIt) {
  publish();
  EXPECT_THAT(taken({event()}, kB), SizeIs(1)) << "the profile is remembered now";
  EXPECT_EQ(outcome(event(Op::kRemove), std::chrono::minutes(2)), ErrorCode::kBusy);
  servers.join(kAuthor, /*indexable=*/true, "#nobot");
  EXPECT_EQ(outcome(event(Op::kRemove), std::chrono::minutes(3)), std::nullopt);
}

TEST_F(CachedServers, ATagPutInCountsOnceTheServerShowsIt) {
  edit_tag_away();
  EXPECT_EQ(outcome(event(), std::chrono::minutes(2)), ErrorCode::kBusy);
  publish();
  EXPECT_EQ(outcome(event(), std::chrono::minutes(3)), std::nullopt);
}

TEST_F(CachedServers, WhatIsStillFalseWhenNoCacheCanBeSoOldIsFalse) {
  for (int i = 0; i < 3; ++i) {
    const std::string uri = "https://post.example/" + std::to_string(i);
    publish(uri);
    EXPECT_FALSE(origins.standing().is_doubtful(kA));
    EXPECT_EQ(outcome(event(Op::kRemove, uri), std::chrono::minutes(6)), ErrorCode::kInvalid);
  }
  EXPECT_TRUE(origins.standing().is_doubtful(kA));
}

TEST_F(CachedServers, WhoSaysWhatIsFalseAndDoesNotComeAgainIsWrongAllTheSame) {
  for (int i = 0; i < 3; ++i) {
    const std::string uri = "https://post.example/" + std::to_string(i);
    publish(uri);
    EXPECT_THAT(taken({event(Op::kRemove, uri)}, kA), IsEmpty());
  }
  loop.run_for(std::chrono::minutes(31));
  publish("https://post.example/9");
  EXPECT_FALSE(origins.standing().is_doubtful(kA));
  EXPECT_THAT(taken({event(Op::kAdd, "https://post.example/9")}, kB), SizeIs(1));
  EXPECT_TRUE(origins.standing().is_doubtful(kA));
}

// Mastodon answers 403 for the posts of who is suspended, and its profile says so. So it does for who has
// just deleted the account: it is suspended first, and its posts are gone later.
class Hidden : public CachedServers {
 protected:
  Hidden() {
    servers.cache_control.clear();
    servers.publish(kTheirs, kAuthor, "cats", kDate);
    servers.refusals[kTheirs] = 403;
  }
  [[nodiscard]] TagEvent removal() const {
    TagEvent said = event(Op::kRemove, kTheirs);
    said.changed = clock.wall_now();
    return said;
  }
  const std::string kTheirs = kAuthor + "/statuses/1";
};

TEST_F(Hidden, APostThatIsShownToNobodyIsRemovedIfItsAuthorIsSuspended) {
  for (const int status : {401, 403, 451}) {
    servers.refusals[kTheirs] = status;
    servers.suspend(kAuthor);
    const std::vector<TagEvent> believed = taken({event(Op::kRemove, kTheirs)}, kA);
    ASSERT_THAT(believed, SizeIs(1)) << status;
    EXPECT_LE(believed.front().changed, clock.wall_now()) << "suspensions end";
  }
}

TEST_F(Hidden, ASuspensionCountsOnceTheProfileIsFromAfterIt) {
  servers.cache_control = "max-age=180, public";
  EXPECT_EQ(outcome(removal(), std::chrono::minutes(2)), ErrorCode::kBusy);
  servers.suspend(kAuthor);
  EXPECT_EQ(outcome(removal(), std::chrono::minutes(3)), std::nullopt);
  EXPECT_FALSE(origins.standing().is_doubtful(kA));
}

// Whoever could name one who is would speak for everybody there, where the server shows this node nothing.
TEST_F(Hidden, NobodysPostIsRemovedBecauseSomebodyElseIsSuspended) {
  const std::string other = "https://post.example/other";
  servers.suspend(other);
  TagEvent said = removal();
  said.author = other;
  EXPECT_EQ(outcome(said, std::chrono::minutes(10)), ErrorCode::kBusy);
  said.author = "https://post.example";  // nor because nobody of that name is there
  EXPECT_EQ(outcome(said, std::chrono::minutes(10)), ErrorCode::kBusy);
}

TEST_F(Hidden, APostIsNotRemovedBecauseItsAuthorDoesNotWishToBeFound) {
  servers.join(kAuthor, /*indexable=*/false);
  EXPECT_EQ(outcome(removal(), std::chrono::minutes(10)), ErrorCode::kBusy);
}

TEST_F(Hidden, AServerThatShowsNothingIsAskedForAWhileAndNobodyIsALiarForThat) {
  servers.refusals[kAuthor] = 403;
  EXPECT_EQ(outcome(removal(), std::chrono::minutes(15)), ErrorCode::kBusy);
  EXPECT_LE(servers.asked[kTheirs], 16) << "once a minute";
  EXPECT_EQ(outcome(removal(), std::chrono::minutes(10)), ErrorCode::kInvalid) << "the relay is not to blame";
  EXPECT_FALSE(origins.standing().is_doubtful(kA));
  servers.refusals.clear();
  servers.documents.erase(kTheirs);
  EXPECT_EQ(outcome(removal(), std::chrono::minutes(1)), std::nullopt);
}

TEST_F(Hidden, WhatCannotBeReadIsNoMoreRemovedThanWhatIsNotShown) {
  servers.refusals.clear();
  servers.documents[kTheirs] = "[]";
  servers.join(kAuthor, /*indexable=*/false);
  EXPECT_EQ(outcome(removal(), std::chrono::minutes(10)), ErrorCode::kBusy);
  servers.suspend(kAuthor);
  EXPECT_EQ(outcome(removal(), std::chrono::minutes(4)), std::nullopt) << "profiles are remembered";
}

// Misskey shows the posts of who is suspended, and not the profile.
TEST_F(PostCheckerTest, APostIsRemovedIfItsAuthorIsNotThereAnyMore) {
  publish();
  servers.documents.erase(kAuthor);
  EXPECT_THAT(taken({event(Op::kRemove)}, kA), SizeIs(1));
}

TEST_F(PostCheckerTest, OfAServerThatIsDownTheSenderIsToComeAgain) {
  servers.down = true;
  EXPECT_THAT(taken({event()}, kA), IsEmpty());
  EXPECT_EQ(refusals.front().error.code, ErrorCode::kBusy);
}

// An owner, until it is none any more.
struct AnyOwner : PostChecker::Owner {
  [[nodiscard]] Result<void> check_place(const TagEvent&) const override {
    if (!owns) return fail(ErrorCode::kNotOwner, "moved");
    return {};
  }
  [[nodiscard]] Task<redundancy::RelayHalves> witness(Tag, std::string,
                                                      std::optional<redundancy::RelayClaim>) override {
    co_return 0;
  }
  void mistaken_for_owner(const Tag&, const std::string&) override {}
  [[nodiscard]] bool samples() const override { return false; }
  [[nodiscard]] bool is_archive() const override { return false; }

  bool owns = true;
};

// The first is believed at once; while the server of the second is asked, somebody else becomes the owner of
// both.
TEST_F(PostCheckerTest, AnOwnerTakesNothingOfABatchWhenItIsNoneAnyMore) {
  publish();
  const std::string own = "https://a.example/1";
  TagEvent vouched = event(Op::kAdd, own);
  vouched.author = "https://a.example/u";
  AnyOwner owner;
  servers.meanwhile = [&] { owner.owns = false; };
  std::optional<std::vector<TagEvent>> believed;
  boost::asio::co_spawn(loop.executor(kOwner),
                        checker.believable(owner, {vouched, event()}, "https://a.example", {}, &refusals),
                        [&](std::exception_ptr error, std::vector<TagEvent> events) {
                          if (!error) believed = std::move(events);
                        });
  loop.run_for(std::chrono::seconds(30));
  ASSERT_TRUE(believed);
  EXPECT_EQ(servers.asked[own], 0);
  EXPECT_EQ(servers.asked[kUri], 1);
  EXPECT_THAT(*believed, IsEmpty());
  ASSERT_THAT(refusals, SizeIs(2));
  for (const Refusal& refusal : refusals) EXPECT_EQ(refusal.error.code, ErrorCode::kNotOwner);
}

}  // namespace
}  // namespace tagring::belief
