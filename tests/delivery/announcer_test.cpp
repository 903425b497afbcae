// Who is told of what, when, and how often.
#include "delivery/announcer.hpp"

#include <algorithm>

#include "delivery/role_fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::delivery {
namespace {

using std::chrono::days;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kNode = "https://node.example/inbox";
const std::string kPeople = "https://social.example/inbox";

class Lost final : public SilentObserver {
 public:
  void lost_follower(const Tag& /*tag*/, const std::string& inbox) override { inboxes.push_back(inbox); }
  std::vector<std::string> inboxes;
};

class AnnouncerTest : public RoleTest {
 protected:
  ~AnnouncerTest() override { finish(announcer.stop()); }

  void follow(const Tag& tag, const std::string& inbox, Via via) {
    followers.add({tag, inbox + "/of-somebody", inbox, "", via, 0});
  }
  void enter(const std::string& uri, const Tag& tag = "cats"_tag, Op op = Op::kAdd) {
    announcer.push({++seq, {tag, op, uri, "https://author.example/u", clock.wall_now(), true}});
    loop.run_for(Duration(1));
  }

  std::uint64_t seq = 0;
  Followers followers;
  federation::Blocks blocks;
  budget::Manager budget{budget::default_budgets(), runtime.clock};
  federation::RemoteKeys keys{budget, client, runtime};
  federation::Authenticator authenticator{{}, {}, keys, runtime};
  PartialCollections partials{{false, {}}, followers, identity, authenticator, observer, runtime};
  Lost lost;
  AnnouncementSender sender{followers, partials, client, lost, runtime};
  Announcer announcer{{}, stores->relay, followers, blocks, sender, runtime};
};

TEST_F(AnnouncerTest, WhatNobodyFollowsIsToldToNobody) {
  follow("dogs"_tag, kNode, Via::kNode);
  enter("https://author.example/1");
  EXPECT_THAT(web.calls, IsEmpty());
  EXPECT_TRUE(announcer.idle());
}

// A database outlives the Unicode by which it was written.
TEST_F(AnnouncerTest, WhoFollowsWhatIsNoHashtagAnyMoreHearsOfItFromTheNode) {
  follow(Tag::from_canonical("2026"), kPeople, Via::kBoost);
  enter("https://author.example/1", Tag::from_canonical("2026"));
  ASSERT_THAT(web.posted_to(kPeople), SizeIs(1));
  EXPECT_EQ(json::get_string(web.posted_to(kPeople).front(), "actor"), identity.actor());
}

TEST_F(AnnouncerTest, ANodeThatDoesNotFollowIsLostUnlessItHasFollowedAgainMeanwhile) {
  follow("cats"_tag, kNode, Via::kNode);
  web.bodies[kNode] =
      R"({"accepted":0,"refused":[{"uri":"https://author.example/1","tag":"cats","error":"denied","message":"no"}]})";
  web.meanwhile = [this] { follow("cats"_tag, kNode, Via::kNode); };
  enter("https://author.example/1");
  EXPECT_THAT(lost.inboxes, IsEmpty());
  web.meanwhile = [] {};
  enter("https://author.example/1");
  EXPECT_THAT(lost.inboxes, ElementsAre(kNode));
}

TEST_F(AnnouncerTest, ANodeIsToldOfAPostUnderEveryTag) {
  follow("cats"_tag, kNode, Via::kNode);
  follow("dogs"_tag, kNode, Via::kNode);
  enter("https://author.example/1", "cats"_tag);
  enter("https://author.example/1", "dogs"_tag);
  loop.run_for(std::chrono::seconds(1));
  EXPECT_THAT(web.posted_to(kNode), SizeIs(2));
}

TEST_F(AnnouncerTest, PeopleAreToldOfAPostOnce) {
  follow("cats"_tag, kPeople, Via::kBoost);
  follow("dogs"_tag, kPeople, Via::kBoost);
  enter("https://author.example/1", "cats"_tag);
  enter("https://author.example/1", "dogs"_tag);
  loop.run_for(std::chrono::seconds(1));
  ASSERT_THAT(web.posted_to(kPeople), SizeIs(1));
  EXPECT_EQ(web.posted_to(kPeople).front().at("type"), "Announce");
}

// GoToSocial has no shared inbox, and files a boost for all its people, whichever inbox it came to.
TEST_F(AnnouncerTest, OfPeopleWhoseServerHasNoSharedInboxOneIsToldForAll) {
  std::vector<std::string> inboxes;
  for (const char* name : {"a", "b", "c"}) {
    const std::string actor = std::string("https://gts.example/users/") + name;
    inboxes.push_back(actor + "/inbox");
    followers.add({"cats"_tag, actor, inboxes.back(), "", Via::kBoost, 0});
  }
  follow("cats"_tag, "https://other.example/1/inbox", Via::kBoost);
  follow("cats"_tag, "https://other.example/2/inbox", Via::kBoost);
  enter("https://author.example/1");
  EXPECT_THAT(web.calls, SizeIs(3)) << "other servers may file for one only";
  EXPECT_THAT(web.posted_to(inboxes[0]), SizeIs(1));
  // Who refuses it does not so for the others.
  web.statuses[inboxes[0]] = 403;
  enter("https://author.example/2");
  EXPECT_THAT(web.posted_to(inboxes[1]), SizeIs(1));
  EXPECT_THAT(web.posted_to(inboxes[2]), IsEmpty());
  web.statuses[inboxes[0]] = 410;
  enter("https://author.example/3");
  loop.run_for(std::chrono::hours(1));
  EXPECT_THAT(web.posted_to(inboxes[1]), SizeIs(2)) << "once, however often the other is tried";
  EXPECT_THAT(web.posted_to(inboxes[2]), IsEmpty());
}

TEST_F(AnnouncerTest, NoAnnounceHasTheIdOfOneThatWasUndone) {
  follow("cats"_tag, kPeople, Via::kRelay);
  follow("dogs"_tag, kPeople, Via::kRelay);
  enter("https://author.example/1", "cats"_tag);
  enter("https://author.example/1", "dogs"_tag);
  loop.run_for(std::chrono::seconds(1));
  enter("https://author.example/1", "cats"_tag, Op::kRemove);
  loop.run_for(std::chrono::minutes(1));
  const std::vector<json::object> sent = web.posted_to(kPeople);
  ASSERT_THAT(sent, SizeIs(3));
  EXPECT_EQ(sent[0].at("type"), "Announce");
  EXPECT_EQ(sent[1].at("type"), "Undo");
  EXPECT_EQ(sent[2].at("type"), "Announce");
  EXPECT_NE(sent[0].at("id"), sent[2].at("id"));
  EXPECT_EQ(sent[1].at("object").at("id"), sent[0].at("id"));
}

// Whoever fetches the post next is spread over time, but not before so many that it matters.
TEST_F(AnnouncerTest, TwentyAreToldAtOnce) {
  for (int i = 0; i < 20; ++i)
    follow("cats"_tag, "https://s" + std::to_string(i) + ".example/inbox", Via::kBoost);
  enter("https://author.example/1");
  EXPECT_THAT(web.calls, SizeIs(20));
  web.calls.clear();
  follow("cats"_tag, "https://last.example/inbox", Via::kBoost);
  enter("https://author.example/2");
  EXPECT_LT(web.calls.size(), 21U);
  loop.run_for(std::chrono::seconds(2));
  EXPECT_THAT(web.calls, SizeIs(21));
}

TEST_F(AnnouncerTest, PeopleAreNotToldOfTheirOwnServersPosts) {
  follow("cats"_tag, "https://author.example/inbox", Via::kBoost);
  enter("https://author.example/1");
  EXPECT_THAT(web.calls, IsEmpty());
}

TEST_F(AnnouncerTest, UnlessTheAdministratorWantsThat) {
  blocks.boost_own_posts(true);
  follow("cats"_tag, "https://author.example/inbox", Via::kBoost);
  enter("https://author.example/1");
  EXPECT_THAT(web.calls, SizeIs(1));
  web.calls.clear();
  follow("dogs"_tag, "https://author.example/inbox", Via::kRelay);
  enter("https://author.example/2", "dogs"_tag);
  EXPECT_THAT(web.calls, IsEmpty()) << "the server has it";
}

TEST_F(AnnouncerTest, WhoDoesNotAnswerIsToldAgainAndInOrder) {
  follow("cats"_tag, kNode, Via::kNode);
  web.statuses[kNode] = 503;
  enter("https://author.example/1");
  EXPECT_EQ(announcer.delivered(), 0U);
  EXPECT_FALSE(announcer.has_reached(kNode, 1));
  EXPECT_THAT(announcer.lanes().at(kNode).reason, testing::HasSubstr("503"));
  web.statuses.clear();
  loop.run_for(std::chrono::seconds(2));
  EXPECT_EQ(announcer.delivered(), 1U);
  EXPECT_TRUE(announcer.has_reached(kNode, 1));
}

TEST_F(AnnouncerTest, PeopleWhoseServerDoesNotAnswerAreToldAgain) {
  follow("cats"_tag, kPeople, Via::kBoost);
  web.statuses[kPeople] = 503;
  enter("https://author.example/1");
  loop.run_for(std::chrono::seconds(1));
  EXPECT_FALSE(announcer.idle());
  web.calls.clear();
  web.statuses.clear();
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(web.posted_to(kPeople), SizeIs(1));
  EXPECT_TRUE(announcer.idle());
}

TEST_F(AnnouncerTest, AfterARestartWhoHasTakenAPostIsNotToldAgainAndWhoHasNotIs) {
  follow("cats"_tag, kNode, Via::kNode);
  follow("cats"_tag, kPeople, Via::kBoost);
  web.statuses[kPeople] = 503;
  const TagEvent event{"cats"_tag,       Op::kAdd, "https://author.example/1", "https://author.example/u",
                       clock.wall_now(), true};
  const auto accepted = run(stores->relay.accept({event}, 0));
  ASSERT_TRUE(accepted);
  announcer.push({accepted->front().feed_seq, event});
  loop.run_for(std::chrono::seconds(1));
  finish(announcer.stop());
  loop.run_for(std::chrono::seconds(1));
  EXPECT_THAT(run(stores->relay.cursors()).value(), ElementsAre(testing::Pair(kNode, 1U)));
  web.calls.clear();
  web.statuses.clear();
  Announcer restarted{{}, stores->relay, followers, blocks, sender, runtime};
  ASSERT_TRUE(run(restarted.load()));
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(web.posted_to(kNode), IsEmpty());
  EXPECT_THAT(web.posted_to(kPeople), SizeIs(1));
  finish(restarted.stop());
}

TEST_F(AnnouncerTest, TheFeedKeepsForADayWhatAllHaveTakenAndLongerWhatSomebodyHasNot) {
  follow("cats"_tag, kNode, Via::kNode);
  web.statuses[kNode] = 503;
  const TagEvent event{"cats"_tag,       Op::kAdd, "https://author.example/1", "https://author.example/u",
                       clock.wall_now(), true};
  announcer.start();
  announcer.push({run(stores->relay.accept({event}, 0))->front().feed_seq, event});
  loop.run_for(days(2));
  EXPECT_THAT(run(stores->relay.feed(0, 10)).value(), SizeIs(1));
  web.statuses.clear();
  loop.run_for(std::chrono::hours(2));
  EXPECT_THAT(run(stores->relay.feed(0, 10)).value(), IsEmpty());
}

TEST_F(AnnouncerTest, WhatAnInboxHasNotTakenForAWeekIsGivenUp) {
  follow("cats"_tag, kNode, Via::kNode);
  web.statuses[kNode] = 503;
  enter("https://author.example/1");
  loop.run_for(days(8));
  EXPECT_TRUE(announcer.idle());
  EXPECT_EQ(announcer.delivered(), 0U);
}

TEST_F(AnnouncerTest, AnInboxThatIsGoneIsReported) {
  follow("cats"_tag, kNode, Via::kNode);
  web.statuses[kNode] = 410;
  enter("https://author.example/1");
  EXPECT_THAT(lost.inboxes, ElementsAre(kNode));
}

TEST_F(AnnouncerTest, APostTakenBackIsUndone) {
  follow("cats"_tag, kPeople, Via::kBoost);
  enter("https://author.example/1");
  enter("https://author.example/1", "cats"_tag, Op::kRemove);
  loop.run_for(std::chrono::seconds(1));
  ASSERT_THAT(web.posted_to(kPeople), SizeIs(2));
  EXPECT_EQ(web.posted_to(kPeople).back().at("type"), "Undo");
}

TEST_F(AnnouncerTest, AnInboxThatRefusesEverythingIsShownAndLosesItsFollowersAfterAWeek) {
  follow("cats"_tag, kPeople, Via::kBoost);
  int posts = 0;
  const auto enter_some = [&](unsigned count) {
    for (unsigned i = 0; i < count; ++i) enter("https://author.example/" + std::to_string(++posts));
    loop.run_for(std::chrono::minutes(1));
  };
  const auto warnings = [&] {
    return std::ranges::count_if(lines, [](const std::string& line) {
      return line.contains("inbox_refuses_everything") && line.contains(kPeople);
    });
  };
  web.statuses[kPeople] = 403;
  enter_some(Announcer::kRefusalsMax - 1);
  EXPECT_THAT(announcer.refusing(), IsEmpty());
  enter_some(2);
  EXPECT_THAT(announcer.refusing(), ElementsAre(std::pair(kPeople, Announcer::kRefusalsMax + 1)));
  EXPECT_EQ(warnings(), 1);
  web.statuses[kPeople] = 202;
  enter_some(1);
  EXPECT_THAT(announcer.refusing(), IsEmpty()) << "it takes something again";
  web.statuses[kPeople] = 403;
  enter_some(Announcer::kRefusalsMax);
  EXPECT_EQ(warnings(), 2);
  EXPECT_THAT(lost.inboxes, IsEmpty());
  loop.run_for(Announcer::kLifetime);
  enter_some(1);
  EXPECT_THAT(lost.inboxes, ElementsAre(kPeople));
}

}  // namespace
}  // namespace tagring::delivery
