#include "budget/manager.hpp"

#include <gtest/gtest.h>

namespace tagring::budget {
namespace {

class ManualClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return time; }
  [[nodiscard]] WallTime wall_now() const override { return {}; }
  [[nodiscard]] boost::asio::awaitable<void> sleep_until(Instant /*deadline*/) override { co_return; }
  Instant time{};
};

class ManagerTest : public testing::Test {
 protected:
  static Budgets budgets(Limit limit) {
    Budgets all = default_budgets();
    all.at(0) = limit;
    return all;
  }
  static IpAddress address(const char* text) { return *IpAddress::parse(text); }
  static constexpr Resource kOne = Resource::kConnections;

  ManualClock clock;
};

TEST_F(ManagerTest, AnAddressItsPrefixesAndATotalAreCounted) {
  Manager manager(budgets({100, 2, 3, {}}), clock);
  const auto take = [&](const char* text) {
    return manager.take(kOne, manager.who(address(text))) == Duration(0);
  };
  EXPECT_TRUE(take("2001:db8:1:1::1"));
  EXPECT_TRUE(take("2001:db8:1:1::2"));
  EXPECT_FALSE(take("2001:db8:1:1::3")) << "a /64";
  EXPECT_TRUE(take("2001:db8:1:2::1"));
  EXPECT_FALSE(take("2001:db8:1:3::1")) << "a /48";
  EXPECT_TRUE(take("2001:db8:2:1::1"));
  for (const char* neighbour : {"192.0.2.1", "192.0.2.1", "192.0.2.2"}) EXPECT_TRUE(take(neighbour));
  EXPECT_FALSE(take("192.0.2.1")) << "IPv4 has no groups";
  EXPECT_EQ(manager.used(kOne), 7U);
}

TEST_F(ManagerTest, NewLimitsCountAtOnceAndTakeNothingAway) {
  Manager manager(budgets({100, 2, 0, {}}), clock);
  const Spender spender = manager.who(address("192.0.2.1"));
  Share first(&manager, kOne, spender);
  Share second(&manager, kOne, spender);
  manager.use(budgets({100, 1, 0, {}}));
  EXPECT_EQ(manager.used(kOne, spender), 2U);
  second.release();
  EXPECT_FALSE(manager.has_room(kOne, spender));
  first.release();
  EXPECT_TRUE(manager.has_room(kOne, spender));
  manager.use(budgets({100, 3, 0, {}}));
  EXPECT_TRUE(manager.has_room(kOne, spender, 3));
  EXPECT_EQ(manager.status().at("connections").at("each"), 3);
}

TEST_F(ManagerTest, WhatIsHeldComesBack) {
  Manager manager(budgets({100, 1, 0, {}}), clock);
  const Spender spender = manager.who(address("192.0.2.1"));
  {
    Share share(&manager, kOne, spender);
    EXPECT_TRUE(share.is_granted());
    EXPECT_FALSE(Share(&manager, kOne, spender).is_granted());
    const Share moved = std::move(share);
    EXPECT_TRUE(moved.is_granted());
    EXPECT_EQ(manager.used(kOne, spender), 1U);
  }
  EXPECT_EQ(manager.used(kOne), 0U);
  EXPECT_TRUE(Share(&manager, kOne, spender).is_granted());
}

TEST_F(ManagerTest, WhatAStrangerTookComesBackToStrangersAlsoFromWhoIsKnownByThen) {
  Manager manager(budgets({4, 0, 0, {}}), clock);
  const auto room = [&] { return manager.has_room(kOne, manager.who("other.example"), 3); };
  manager.count(kOne, manager.who("far.example"), 2);
  manager.note_known("far.example");
  manager.count(kOne, manager.who("far.example"));
  EXPECT_FALSE(room());
  manager.give_back(kOne, manager.who("far.example"), 3);
  EXPECT_TRUE(room());
  manager.count(kOne, manager.who("far.example"));
  clock.time += Manager::kKnownFor;
  manager.count(kOne, manager.who("third.example"));
  manager.give_back(kOne, manager.who("far.example"));
  EXPECT_FALSE(room()) << "what one had who was known is nothing of strangers";
}

// Behind a proxy at this machine that says nothing of them, all strangers would be known as well.
TEST_F(ManagerTest, NobodyIsKnownByAnAddressOfThisMachine) {
  Manager manager(budgets({4, 0, 0, {}}), clock);
  for (const char* text : {"127.0.0.1", "::1", "192.0.2.7"}) manager.note_known(*IpAddress::parse(text));
  manager.note_known(IpAddress());
  EXPECT_FALSE(manager.who(*IpAddress::parse("127.0.0.1")).known);
  EXPECT_FALSE(manager.who(*IpAddress::parse("::1")).known);
  EXPECT_FALSE(manager.who(IpAddress()).known);
  EXPECT_TRUE(manager.who(*IpAddress::parse("192.0.2.7")).known);
}

TEST_F(ManagerTest, HostsThatAreAskedAreSparedAlsoIfTheyAreKnown) {
  Limit limit{1000, 2, 0, std::chrono::minutes(1)};
  for (const bool asked : {false, true}) {
    limit.asked = asked;
    Manager manager(budgets(limit), clock);
    manager.note_known("far.example");
    EXPECT_TRUE(manager.has_room(kOne, manager.who("far.example"), 2UL * Manager::kKnownFactor));
    Spender spender = manager.who("far.example");
    EXPECT_EQ(manager.has_room(kOne, spender, 2UL * Manager::kKnownFactor + 1), !asked);
    spender.for_known = true;
    EXPECT_TRUE(manager.has_room(kOne, spender, 2UL * Manager::kKnownFactor + 1));
  }
}

TEST_F(ManagerTest, OwnInstancesAreKnownForAsLongAsTheyAreOwn) {
  Manager manager(budgets({100, 1, 0, {}}), clock);
  manager.set_own({"own.example"});
  clock.time += 2 * Manager::kKnownFor;
  EXPECT_TRUE(manager.who("own.example").known);
  EXPECT_TRUE(manager.who("social.own.example").known);
  EXPECT_FALSE(manager.who("notown.example").known);
  manager.set_own({"other.example"});
  EXPECT_FALSE(manager.who("own.example").known);
  EXPECT_TRUE(manager.who("other.example").known);
}

TEST_F(ManagerTest, WhatIsSpentComesBackWithTime) {
  Manager manager(budgets({100, 2, 0, std::chrono::minutes(1)}), clock);
  const Spender spender = manager.who("far.example");
  EXPECT_EQ(manager.take(kOne, spender, 2), Duration(0));
  clock.time += std::chrono::seconds(20);
  EXPECT_EQ(manager.take(kOne, spender), std::chrono::seconds(40)) << "says when";
  clock.time += std::chrono::seconds(40);
  EXPECT_EQ(manager.take(kOne, spender), Duration(0));
}

TEST_F(ManagerTest, StrangersCannotTakeTheShareOfThoseWhoAreKnown) {
  Manager manager(budgets({8, 0, 0, {}}), clock);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(manager.take(kOne, manager.who("far.example")), Duration(0));
  EXPECT_GT(manager.take(kOne, manager.who("far.example")), Duration(0));
  EXPECT_TRUE(manager.is_total(kOne, manager.who("far.example")));
  manager.note_known("home.example");
  EXPECT_EQ(manager.take(kOne, manager.who("www.home.example")), Duration(0)) << "with all below";
  manager.set_neighbours({{"node.example", address("2001:db8::1")}});
  EXPECT_EQ(manager.take(kOne, manager.who(address("2001:db8::2"))), Duration(0)) << "its /64";
  EXPECT_GT(manager.take(kOne, manager.who("home.example")), Duration(0)) << "all is used";
  EXPECT_TRUE(manager.who("node.example").known);
  clock.time += Manager::kKnownFor;
  EXPECT_FALSE(manager.who("home.example").known);
  manager.set_neighbours({});
  EXPECT_FALSE(manager.who(address("2001:db8::2")).known);
}

TEST_F(ManagerTest, HostsOfARegisteredDomainAreOneGroup) {
  Manager manager(budgets({100, 2, 3, {}}), clock);
  const auto take = [&](const char* host) { return manager.take(kOne, manager.who(host)) == Duration(0); };
  EXPECT_TRUE(take("a.far.co.uk") && take("a.far.co.uk"));
  EXPECT_FALSE(take("a.far.co.uk"));
  EXPECT_TRUE(take("b.far.co.uk"));
  EXPECT_FALSE(take("c.far.co.uk"));
  EXPECT_TRUE(take("a.other.co.uk"));
}

TEST_F(ManagerTest, StatusHasWhatIsUsedAndHowOftenSomebodyWasRefused) {
  Manager manager(budgets({100, 1, 0, {}}), clock);
  const Share share(&manager, kOne, manager.who("a.example"));
  EXPECT_FALSE(Share(&manager, kOne, manager.who("a.example")).is_granted());
  EXPECT_EQ(manager.status().at("connections"),
            (json::object{{"used", 1}, {"total", 100}, {"each", 1}, {"refused", 1}}));
}

}  // namespace
}  // namespace tagring::budget
