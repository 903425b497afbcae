// Who is told of what, when, and how often.
#include "delivery/announcer.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

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
  [[nodiscard]] bool was_replayed(const Tag& /*tag*/, const std::string& host) const override {
    return host == replayed;
  }
  Task<Result<void>> hand_to_relays(std::vector<TagEvent> events) override {
    if (disk_is_full) co_return fail(ErrorCode::kUnavailable, "the disk is full");
    if (relays_it) co_return fail(ErrorCode::kBusy, "this node still relays them");
    for (const TagEvent& event : events) handed.push_back(event.uri);
    co_return Result<void>();
  }
  Task<Result<HttpResponse>> deliver_to_fasp_server(std::string /*inbox*/, std::string body) override {
    told_fasp.push_back(std::move(body));
    HttpResponse response;
    response.status = fasp_status;
    co_return response;
  }
  std::vector<std::string> told_fasp;
  int fasp_status = 204;
  std::vector<std::string> inboxes;
  std::string replayed;
  std::vector<std::string> handed;  // to the relays at rest
  bool disk_is_full = false;
  bool relays_it = false;
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

  // The same, and it is on the disk.
  TagEvent take(const std::string& uri, const Tag& tag = "cats"_tag,
                Announcer::To to = Announcer::To::kEverybody) {
    const TagEvent event{tag, Op::kAdd, uri, "https://author.example/u", clock.wall_now(), true};
    const auto accepted = run(stores->relay.accept({event}, 0));
    announcer.push({accepted->front().feed_seq, event}, to);
    loop.run_for(Duration(1));
    return event;
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

// If this node was one of more relays than there are at rest, nobody else may have the post.
TEST_F(AnnouncerTest, WhatNodesDoNotTakeFromThisRelayIsHandedToTheOthersOnce) {
  const std::string other = "https://other.example/inbox";
  for (const std::string& inbox : {kNode, other}) {
    follow("cats"_tag, inbox, Via::kNode);
    web.bodies[inbox] =
        R"({"accepted":0,"refused":[{"uri":"https://author.example/1","tag":"cats","error":"not_owner","message":"no"}]})";
  }
  lost.disk_is_full = true;
  enter("https://author.example/1");
  loop.run_for(std::chrono::seconds(1));
  EXPECT_THAT(lost.handed, IsEmpty());
  EXPECT_FALSE(announcer.idle());
  lost.disk_is_full = false;
  loop.run_for(std::chrono::hours(1));
  EXPECT_THAT(lost.handed, ElementsAre("https://author.example/1"));
  EXPECT_TRUE(announcer.idle());
}

TEST_F(AnnouncerTest, WhatANodeCannotReadHoldsNothingElseBack) {
  follow("cats"_tag, kNode, Via::kNode);
  web.statuses[kNode] = 503;
  for (int i = 0; i < 9; ++i) enter(fmt::format("https://author.example/{}", i));
  web.statuses.clear();
  web.unreadable = {"author.example/4"};
  loop.run_for(std::chrono::hours(3));
  EXPECT_TRUE(announcer.idle());
  std::set<std::string> told;
  for (const HttpCall& call : web.calls) {
    if (call.body.contains("author.example/4")) continue;
    for (int i = 0; i < 9; ++i) {
      if (call.body.contains(fmt::format("author.example/{}", i))) told.insert(std::to_string(i));
    }
  }
  EXPECT_THAT(told, ElementsAre("0", "1", "2", "3", "5", "6", "7", "8"));
}

TEST_F(AnnouncerTest, WhatItTookAsARelayIsHandedOnAndNotWhatOthersRelay) {
  take("https://author.example/1");
  const std::uint64_t from = announcer.last_seq();
  take("https://author.example/2");
  take("https://author.example/3", "dogs"_tag);
  take("https://author.example/4", "cats"_tag, Announcer::To::kPeople);
  lost.disk_is_full = true;
  EXPECT_FALSE(run(announcer.hand_on("cats"_tag, from)));
  lost.disk_is_full = false;
  EXPECT_TRUE(run(announcer.hand_on("cats"_tag, from)));
  EXPECT_THAT(lost.handed, ElementsAre("https://author.example/2"));
}

TEST_F(AnnouncerTest, WhatAnotherRelayWasToTellNodesIsToldThemWhenItIsGivenToThisOne) {
  follow("cats"_tag, kNode, Via::kNode);
  follow("cats"_tag, kPeople, Via::kBoost);
  const TagEvent event = take("https://author.example/1", "cats"_tag, Announcer::To::kPeople);
  loop.run_for(std::chrono::seconds(1));
  EXPECT_THAT(web.posted_to(kNode), IsEmpty());
  EXPECT_THAT(web.posted_to(kPeople), SizeIs(1));
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(run(announcer.tell_nodes(event)));
    loop.run_for(std::chrono::seconds(1));
    EXPECT_THAT(web.posted_to(kNode), SizeIs(1));
    EXPECT_THAT(web.posted_to(kPeople), SizeIs(1));
  }
}

TEST_F(AnnouncerTest, OfWhatAnotherRelayWasToTellNodesIsToldWhatIsGivenAndNotWhatWasLast) {
  follow("cats"_tag, kNode, Via::kNode);
  const TagEvent added{"cats"_tag,       Op::kAdd, "https://author.example/1", "https://author.example/u",
                       clock.wall_now(), true};
  TagEvent edited = added;
  edited.signed_copy = std::string(64, 'a') + " https://author.example";
  TagEvent removed = added;
  removed.op = Op::kRemove;
  for (const TagEvent& event : {added, edited, removed}) {
    const auto accepted = run(stores->relay.accept({event}, 0));
    ASSERT_TRUE(accepted->front().fresh);
    announcer.push({accepted->front().feed_seq, event}, Announcer::To::kPeople);
  }
  std::size_t told = 0;
  for (const TagEvent& event : {added, edited, removed}) {
    EXPECT_TRUE(run(announcer.tell_nodes(event)));
    loop.run_for(std::chrono::seconds(1));
    EXPECT_THAT(web.posted_to(kNode), SizeIs(++told));
  }
}

// It would be handed back to this one.
TEST_F(AnnouncerTest, WhatThisNodeRelaysIsSentAgainToWhoSeesAnotherInItsPlaceAndNotToWhoFollowsNoMore) {
  follow("cats"_tag, kNode, Via::kNode);
  lost.relays_it = true;
  const auto refuse = [&](const std::string& error) {
    web.bodies[kNode] =
        R"({"accepted":0,"refused":[{"uri":"https://author.example/1","tag":"cats","error":")" + error +
        R"(","message":"no"}]})";
  };
  refuse("not_owner");
  enter("https://author.example/1");
  loop.run_for(std::chrono::minutes(1));
  EXPECT_GT(web.posted_to(kNode).size(), 1U);
  EXPECT_FALSE(announcer.idle());
  refuse("denied");
  loop.run_for(std::chrono::hours(1));
  EXPECT_TRUE(announcer.idle());
  EXPECT_THAT(lost.handed, IsEmpty());
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

// Its other hashtag comes from another owner, in a busy hour.
TEST_F(AnnouncerTest, HoweverManyComeBeforeItsOtherHashtag) {
  const std::string post = "https://author.example/1";
  follow("cats"_tag, kPeople, Via::kBoost);
  follow("dogs"_tag, kPeople, Via::kBoost);
  enter(post, "cats"_tag);
  for (int i = 0; i < 1'500; ++i) enter(fmt::format("https://other.example/{}", i), "cats"_tag);
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(web.posted_to(kPeople), SizeIs(1'501));
  enter(post, "dogs"_tag);
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(web.posted_to(kPeople), SizeIs(1'501));
}

// GoToSocial has no shared inbox, and files a boost for all its people, whichever inbox it came to.
class NoSharedInbox : public AnnouncerTest {
 protected:
  NoSharedInbox() {
    for (const std::string& person : people) join(person, "cats"_tag);
  }
  void join(const std::string& person, const Tag& tag) {
    followers.add({tag, person, person + "/inbox", "", Via::kBoost, 0});
  }
  void each(int status) {
    for (const std::string& person : people) web.statuses[person + "/inbox"] = status;
  }
  // Who was sent something about it that was not refused.
  std::vector<std::string> got(const std::string& uri) {
    std::vector<std::string> inboxes;
    for (const std::string& person : people) {
      if (web.statuses.contains(person + "/inbox")) continue;
      for (const json::object& sent : web.posted_to(person + "/inbox")) {
        if (sent.at("object") == json::value(uri)) inboxes.push_back(person);
      }
    }
    return inboxes;
  }
  std::string next_post() { return "https://author.example/" + std::to_string(++posts); }

  const std::vector<std::string> people = {"https://gts.example/users/a", "https://gts.example/users/b",
                                           "https://gts.example/users/c"};
  int posts = 0;
};

TEST_F(NoSharedInbox, OneIsToldForAll) {
  follow("cats"_tag, "https://other.example/1/inbox", Via::kBoost);
  follow("cats"_tag, "https://other.example/2/inbox", Via::kBoost);
  enter(next_post());
  EXPECT_THAT(web.calls, SizeIs(3)) << "other servers may file for one only";
}

// What comes to who blocks an author is lost to all.
TEST_F(NoSharedInbox, ThatIsNotAlwaysTheSameOne) {
  std::set<std::string> chosen;
  for (int i = 0; i < 20; ++i) {
    const std::string uri = next_post();
    enter(uri);
    ASSERT_THAT(got(uri), SizeIs(1));
    chosen.insert(got(uri).front());
  }
  EXPECT_THAT(chosen, SizeIs(3));
}

TEST_F(NoSharedInbox, AnInboxThatFailsTakesNothingFromTheOthers) {
  for (const int status : {403, 404, 410, 500, 503}) {
    web.statuses = {{people[0] + "/inbox", status}};
    const auto before = web.posted_to(people[0] + "/inbox").size();
    for (int i = 0; i < 10; ++i) {
      const std::string uri = next_post();
      enter(uri);
      EXPECT_THAT(got(uri), SizeIs(1)) << status << " " << uri;
    }
    if (status == 403) continue;  // that is said of a post
    EXPECT_LE(web.posted_to(people[0] + "/inbox").size(), before + 1) << status << ": it is passed over";
  }
}

TEST_F(NoSharedInbox, EvenIfItFailsOnlyNow) {
  for (const int status : {403, 410, 500}) {
    for (int i = 0; i < 6; ++i) {
      each(status);
      web.statuses.erase(people[static_cast<std::size_t>(i) % 3] + "/inbox");
      const std::string uri = next_post();
      enter(uri);
      loop.run_for(std::chrono::hours(1));
      EXPECT_THAT(got(uri), SizeIs(1)) << status;
    }
  }
}

TEST_F(NoSharedInbox, WhatWaitsForWhoLeavesReachesAnother) {
  each(429);  // for all of the server, so nobody else is tried
  const std::string uri = next_post();
  enter(uri);
  web.statuses.clear();
  std::string drawn;
  for (const std::string& person : people) {
    if (drawn.empty() && !web.posted_to(person + "/inbox").empty()) drawn = person;
  }
  web.calls.clear();
  followers.remove("cats"_tag, drawn);
  loop.run_for(std::chrono::hours(1));
  EXPECT_THAT(got(uri), SizeIs(1));
}

TEST_F(NoSharedInbox, WhatTwoRefuseReachesTheThird) {
  for (const std::string& person : people) {
    each(403);
    web.statuses.erase(person + "/inbox");
    for (int i = 0; i < 3; ++i) {
      const std::string uri = next_post();
      enter(uri);
      EXPECT_THAT(got(uri), SizeIs(1));
    }
  }
}

TEST_F(NoSharedInbox, AServerThatRefusesEverythingIsKnownByAllOfItsInboxesTogether) {
  const auto enter_some = [&](unsigned count) {
    for (unsigned i = 0; i < count; ++i) enter(next_post());
    loop.run_for(std::chrono::minutes(1));
  };
  web.statuses = {{people[0] + "/inbox", 403}};
  enter_some(4 * Announcer::kRefusalsMax);
  EXPECT_THAT(announcer.refusing(), IsEmpty()) << "others there take everything";
  each(403);
  enter_some(Announcer::kRefusalsMax / 2);
  EXPECT_THAT(announcer.refusing(), SizeIs(3));
  EXPECT_THAT(lost.inboxes, IsEmpty());
  loop.run_for(Announcer::kLifetime);
  enter_some(1);
  EXPECT_THAT(lost.inboxes, ElementsAre(people[0] + "/inbox", people[1] + "/inbox", people[2] + "/inbox"));
}

TEST_F(NoSharedInbox, AServerFailsIfNoneOfItsInboxesTakesAnything) {
  const auto enter_one = [&](Duration wait) {
    enter(next_post());
    loop.run_for(wait);
  };
  web.statuses = {{people[0] + "/inbox", 503}};
  for (int i = 0; i < 10; ++i) enter_one(Announcer::kFailingAfter);
  EXPECT_THAT(announcer.failing(), IsEmpty()) << "others there take everything";
  each(410);
  enter_one(2 * Announcer::kFailingAfter);
  EXPECT_THAT(announcer.failing(), IsEmpty()) << "these are gone";
  each(202);
  loop.run_for(std::chrono::hours(1));
  each(503);
  enter_one(2 * Announcer::kFailingAfter);
  EXPECT_THAT(announcer.failing(), IsEmpty()) << "it may be the post";
  for (int i = 0; i < 12; ++i) enter(next_post());
  loop.run_for(std::chrono::minutes(1));
  ASSERT_THAT(announcer.failing(), SizeIs(1));
  EXPECT_THAT(announcer.failing().at("gts.example").reason, testing::HasSubstr("503"));
  each(202);
  loop.run_for(std::chrono::hours(1));
  EXPECT_THAT(announcer.failing(), IsEmpty());
}

TEST_F(NoSharedInbox, AServerThatIsAwayIsNotAskedByEachInbox) {
  for (char name = 'd'; name < 'z'; ++name)
    join(std::string("https://gts.example/users/") + name, "cats"_tag);
  for (char name = 'a'; name < 'z'; ++name)
    web.statuses[std::string("https://gts.example/users/") + name + "/inbox"] = 503;
  enter(next_post());
  EXPECT_LT(web.calls.size(), 6U);
}

TEST_F(NoSharedInbox, APostTakenBackIsUndoneWhereItWentWhateverFails) {
  for (const std::string& person : people) {
    const std::string uri = next_post();
    web.statuses = {{person + "/inbox", 500}};
    enter(uri);
    ASSERT_THAT(got(uri), SizeIs(1));
    const std::string inbox = got(uri).front() + "/inbox";
    enter(uri, "cats"_tag, Op::kRemove);
    loop.run_for(std::chrono::seconds(2));
    EXPECT_EQ(web.posted_to(inbox).back().at("type"), "Undo");
    web.statuses.clear();
    web.calls.clear();
    loop.run_for(std::chrono::hours(1));
    for (const HttpCall& call : web.calls) EXPECT_THAT(call.body, testing::HasSubstr("Undo"));
  }
}

// Who is there still was told of it under another hashtag.
TEST_F(NoSharedInbox, WhatWentToWhoHasLeftIsUndoneByAnother) {
  followers.remove("cats"_tag, people[2]);
  for (const std::string& person : {people[1], people[2]}) join(person, "dogs"_tag);
  std::string uri;
  do {
    uri = next_post();
    enter(uri, "cats"_tag);
    enter(uri, "dogs"_tag);
    loop.run_for(std::chrono::seconds(1));
  } while (posts < 100 && got(uri) != std::vector{people[0], people[1]});
  ASSERT_THAT(got(uri), ElementsAre(people[0], people[1]));
  followers.remove("cats"_tag, people[0]);
  enter(uri, "cats"_tag, Op::kRemove);
  loop.run_for(std::chrono::seconds(10));
  const json::object last = web.posted_to(people[1] + "/inbox").back();
  EXPECT_EQ(last.at("type"), "Undo");
  EXPECT_EQ(last.at("actor"), json::value(identity.tag_actor("cats"_tag)));
}

TEST_F(NoSharedInbox, AnUndoThatWaitsForWhoLeavesGoesToAnother) {
  const std::string uri = next_post();
  enter(uri);
  ASSERT_THAT(got(uri), SizeIs(1));
  const std::string told = got(uri).front();
  each(503);
  enter(next_post());  // is tried at each of them, so that they are known to fail
  loop.run_for(std::chrono::seconds(10));
  enter(uri, "cats"_tag, Op::kRemove);
  loop.run_for(std::chrono::seconds(2));
  followers.remove("cats"_tag, told);
  web.statuses.clear();
  web.calls.clear();
  loop.run_for(std::chrono::hours(1));
  const auto is_undo = [&](const HttpCall& call) {
    return call.body.contains("\"Undo\"") && call.body.contains(uri);
  };
  EXPECT_GE(std::ranges::count_if(web.calls, is_undo), 1);
}

TEST_F(NoSharedInbox, AHashtagThatReachesAllOfThemIsEnough) {
  join(people[0], "dogs"_tag);
  followers.remove("cats"_tag, people[1]);
  followers.remove("cats"_tag, people[2]);
  join(people[1], "dogs"_tag);
  const std::string uri = next_post();
  enter(uri, "cats"_tag);
  enter(uri, "dogs"_tag);
  loop.run_for(std::chrono::seconds(1));
  ASSERT_THAT(web.calls, SizeIs(1));
  EXPECT_EQ(json::parse_object(web.calls.front().body)->at("actor"),
            json::value(identity.tag_actor("dogs"_tag)));
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

TEST_F(AnnouncerTest, WhatWaitsIsNotSentWhenItsAuthorOrTheAdministratorDecidesSoMeanwhile) {
  const std::string fasp = "https://social.example/fasp";
  follow("cats"_tag, kPeople, Via::kBoost);
  follow("cats"_tag, fasp, Via::kFasp);
  const auto announce_late = [&](const std::string& uri, auto decide) {
    web.statuses[kPeople] = 503;
    lost.fasp_status = 503;
    enter(uri);
    loop.run_for(std::chrono::seconds(1));
    EXPECT_FALSE(announcer.has_reached(kPeople, seq));
    EXPECT_FALSE(announcer.has_reached(fasp, seq));
    decide();
    web.statuses.clear();
    lost.fasp_status = 204;
    web.calls.clear();
    lost.told_fasp.clear();
    loop.run_for(std::chrono::hours(1));
    EXPECT_TRUE(announcer.idle());
    return web.posted_to(kPeople).size() + lost.told_fasp.size();
  };
  EXPECT_EQ(announce_late("https://author.example/1", [] {}), 2U);
  const federation::Refusal refusal{"https://author.example/u", "cats"};
  EXPECT_EQ(announce_late("https://author.example/2", [&] { blocks.add(refusal); }), 0U);
  blocks.remove(refusal);
  const federation::Block block{federation::BlockKind::kDomain, "author.example", "", "admin", {}};
  EXPECT_EQ(announce_late("https://author.example/3", [&] { blocks.add(block); }), 0U);
  blocks.remove(block);
  const federation::Separation apart{"social.example", "author.example", true};
  EXPECT_EQ(announce_late("https://author.example/4", [&] { blocks.add(apart); }), 0U);
}

TEST_F(AnnouncerTest, WhatMayNotGoUnderAHashtagAnyMoreIsAnnouncedUnderAnother) {
  const std::string uri = "https://author.example/1";
  follow("cats"_tag, kPeople, Via::kBoost);
  follow("dogs"_tag, kPeople, Via::kBoost);
  web.statuses[kPeople] = 503;
  enter(uri, "cats"_tag);
  enter(uri, "dogs"_tag);
  loop.run_for(std::chrono::seconds(1));
  ASSERT_FALSE(announcer.idle());
  blocks.add(federation::Refusal{"https://author.example/u", "cats"});
  web.statuses.clear();
  web.calls.clear();
  loop.run_for(std::chrono::hours(1));
  enter(uri, "cats"_tag, Op::kRemove);  // which was not announced
  loop.run_for(std::chrono::minutes(1));
  const std::vector<json::object> sent = web.posted_to(kPeople);
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent.front().at("type"), "Announce");
  EXPECT_EQ(json::get_string(sent.front(), "actor"), identity.tag_actor("dogs"_tag));
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
  EXPECT_THAT(run(stores->relay.cursors()).value(), ElementsAre(testing::Pair(kNode, Store::Cursor{1})));
  web.calls.clear();
  web.statuses.clear();
  Announcer restarted{{}, stores->relay, followers, blocks, sender, runtime};
  ASSERT_TRUE(run(restarted.load()));
  restarted.start();
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(web.posted_to(kNode), IsEmpty());
  EXPECT_THAT(web.posted_to(kPeople), SizeIs(1));
  finish(restarted.stop());
}

// By which of its hashtags a post was announced depends on all of them, and on who followed them then.
class Restarting : public AnnouncerTest {
 protected:
  Restarting() {
    join("cats"_tag, "alice");
    join("dogs"_tag, "alice");
    join("dogs"_tag, "bob");
  }
  ~Restarting() override { finish(now->stop()); }

  void join(const Tag& tag, const std::string& who) {
    followers.add({tag, "https://social.example/u/" + who, kPeople, "", Via::kBoost, last});
  }
  void leave(const Tag& tag, const std::string& who) {
    followers.remove(tag, "https://social.example/u/" + who);
  }
  // One post, as far as the test goes on.
  void enter_stored(const std::vector<Tag>& tags, Op op, bool is_edit = true) {
    std::vector<TagEvent> events;
    for (const Tag& tag : tags) {
      events.push_back(
          {tag, op, "https://author.example/1", "https://author.example/u", clock.wall_now(), true});
      if (is_edit) events.back().changed = clock.wall_now();
    }
    const auto accepted = run(stores->relay.accept(events, 0));
    ASSERT_TRUE(accepted);
    for (std::size_t i = 0; i < events.size(); ++i) {
      last = accepted->at(i).feed_seq;
      events[i].announced = accepted->at(i).announced;
      now->push({last, events[i], accepted->at(i).added});
    }
  }
  void restart() {
    finish(now->stop());
    loop.run_for(std::chrono::seconds(1));
    web.calls.clear();
    second = std::make_unique<Announcer>(queues::QueueOptions{}, stores->relay, followers, blocks, sender,
                                         runtime);
    now = second.get();
    ASSERT_TRUE(run(now->load()));
    now->start();
    loop.run_for(Duration(1));
    ASSERT_FALSE(now->is_reading());
  }
  // "Announce dogs", and so on, of what the people's server has got since that was asked last.
  std::vector<std::string> told(Duration wait = std::chrono::minutes(1)) {
    loop.run_for(wait);
    std::vector<std::string> said;
    for (const json::object& sent : web.posted_to(kPeople)) {
      const std::string actor = json::id_of(sent, "actor");
      said.push_back(json::id_of(sent, "type") + " " + actor.substr(actor.rfind('/') + 1));
    }
    web.calls.clear();
    return said;
  }

  std::uint64_t last = 0;
  std::unique_ptr<Announcer> second;
  Announcer* now = &announcer;
};

TEST_F(Restarting, APostThatLosesItsHashtagIsAnnouncedUnderAnother) {
  enter_stored({"cats"_tag, "dogs"_tag}, Op::kAdd);
  EXPECT_THAT(told(), ElementsAre("Announce dogs"));
  restart();
  EXPECT_THAT(told(), IsEmpty());
  enter_stored({"dogs"_tag}, Op::kRemove);
  EXPECT_THAT(told(), ElementsAre("Undo dogs", "Announce cats"));
  EXPECT_TRUE(now->idle());
  restart();
  enter_stored({"cats"_tag}, Op::kRemove, /*is_edit=*/false);
  EXPECT_THAT(told(), ElementsAre("Undo cats"));
}

TEST_F(Restarting, WhatWaitsUnderAHashtagThatIsFollowedNoMoreIsAnnouncedUnderAnother) {
  for (const bool restarts : {false, true}) {
    web.statuses[kPeople] = 503;
    enter_stored({"cats"_tag, "dogs"_tag}, Op::kAdd);
    EXPECT_THAT(told(), testing::Each(testing::Eq("Announce dogs")));
    leave("dogs"_tag, "alice");
    leave("dogs"_tag, "bob");
    web.statuses.clear();
    if (restarts) restart();
    EXPECT_THAT(told(std::chrono::minutes(10)), ElementsAre("Announce cats"));
    EXPECT_TRUE(now->idle());
    enter_stored({"cats"_tag, "dogs"_tag}, Op::kRemove);
    EXPECT_THAT(told(), ElementsAre("Undo cats"));
    join("dogs"_tag, "alice");
    join("dogs"_tag, "bob");
  }
}

TEST_F(Restarting, AHashtagUnderWhichNothingWasSaidIsLostInSilence) {
  enter_stored({"cats"_tag, "dogs"_tag}, Op::kAdd);
  EXPECT_THAT(told(), ElementsAre("Announce dogs"));
  restart();
  enter_stored({"cats"_tag}, Op::kRemove);
  EXPECT_THAT(told(), IsEmpty());
  restart();
  EXPECT_THAT(told(), IsEmpty());
  enter_stored({"dogs"_tag}, Op::kRemove, /*is_edit=*/false);
  EXPECT_THAT(told(), ElementsAre("Undo dogs"));
}

TEST_F(Restarting, WhatWasSaidIsUndoneWhoeverHasLeftMeanwhile) {
  enter_stored({"cats"_tag, "dogs"_tag}, Op::kAdd);
  EXPECT_THAT(told(), ElementsAre("Announce dogs"));
  leave("dogs"_tag, "bob");
  restart();
  enter_stored({"cats"_tag}, Op::kRemove);
  EXPECT_THAT(told(), IsEmpty());
  enter_stored({"dogs"_tag}, Op::kRemove);
  EXPECT_THAT(told(), ElementsAre("Undo dogs"));
}

TEST_F(Restarting, WhatIsToBeSaidAnewIsSaidAfterItOnce) {
  join("birds"_tag, "alice");
  enter_stored({"birds"_tag, "cats"_tag, "dogs"_tag}, Op::kAdd);
  EXPECT_THAT(told(), ElementsAre("Announce dogs"));
  enter_stored({"dogs"_tag}, Op::kRemove);
  EXPECT_THAT(told(std::chrono::seconds(2)), ElementsAre("Undo dogs"));
  restart();
  EXPECT_THAT(told(), ElementsAre("Announce birds"));
  join("cats"_tag, "carol");
  restart();
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(Restarting, WhatANodeIsOwedLateIsToldItThoughItHadGotFurther) {
  now->start();
  follow("cats"_tag, kNode, Via::kNode);
  const TagEvent first = take("https://other.example/1", "cats"_tag, Announcer::To::kPeople);
  take("https://other.example/2");
  loop.run_for(std::chrono::seconds(5));
  ASSERT_THAT(web.posted_to(kNode), SizeIs(1));
  web.statuses[kNode] = 503;
  EXPECT_TRUE(run(now->tell_nodes(first)));
  loop.run_for(std::chrono::seconds(5));
  EXPECT_FALSE(now->has_reached(kNode, now->last_seq()));
  restart();
  web.calls.clear();
  web.statuses.clear();
  loop.run_for(std::chrono::minutes(10));
  ASSERT_THAT(web.posted_to(kNode), SizeIs(1));
  EXPECT_THAT(json::serialize(web.posted_to(kNode).front()), testing::HasSubstr("other.example/1"));
  EXPECT_TRUE(now->has_reached(kNode, now->last_seq()));
  restart();
  loop.run_for(std::chrono::minutes(10));
  EXPECT_THAT(web.posted_to(kNode), IsEmpty());
}

TEST_F(Restarting, WhatMayHaveArrivedIsUndone) {
  leave("cats"_tag, "alice");
  web.statuses[kPeople] = 503;
  enter_stored({"dogs"_tag}, Op::kAdd);
  EXPECT_THAT(told(), testing::Contains("Announce dogs"));
  enter_stored({"dogs"_tag}, Op::kRemove, /*is_edit=*/false);
  restart();
  web.statuses.clear();
  EXPECT_THAT(told(), testing::Contains("Undo dogs"));
  EXPECT_TRUE(now->idle());
}

TEST_F(Restarting, WhatWasSaidBeforeTwoServersWereKeptApartIsUndoneAndNothingElse) {
  const federation::Separation apart{"social.example", "author.example", true};
  leave("cats"_tag, "alice");
  enter_stored({"dogs"_tag}, Op::kAdd);
  EXPECT_THAT(told(), ElementsAre("Announce dogs"));
  blocks.add(apart);
  restart();
  EXPECT_TRUE(now->has_told(kPeople, "https://author.example/1"));
  enter_stored({"dogs"_tag}, Op::kRemove, /*is_edit=*/false);
  EXPECT_THAT(told(), ElementsAre("Undo dogs"));
}

TEST_F(Restarting, WhatCameWhileTheyWereKeptApartIsNotUndone) {
  const federation::Separation apart{"social.example", "author.example", true};
  blocks.add(apart);
  enter_stored({"cats"_tag, "dogs"_tag}, Op::kAdd);
  enter("https://other.example/1", "cats"_tag);  // the place in the feed is passed
  EXPECT_THAT(told(), SizeIs(1));
  restart();
  EXPECT_FALSE(now->has_told(kPeople, "https://author.example/1"));
  blocks.remove(apart);
  restart();
  enter_stored({"dogs"_tag}, Op::kRemove, /*is_edit=*/false);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(Restarting, WhoCameAfterAPostDoesNotHearOfItsEnd) {
  const std::string late = "https://late.example/inbox";
  const std::string replayed = "https://replayed.example/inbox";
  for (const bool restarts : {false, true}) {
    enter_stored({"dogs"_tag}, Op::kAdd);
    EXPECT_THAT(told(), ElementsAre("Announce dogs"));
    for (const std::string& inbox : {late, replayed})
      followers.add({"dogs"_tag, inbox + "/of-somebody", inbox, "", Via::kTagRelay, last});
    followers.add({"dogs"_tag, kNode + "/of-somebody", kNode, "", Via::kNode, last});
    lost.replayed = "replayed.example";
    if (restarts) restart();
    enter_stored({"dogs"_tag}, Op::kRemove);
    loop.run_for(std::chrono::seconds(3));
    EXPECT_THAT(web.posted_to(late), IsEmpty());
    EXPECT_THAT(web.posted_to(replayed), SizeIs(1)) << "what came before was replayed";
    EXPECT_THAT(web.posted_to(kNode), SizeIs(1)) << "nodes ask for what they missed";
    EXPECT_THAT(told(), ElementsAre("Undo dogs"));
    for (const std::string& inbox : {late, replayed, kNode})
      followers.remove("dogs"_tag, inbox + "/of-somebody");
  }
}

TEST_F(Restarting, TheDaysForWhichAnInboxIsGoneGoOn) {
  web.statuses[kPeople] = 410;
  announcer.start();
  enter_stored({"dogs"_tag}, Op::kAdd);
  loop.run_for(days(2));
  enter_stored({"birds"_tag}, Op::kAdd);  // without anything of that day its date would be doubted
  restart();
  EXPECT_THAT(lost.inboxes, IsEmpty());
  loop.run_for(Announcer::kGoneAfter - days(2) - std::chrono::hours(1));
  EXPECT_THAT(lost.inboxes, IsEmpty());
  loop.run_for(std::chrono::hours(2));
  EXPECT_THAT(lost.inboxes, ElementsAre(kPeople));
}

TEST_F(Restarting, SoDoesTheWeekForWhichItRefusesEverything) {
  web.statuses[kPeople] = 403;
  announcer.start();
  const auto enter_some = [&](unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      const std::string uri = "https://author.example/n" + std::to_string(last);
      const TagEvent event{"dogs"_tag, Op::kAdd, uri, "https://author.example/u", clock.wall_now(), true};
      last = run(stores->relay.accept({event}, 0))->front().feed_seq;
      now->push({last, event});
    }
    loop.run_for(std::chrono::minutes(1));
  };
  enter_some(Announcer::kRefusalsMax + 1);
  restart();
  EXPECT_THAT(now->refusing(), ElementsAre(std::pair(kPeople, Announcer::kRefusalsMax + 1)));
  loop.run_for(Announcer::kLifetime);
  enter_some(1);
  EXPECT_THAT(lost.inboxes, ElementsAre(kPeople));
}

// Some answer, so that it is not this node that is cut off.
class Silent : public Restarting {
 protected:
  Silent() {
    for (const std::string host : {"a", "b"}) {
      up.push_back("https://" + host + ".example/inbox");
      follow("dogs"_tag, up.back(), Via::kBoost);
    }
    web.statuses[kPeople] = 503;
    now->start();
  }
  // Of posts, so many each day.
  void pass(int days_passed, int posts = 1) {
    for (int day = 0; day < days_passed; ++day) {
      for (int i = 0; i < posts; ++i) {
        const std::string uri = "https://author.example/n" + std::to_string(last);
        const TagEvent event{"dogs"_tag, Op::kAdd, uri, "https://author.example/u", clock.wall_now(), true};
        last = run(stores->relay.accept({event}, 0))->front().feed_seq;
        now->push({last, event});
      }
      loop.run_for(days(1));
    }
  }
  std::vector<std::string> up;
};

TEST_F(Silent, AnInboxLosesAllItsFollowersAfterAMonthWhateverHashtagThePostsHave) {
  pass(15, 3);
  restart();
  pass(14, 3);
  EXPECT_THAT(lost.inboxes, IsEmpty());
  pass(2);
  EXPECT_THAT(lost.inboxes, ElementsAre(kPeople, kPeople)) << "cats and dogs";
}

TEST_F(Silent, ANodeIsLostLikewiseWithWhatWaitsForIt) {
  web.statuses.clear();
  web.statuses[kNode] = 503;
  follow("dogs"_tag, kNode, Via::kNode);
  pass(30);
  EXPECT_THAT(lost.inboxes, IsEmpty());
  pass(2);
  EXPECT_THAT(lost.inboxes, ElementsAre(kNode));
}

TEST_F(Silent, WhoRefusesOnePostIsNotSilent) {
  pass(20);
  web.statuses[kPeople] = 403;
  pass(1);
  web.statuses[kPeople] = 503;
  pass(12);
  EXPECT_THAT(lost.inboxes, IsEmpty());
}

TEST_F(Silent, ADayWithoutATryOrOnWhichFewAnswerIsNotCounted) {
  pass(5);
  loop.run_for(days(28));
  pass(3);
  EXPECT_THAT(lost.inboxes, IsEmpty()) << "nothing was tried for most of that time";
  web.statuses[up.front()] = 503;
  pass(24);
  EXPECT_THAT(lost.inboxes, IsEmpty()) << "one of three may be a neighbour of a node that is cut off";
}

TEST_F(AnnouncerTest, TheFeedKeepsForThreeDaysWhatAllHaveTakenAndLongerWhatSomebodyHasNot) {
  follow("cats"_tag, kNode, Via::kNode);
  web.statuses[kNode] = 503;
  const TagEvent event{"cats"_tag,       Op::kAdd, "https://author.example/1", "https://author.example/u",
                       clock.wall_now(), true};
  announcer.start();
  announcer.push({run(stores->relay.accept({event}, 0))->front().feed_seq, event});
  loop.run_for(days(4));
  EXPECT_THAT(run(stores->relay.feed(0, 10)).value(), SizeIs(1));
  web.statuses.clear();
  loop.run_for(std::chrono::hours(2));
  EXPECT_THAT(run(stores->relay.feed(0, 10)).value(), IsEmpty());
}

TEST_F(AnnouncerTest, WhatAllHaveTakenIsInTheFeedOnTheTwoDaysAfter) {
  announcer.start();
  take("https://author.example/1");
  loop.run_for(days(3) - std::chrono::hours(1));
  EXPECT_THAT(run(stores->relay.feed(0, 10)).value(), SizeIs(1));
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

TEST_F(AnnouncerTest, AnInboxThatIsGoneForAnHourIsReported) {
  follow("cats"_tag, kNode, Via::kNode);
  web.statuses[kNode] = 410;
  enter("https://author.example/1");
  loop.run_for(std::chrono::minutes(45));
  EXPECT_THAT(lost.inboxes, testing::IsEmpty()) << "proxies err";
  loop.run_for(std::chrono::minutes(45));
  EXPECT_THAT(lost.inboxes, ElementsAre(kNode));
}

TEST_F(AnnouncerTest, TheFeedIsForNewOwnersForADayAndLongerWhereANodeDoesNotTakeIt) {
  announcer.start();
  take("https://author.example/1");
  EXPECT_EQ(run(announcer.handed_from()).value(), 0U);
  loop.run_for(days(2));
  take("https://author.example/2");
  EXPECT_THAT(run(stores->relay.feed(0, 10)).value(), SizeIs(2));
  EXPECT_EQ(run(announcer.handed_from()).value(), 1U);
  follow("cats"_tag, kNode, Via::kNode);
  web.statuses[kNode] = 503;
  take("https://author.example/3");
  loop.run_for(days(2));
  take("https://author.example/4");
  EXPECT_LT(run(announcer.handed_from()).value(), 3U);
  web.statuses.erase(kNode);
  loop.run_for(std::chrono::hours(12));
  EXPECT_TRUE(announcer.idle());
  EXPECT_EQ(run(announcer.handed_from()).value(), 3U);
}

// What is old goes by the date; what is owed must outlive a clock that somebody sets wrong for a while.
TEST_F(AnnouncerTest, AClockThatIsSetAheadForAMinuteTakesNothingWithIt) {
  announcer.start();
  follow("cats"_tag, kNode, Via::kNode);
  web.statuses[kNode] = 503;
  take("https://author.example/1");
  loop.run_for(std::chrono::minutes(5));
  clock.set_skew(days(60));
  loop.run_for(std::chrono::minutes(5));
  clock.set_skew(Duration::zero());
  loop.run_for(std::chrono::minutes(5));
  EXPECT_THAT(run(stores->relay.feed(0, 10)).value(), SizeIs(1));
}

TEST_F(AnnouncerTest, AClockThatWasSetAheadWhileTheNodeWasDownTakesNothingWithIt) {
  follow("cats"_tag, kNode, Via::kNode);
  web.statuses[kNode] = 503;
  take("https://author.example/1");
  finish(announcer.stop());
  clock.set_skew(days(60));
  Announcer restarted{{}, stores->relay, followers, blocks, sender, runtime};
  ASSERT_TRUE(run(restarted.load()));
  restarted.start();
  loop.run_for(std::chrono::hours(20));
  EXPECT_THAT(run(stores->relay.feed(0, 10)).value(), SizeIs(1));
  loop.run_for(std::chrono::hours(10));
  EXPECT_THAT(run(stores->relay.feed(0, 10)).value(), IsEmpty()) << "by now somebody would have set it right";
  finish(restarted.stop());
}

TEST_F(AnnouncerTest, NorDoesItTakeTheFollowersAtAnInboxThatHasBeenGoneForAnHour) {
  follow("cats"_tag, kPeople, Via::kBoost);
  web.statuses[kPeople] = 404;
  take("https://author.example/1");
  loop.run_for(std::chrono::hours(1));
  finish(announcer.stop());
  clock.set_skew(Announcer::kGoneAfter);
  Announcer restarted{{}, stores->relay, followers, blocks, sender, runtime};
  ASSERT_TRUE(run(restarted.load()));
  restarted.start();
  loop.run_for(std::chrono::hours(2));
  EXPECT_THAT(lost.inboxes, IsEmpty());
  finish(restarted.stop());
}

// What was so weeks ago says nothing of who follows there now.
TEST_F(AnnouncerTest, WhoFollowsFromAnInboxThatAllHadLeftBeginsAnew) {
  announcer.start();
  follow("cats"_tag, kPeople, Via::kBoost);
  web.statuses[kPeople] = 404;
  enter("https://author.example/1");
  followers.remove("cats"_tag, kPeople + "/of-somebody");
  loop.run_for(days(4));
  follow("cats"_tag, kPeople, Via::kBoost);
  enter("https://author.example/2");
  loop.run_for(std::chrono::hours(1));
  EXPECT_THAT(lost.inboxes, IsEmpty());
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
