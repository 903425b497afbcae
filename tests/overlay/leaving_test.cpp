// How a node leaves a ring, and what it can do from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "delivery/role_fixture.hpp"

namespace tagring::overlay {
namespace {

class GivenUp final : public SilentObserver {
 public:
  void gave_up(Ring ring, const RingId& /*vserver*/, const Segment& positions, Instant /*since*/) override {
    all.emplace_back(ring, positions);
  }
  std::vector<std::pair<Ring, Segment>> all;
};

// The next node on the ring, which knows no third one. What it says to "take_over" is the test's; of others
// the web says what it says.
class NextNode final : public HttpClient {
 public:
  NextNode(Clock& clock, HttpClient& others, ring::Contact self, ring::Contact leaver)
      : clock_(clock), others_(others), self_(std::move(self)), leaver_(std::move(leaver)) {}

  Task<Result<HttpResponse>> send(HttpCall call) override {
    if (call.url.text() != self_.origin() + std::string(RingService::kPath))
      co_return co_await others_.send(std::move(call));
    HttpResponse response;
    response.body = "{}";
    if (call.body.contains("\"neighbours\"")) {
      ++looked;
      response.body = ring::encode(ring::Neighbours{leaver_, {leaver_}});
    } else if (call.body.contains("\"find\"")) {
      response.body = ring::encode(ring::FindReply{Segment{leaver_.id, self_.id}, {}});
    } else if (call.body.contains("\"take_over\"")) {
      const bool agrees = ++asked >= agrees_at;
      const Instant answers = clock_.now() + takes;
      co_await clock_.sleep_until(answers);
      if (!agrees) response.status = status;
      if (!agrees) response.body = refusal;
    }
    co_return response;
  }

  int status = 500;
  std::string refusal;
  int agrees_at = 1;  // the first "take_over" that it carries out
  int asked = 0;
  Duration takes{};  // until it answers "take_over"
  int looked = 0;    // how often it was asked for its neighbours

 private:
  Clock& clock_;
  HttpClient& others_;
  ring::Contact self_;
  ring::Contact leaver_;
};

class Leaving : public RoleTest {
 protected:
  Leaving() {
    RingService::Options options;
    options.network = "tagring";
    options.contacts = {self};
    options.bootstrap = {next.origin()};
    service = std::make_unique<RingService>(std::move(options), neighbour, given_up, runtime);
    service->of(Ring::kRelay).vservers().front()->restore(next, {next}, {});
  }
  ~Leaving() override { finish(service->stop()); }

  Task<json::object> left() {
    co_await service->leave(Ring::kRelay);
    co_return service->left(Ring::kRelay);
  }
  json::object leave() { return loop.await(kOwner, left(), std::chrono::hours(2)).value(); }
  Task<void> give_up() { co_await service->give_up_place(Ring::kRelay, 0); }
  // What the next node's NodeInfo says who stands on the relay ring.
  void announce(const ring::Contact& member) {
    web.bodies[next.origin() + "/.well-known/nodeinfo"] =
        R"({"links":[{"rel":"http://nodeinfo.diaspora.software/ns/schema/2.1","href":")" + next.origin() +
        R"(/nodeinfo/2.1"}]})";
    web.bodies[next.origin() + "/nodeinfo/2.1"] = json::serialize(json::object{
        {"metadata", {{"tagring", {{"network", "tagring"}, {"relay", json::array{to_json(member)}}}}}}});
  }

  const ring::Contact next = ring::real_contact(2);
  const std::string kWhole = R"({"handed_over":1,"not_handed_over":[]})";
  NextNode neighbour{clock, web, next, self};
  GivenUp given_up;
  std::unique_ptr<RingService> service;
};

TEST_F(Leaving, WhatIsTakenOverIsNotOwed) {
  EXPECT_EQ(json::serialize(leave()), kWhole);
  EXPECT_THAT(given_up.all, testing::IsEmpty());
  EXPECT_TRUE(service->has_left(Ring::kRelay));
  EXPECT_FALSE(service->of(Ring::kRelay).is_seeking()) << "others would wait for it to found a ring";
}

TEST_F(Leaving, WhoHandsOverIsLeavingUntilBothRingsAreLeft) {
  neighbour.takes = std::chrono::minutes(4);
  EXPECT_FALSE(service->is_leaving());
  TaskGroup tasks(runtime.executor);
  tasks.spawn("leave", service->leave(Ring::kRelay));
  loop.run_for(std::chrono::minutes(1));
  EXPECT_TRUE(service->is_leaving());
  EXPECT_EQ(service->places(), 2U);
  loop.run_for(std::chrono::minutes(4));
  EXPECT_TRUE(service->of(Ring::kRelay).vservers().empty());
  EXPECT_TRUE(service->is_leaving()) << "the storage ring's turn is to come";
  tasks.spawn("leave", service->leave(Ring::kStorage));
  loop.run_for(std::chrono::minutes(1));
  EXPECT_FALSE(service->is_leaving());
  EXPECT_TRUE(service->has_left(Ring::kStorage));
  finish(tasks.join());
}

TEST_F(Leaving, WhoCopiesForLongIsAskedUntilItHasAll) {
  neighbour.status = 503;
  neighbour.refusal = R"({"error":"busy","message":"this node is taking over from the leaver already"})";
  neighbour.agrees_at = 100;
  EXPECT_EQ(json::serialize(leave()), kWhole);
  EXPECT_EQ(neighbour.asked, 100);
}

TEST_F(Leaving, WhoFailsIsAskedAFewTimes) {
  neighbour.agrees_at = 4;
  EXPECT_EQ(json::serialize(leave()), kWhole);
}

TEST_F(Leaving, WhoNeverTakesOverIsNamedInTheEnd) {
  neighbour.agrees_at = 1'000;
  EXPECT_THAT(json::serialize(leave()),
              testing::HasSubstr(R"("handed_over":0,"not_handed_over":[{"vserver":0)"));
  EXPECT_EQ(neighbour.asked, 6);
}

TEST_F(Leaving, WhatNobodyTakesOverIsNamedAndOwed) {
  neighbour.status = 403;
  neighbour.refusal = R"({"error":"denied","message":"n1.example is blocked here"})";
  neighbour.agrees_at = 2;
  EXPECT_EQ(
      json::serialize(leave()),
      R"({"handed_over":0,"not_handed_over":[{"vserver":0,"because":"n2.example: n1.example is blocked here"}]})");
  EXPECT_EQ(given_up.all, (std::vector<std::pair<Ring, Segment>>{{Ring::kRelay, {next.id, self.id}}}));
  EXPECT_TRUE(service->of(Ring::kRelay).vservers().empty()) << "it goes all the same";
}

TEST_F(Leaving, WhoIsAloneHandsNothingOver) {
  service->of(Ring::kRelay).vservers().front()->restore({}, {}, {});
  EXPECT_THAT(json::serialize(leave()), testing::HasSubstr("no other node is known on that ring"));
}

TEST_F(Leaving, AHandOverThatIsCancelledLeavesThePlaceAsItWas) {
  neighbour.takes = std::chrono::hours(1);
  TaskGroup tasks(runtime.executor);
  tasks.spawn("give_up", give_up());
  loop.run_for(std::chrono::seconds(10));
  ring::Membership& membership = service->of(Ring::kRelay);
  EXPECT_TRUE(service->leaving(Ring::kRelay, self.id));
  EXPECT_EQ(membership.serving(self.id), nullptr);
  EXPECT_EQ(neighbour.looked, 0);
  tasks.cancel();
  finish(tasks.join());
  EXPECT_FALSE(service->leaving(Ring::kRelay, self.id));
  EXPECT_NE(membership.serving(self.id), nullptr);
  loop.run_for(std::chrono::seconds(20));
  EXPECT_GT(neighbour.looked, 0) << "its upkeep goes on";
}

TEST_F(Leaving, AHandOverThatFailsAfterTheEndBeginsNothing) {
  neighbour.takes = std::chrono::seconds(10);
  neighbour.agrees_at = 1'000;
  TaskGroup tasks(runtime.executor);
  tasks.spawn("give_up", give_up());
  loop.run_for(std::chrono::seconds(5));
  EXPECT_EQ(neighbour.asked, 1);
  finish(service->stop());
  loop.run_for(std::chrono::minutes(1));
  EXPECT_GT(neighbour.asked, 1);
  EXPECT_EQ(neighbour.looked, 0);
  tasks.cancel();
  finish(tasks.join());
}

// Its own name and another are in one domain, and both at one address: docs/protocol.md, 9.9.
TEST_F(Leaving, WhoHasLeftFindsOwnersInItsOwnPlaces) {
  leave();
  ring::Contact heir = self;
  heir.host = "new." + self.host;
  announce(heir);
  web.bodies[heir.origin() + std::string(RingService::kPath)] =
      ring::encode(ring::FindReply{Segment{heir.id, heir.id}, {}});
  const auto owner = run(service->of(Ring::kRelay).find_owner(next.id));
  ASSERT_TRUE(owner) << owner.error().message;
  EXPECT_EQ(owner->contact, heir);
}

TEST_F(Leaving, WhoHasLeftBeforeLooksUpOwnersAfterARestart) {
  service->stay_away();
  announce(next);
  const auto owner = run(service->of(Ring::kRelay).find_owner(next.id));
  ASSERT_TRUE(owner) << owner.error().message;
  EXPECT_EQ(owner->contact, next);
  // Those through whom it asks are known for a while.
  const auto asks = [this] {
    return std::ranges::count_if(web.calls, [](const HttpCall& call) { return call.method == "GET"; });
  };
  const auto before = asks();
  service->of(Ring::kRelay).forget_route(next.id);
  EXPECT_TRUE(run(service->of(Ring::kRelay).find_owner(next.id)));
  EXPECT_EQ(asks(), before);
}

}  // namespace
}  // namespace tagring::overlay
