// How a node finds the rings, by what others say in their NodeInfo.
#include "overlay/ring_service.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "delivery/role_fixture.hpp"

namespace tagring::overlay {
namespace {

const std::string kOther = ring::real_contact(2).origin();

class RingServiceTest : public RoleTest {
 protected:
  // A node that has met the other one, long ago.
  RingServiceTest() {
    RingService::Options options;
    options.network = "tagring";
    options.contacts = {self};
    options.address_book = json::serialize(json::array{json::object{
        {"origin", kOther},
        {"address", ring::real_contact(2).address.text()},
        {"answered",
         std::chrono::duration_cast<std::chrono::seconds>(clock.wall_now().time_since_epoch()).count()}}});
    options.save_address_book = [this](std::string text) { return save(std::move(text)); };
    service = std::make_unique<RingService>(std::move(options), web, ring_observer, runtime);
  }
  ~RingServiceTest() override { finish(service->stop()); }

  Task<Result<void>> save(std::string text) {
    ++saves;
    if (disk_full) co_return fail(ErrorCode::kUnavailable, "the disk is full");
    saved = std::move(text);
    co_return Result<void>();
  }
  // The other one answers, and says so.
  void announce(const std::string& members, const std::string& origin = kOther,
                const json::array& relay_ring = {}) {
    web.bodies[origin + "/.well-known/nodeinfo"] =
        R"({"links":[{"rel":"http://nodeinfo.diaspora.software/ns/schema/2.1","href":")" + origin +
        R"(/nodeinfo/2.1"}]})";
    web.bodies[origin + "/nodeinfo/2.1"] =
        R"({"metadata":{"tagring":{"network":"tagring","storage":[],"relay":)" + json::serialize(relay_ring) +
        members + "}}}";
  }

  // In place of the node one that has never met anybody, and is configured to know the other one.
  void forget_everybody() {
    RingService::Options options;
    options.network = "tagring";
    options.contacts = {self};
    options.bootstrap = {kOther};
    service = std::make_unique<RingService>(std::move(options), web, ring_observer, runtime);
  }

  // Whom the node takes to be the first of those that look for it.
  std::string first_of_relay_ring() {
    return std::string(service->announcement().at("seeks").at("relay").as_string());
  }

  bool disk_full = false;
  int saves = 0;
  std::string saved;
  std::unique_ptr<RingService> service;
};

TEST_F(RingServiceTest, WhoLooksForARingFoundsItWithOthersThatDo) {
  announce(R"(,"seeks":{"relay":")" + kOther + R"("})");
  service->start();
  loop.run_for(std::chrono::minutes(1));
  EXPECT_TRUE(service->of(Ring::kRelay).is_member());
  EXPECT_FALSE(service->of(Ring::kStorage).is_member()) << "nobody looks for that one";
}

TEST_F(RingServiceTest, WhoStandsNowhereAndLooksForNothingIsNoReasonToFoundARing) {
  announce("");
  service->start();
  loop.run_for(std::chrono::hours(1));
  EXPECT_FALSE(service->of(Ring::kRelay).is_member());
  EXPECT_EQ(first_of_relay_ring(), self.origin());
}

// Whoever is first is asked by who hears of it, and named to others only then.
TEST_F(RingServiceTest, OfWhoIsSaidToComeFirstOnlyThatOneTells) {
  const std::string first = "https://a.first.example";
  announce(R"(,"seeks":{"relay":")" + first + R"("})");
  service->start();
  loop.run_for(std::chrono::seconds(1));
  const auto calls_to_first =
      std::ranges::count_if(web.calls, [&](const HttpCall& call) { return call.url.origin() == first; });
  EXPECT_GT(calls_to_first, 0);
  EXPECT_NE(first_of_relay_ring(), first) << "it does not look for the ring";
}

TEST_F(RingServiceTest, WhoHasNeverMetAnybodySaysThatItIsANewcomer) {
  service->start();
  EXPECT_FALSE(service->announcement().contains("newcomer"));
  finish(service->stop());
  forget_everybody();
  service->start();
  EXPECT_TRUE(service->announcement().at("newcomer").as_bool());
}

TEST_F(RingServiceTest, ANewcomerNamesItselfOnlyIfItKnowsNobodyElseWhoLooksForTheRing) {
  ASSERT_LT(self.origin(), kOther);
  forget_everybody();
  service->start();
  loop.run_for(std::chrono::seconds(1));
  EXPECT_EQ(first_of_relay_ring(), self.origin());
  announce(R"(,"seeks":{"relay":")" + kOther + R"("})");
  loop.run_for(std::chrono::seconds(5));
  EXPECT_EQ(first_of_relay_ring(), kOther);
}

TEST_F(RingServiceTest, WhoLooksForARingAndOffersAWayInCountsForNeither) {
  const ring::Contact liar = ring::real_contact(0);
  ASSERT_LT(liar.origin(), self.origin());
  const std::string seeks = R"(,"seeks":{"relay":")" + liar.origin() + R"("})";
  announce(seeks);
  announce(seeks, liar.origin(), {ring::to_json(liar)});
  service->start();
  loop.run_for(std::chrono::seconds(5));
  EXPECT_EQ(first_of_relay_ring(), self.origin());
  EXPECT_TRUE(web.posted_to(liar.origin() + std::string(RingService::kPath)).empty());
  loop.run_for(ring::Membership::Options().search);
  EXPECT_TRUE(service->of(Ring::kRelay).is_member());
}

TEST_F(RingServiceTest, WhoLooksForARingFoundsItThoughOnlyANewcomerDoesSoToo) {
  announce(R"(,"newcomer":true,"seeks":{"relay":")" + kOther + R"("})");
  service->start();
  loop.run_for(std::chrono::minutes(1));
  EXPECT_TRUE(service->of(Ring::kRelay).is_member());
}

TEST_F(RingServiceTest, ANewcomerThatComesFirstIsNotWaitedFor) {
  const std::string newcomer = ring::real_contact(0).origin();
  ASSERT_LT(newcomer, self.origin());
  announce(R"(,"seeks":{"relay":")" + newcomer + R"("})");
  announce(R"(,"newcomer":true,"seeks":{"relay":")" + newcomer + R"("})", newcomer);
  service->start();
  loop.run_for(std::chrono::seconds(5));
  EXPECT_EQ(first_of_relay_ring(), self.origin());
  loop.run_for(ring::Membership::Options().search);
  EXPECT_TRUE(service->of(Ring::kRelay).is_member());
}

// A call that is answered changes what the book says of when.
TEST_F(RingServiceTest, AnAddressBookThatTheDiskDoesNotTakeNowIsWrittenLater) {
  disk_full = true;
  service->start();
  const ring::Contact other = ring::real_contact(3);
  web.bodies[other.origin() + std::string(RingService::kPath)] =
      R"({"load":0,"node_load":0,"capacity":0,"strained":false})";
  ASSERT_TRUE(run(service->ask_load(Ring::kRelay, other, Segment{})));
  loop.run_for(std::chrono::seconds(8));
  EXPECT_GT(saves, 0);
  disk_full = false;
  loop.run_for(std::chrono::seconds(8));
  EXPECT_THAT(saved, testing::HasSubstr(other.origin()));
}

}  // namespace
}  // namespace tagring::overlay
