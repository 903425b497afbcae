// What servers are told that use the node as a FASP, when, and how often.
#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "delivery/announcer.hpp"
#include "delivery/role_fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::delivery {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kServer = "https://social.example/api/fasp/announcements";

// What the server answers.
class FaspServer final : public SilentObserver {
 public:
  void lost_follower(const Tag& tag, const std::string& /*inbox*/) override { lost.insert(tag.canonical()); }
  Task<Result<HttpResponse>> deliver_to_fasp_server(std::string inbox, std::string body) override {
    const json::object said = json::parse_object(body).value();
    const std::string tag = json::text_of(said, "hashtag");
    HttpResponse response;
    response.status = statuses.contains(tag) ? statuses.at(tag) : status;
    std::vector<std::string> uris;
    for (const json::value& uri : said.at("objectUris").as_array()) {
      uris.emplace_back(uri.as_string());
      if (unreadable.contains(uris.back())) response.status = 422;
    }
    largest = std::max(largest, uris.size());
    ++requests;
    if (!retry_after.empty()) response.headers.add("Retry-After", retry_after);
    if (hosts != nullptr) hosts->note(host_of(inbox), "POST", response);
    meanwhile();
    sizes[tag].push_back(uris.size());
    if (response.status == 204) told[tag].insert(told[tag].end(), uris.begin(), uris.end());
    co_return response;
  }
  int status = 204;
  std::map<std::string, int> statuses;  // by hashtag
  std::set<std::string> unreadable;     // URIs
  std::string retry_after;
  queues::HostPauses* hosts = nullptr;
  std::function<void()> meanwhile = [] {};
  std::map<std::string, std::vector<std::string>> told;  // by hashtag: URIs
  std::size_t requests = 0;
  std::size_t largest = 0;                                // URIs of one of them
  std::map<std::string, std::vector<std::size_t>> sizes;  // by hashtag: of each
  std::set<std::string> lost;                             // hashtags
};

class AnnouncerFaspTest : public RoleTest {
 protected:
  AnnouncerFaspTest() {
    for (const Tag& tag : {"cats"_tag, "dogs"_tag}) follow(tag);
    server.hosts = &sender.hosts();
  }
  ~AnnouncerFaspTest() override {
    if (now) finish(now->stop());
  }
  void follow(const Tag& tag, const std::string& inbox = kServer, Via via = Via::kFasp) {
    followers.add({tag, inbox + "/server", inbox, "", via, 0});
  }
  // Takes posts, which are on the disk then.
  void enter(const Tag& tag, int count) {
    std::vector<TagEvent> events;
    for (int i = 0; i < count; ++i) {
      const std::string uri = fmt::format("https://author.example/{}/{}", tag.canonical(), ++posts);
      events.push_back({tag, Op::kAdd, uri, "https://author.example/u", clock.wall_now(), true});
    }
    const auto accepted = run(stores->relay.accept(events, 0));
    for (std::size_t i = 0; i < events.size(); ++i) now->push({accepted->at(i).feed_seq, events[i]});
  }
  std::unique_ptr<Announcer> announcer() {
    return std::make_unique<Announcer>(queues::QueueOptions{}, stores->relay, followers, blocks, sender,
                                       runtime);
  }
  void restart() {
    finish(now->stop());
    now = announcer();
    run(now->load()).value();
    now->start();
  }

  int posts = 0;
  Followers followers;
  federation::Blocks blocks;
  budget::Manager budget{budget::default_budgets(), runtime.clock};
  federation::RemoteKeys keys{budget, client, runtime};
  federation::Authenticator authenticator{{}, {}, keys, runtime};
  PartialCollections partials{{false, {}}, followers, identity, authenticator, observer, runtime};
  FaspServer server;
  AnnouncementSender sender{followers, partials, client, server, runtime};
  std::unique_ptr<Announcer> now = announcer();
};

// More of it than any request carries, and from before the other one.
TEST_F(AnnouncerFaspTest, AHashtagThatFailsHoldsUpNoOther) {
  now->start();
  server.statuses["dogs"] = 500;
  enter("dogs"_tag, 600);
  loop.run_for(minutes(30));
  enter("cats"_tag, 3);
  loop.run_for(seconds(2));
  EXPECT_THAT(server.told["cats"], SizeIs(3));
  EXPECT_THAT(server.told["dogs"], IsEmpty());
  server.statuses.clear();
  loop.run_for(hours(1));
  EXPECT_THAT(server.told["dogs"], SizeIs(600));
  EXPECT_LE(server.largest, AnnouncementSender::kFaspObjectsMax);
  EXPECT_TRUE(now->idle());
}

TEST_F(AnnouncerFaspTest, WhatWasTakenBeforeSomethingElseIsNotToldAgainAfterARestart) {
  now->start();
  server.statuses["dogs"] = 500;
  enter("dogs"_tag, 1);
  enter("cats"_tag, 3);
  loop.run_for(seconds(10));
  ASSERT_THAT(server.told["cats"], SizeIs(3));
  server.told.clear();
  server.statuses.clear();
  restart();
  loop.run_for(minutes(1));
  EXPECT_THAT(server.told["dogs"], SizeIs(1));
  EXPECT_THAT(server.told["cats"], IsEmpty());
  EXPECT_TRUE(now->has_reached(kServer, now->last_seq()));
}

TEST_F(AnnouncerFaspTest, AServerThatIsAwayIsAskedLessAndLessOftenWhateverWaits) {
  server.status = 503;
  for (int i = 0; i < 100; ++i) {
    const Tag tag = Tag::from_canonical(fmt::format("tag{}", i));
    follow(tag);
    enter(tag, 3);
  }
  loop.run_for(hours(3));
  EXPECT_LT(server.requests, 60U);
  server.status = 204;
  loop.run_for(minutes(20));
  EXPECT_THAT(server.told, SizeIs(100));
  EXPECT_TRUE(now->idle());
}

TEST_F(AnnouncerFaspTest, APauseThatTheServerAsksForIsKept) {
  server.status = 429;
  server.retry_after = "1800";
  enter("cats"_tag, 1);
  enter("dogs"_tag, 1);
  loop.run_for(minutes(29));
  EXPECT_LE(server.requests, 2U) << "those that were under way when it said so";
  server.status = 204;
  server.retry_after.clear();
  loop.run_for(minutes(2));
  EXPECT_THAT(server.told, SizeIs(2));
}

TEST_F(AnnouncerFaspTest, APostThatTheServerDoesNotTakeIsFoundAmongTheOthers) {
  server.unreadable = {"https://author.example/cats/42", "https://author.example/cats/77"};
  enter("cats"_tag, 120);
  loop.run_for(minutes(10));
  EXPECT_THAT(server.told["cats"], SizeIs(118));
  EXPECT_TRUE(now->idle()) << "they are not sent again";
  EXPECT_LT(server.requests, 60U);
}

TEST_F(AnnouncerFaspTest, OnlyWhatMayBeTooMuchGoesInParts) {
  for (const int status : {401, 403, 429, 503, 500, 502}) {
    server.sizes.clear();
    server.statuses["cats"] = status;
    enter("cats"_tag, 10);
    loop.run_for(minutes(1));
    const std::vector<std::size_t>& sizes = server.sizes["cats"];
    ASSERT_GT(sizes.size(), 1U) << status;
    const bool divides = status == 500 || status == 502;
    EXPECT_EQ(std::ranges::min(sizes) < 10, divides) << status;
    server.statuses.clear();
    loop.run_for(minutes(10));
    ASSERT_TRUE(now->idle()) << status;
  }
}

TEST_F(AnnouncerFaspTest, APostIsNotNewAfterItsEndThoughItFailedBefore) {
  server.statuses["cats"] = 500;
  enter("cats"_tag, 2);
  loop.run_for(minutes(5));
  const std::string uri = "https://author.example/cats/1";
  const TagEvent end{"cats"_tag, Op::kRemove, uri, "https://author.example/u", clock.wall_now(), true};
  const auto accepted = run(stores->relay.accept({end}, 0));
  now->push({accepted->at(0).feed_seq, end});
  server.statuses.clear();
  loop.run_for(minutes(20));
  EXPECT_THAT(server.told["cats"], testing::UnorderedElementsAre(uri, "https://author.example/cats/2"));
  EXPECT_TRUE(now->idle());
}

TEST_F(AnnouncerFaspTest, WhoIsNotSubscribedToAHashtagKeepsTheOthers) {
  server.statuses["dogs"] = 404;
  enter("dogs"_tag, 2);
  enter("cats"_tag, 1);
  loop.run_for(seconds(10));
  EXPECT_THAT(server.lost, ElementsAre("dogs"));
  EXPECT_THAT(server.told["cats"], SizeIs(1));
  EXPECT_TRUE(now->idle());
}

TEST_F(AnnouncerFaspTest, WhoSubscribesAgainWhileItSaysThatItIsNotStaysSubscribed) {
  server.statuses["dogs"] = 404;
  server.meanwhile = [this] { followers.note_asked("dogs"_tag, kServer); };
  enter("dogs"_tag, 1);
  loop.run_for(Duration(100));
  EXPECT_THAT(server.lost, IsEmpty());
  server.statuses.clear();
  loop.run_for(seconds(10));
  EXPECT_THAT(server.told["dogs"], SizeIs(1));
}

TEST_F(AnnouncerFaspTest, WhatIsNotTakenForAWeekIsGivenUpAndNothingElse) {
  server.status = 503;
  enter("cats"_tag, 1);
  loop.run_for(days(8));
  enter("cats"_tag, 1);
  loop.run_for(seconds(1));
  server.status = 204;
  loop.run_for(hours(1));
  EXPECT_THAT(server.told["cats"], ElementsAre("https://author.example/cats/2"));
  EXPECT_TRUE(now->idle());
}

// Its administrator and this node's have agreed on it.
TEST_F(AnnouncerFaspTest, AServerThatIsSilentForAMonthKeepsItsSubscriptionsAndIsReported) {
  for (const std::string inbox : {"https://a.example/inbox", "https://b.example/inbox"})
    follow("cats"_tag, inbox, Via::kBoost);
  const auto pass_a_day = [this] {
    enter("cats"_tag, 1);
    loop.run_for(days(1));
  };
  server.status = 503;
  now->start();
  pass_a_day();
  Store::Cursors cursors = run(stores->relay.cursors()).value();
  cursors.at(kServer).silent_days = Announcer::kSilentDaysMax;
  finish(now->stop());
  run(stores->relay.advance(cursors, {})).value();
  restart();
  EXPECT_THAT(now->silent(), IsEmpty());
  pass_a_day();
  pass_a_day();
  EXPECT_THAT(server.lost, IsEmpty());
  EXPECT_THAT(now->silent(), ElementsAre(testing::Key(kServer)));
  EXPECT_GT(now->lanes().at(kServer).failures, 0U);
  restart();
  EXPECT_THAT(now->silent(), ElementsAre(testing::Key(kServer)));
  followers.remove("cats"_tag, kServer + "/server");
  followers.remove("dogs"_tag, kServer + "/server");
  EXPECT_THAT(now->silent(), IsEmpty()) << "nothing is owed to it";
  follow("cats"_tag);
  server.status = 204;
  loop.run_for(minutes(20));
  EXPECT_THAT(now->silent(), IsEmpty());
  EXPECT_THAT(server.told["cats"], SizeIs(3));
  EXPECT_TRUE(now->idle());
}

TEST_F(AnnouncerFaspTest, WhoSubscribesAnewIsNotSilentForWhatWasBefore) {
  server.status = 503;
  enter("cats"_tag, 1);
  loop.run_for(seconds(10));
  finish(now->stop());
  Store::Cursors cursors;
  cursors[kServer].acknowledged = now->last_seq();
  cursors[kServer].silent_days = Announcer::kSilentDaysMax + 1;
  run(stores->relay.advance(cursors, {})).value();
  restart();
  ASSERT_THAT(now->silent(), ElementsAre(testing::Key(kServer)));
  for (const Tag& tag : {"cats"_tag, "dogs"_tag}) followers.remove(tag, kServer + "/server");
  loop.run_for(minutes(5));
  follow("cats"_tag);
  EXPECT_THAT(now->silent(), IsEmpty());
}

}  // namespace
}  // namespace tagring::delivery
