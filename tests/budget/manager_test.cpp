#include "budget/manager.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <vector>

#include "tests/source_dir.hpp"

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

TEST_F(ManagerTest, WhatIsHeldMayBecomeMoreWhileThereIsRoom) {
  Manager manager(budgets({100, 50, 0, {}}), clock);  // 75 for strangers
  const Spender spender = manager.who(address("192.0.2.1"));
  const Spender other = manager.who(address("192.0.2.2"));
  Share share(&manager, kOne, spender, 10);
  EXPECT_TRUE(share.grow(30));
  EXPECT_FALSE(share.grow(11)) << "50 of an address";
  EXPECT_EQ(share.amount(), 40U);
  EXPECT_EQ(manager.used(kOne, spender), 40U);
  EXPECT_TRUE(manager.is_total(kOne, other, 36)) << "which leaves 35";
  EXPECT_FALSE(manager.is_total(kOne, spender, 11)) << "it has too much itself";
  share.release();
  EXPECT_EQ(share.amount(), 0U);
  EXPECT_EQ(manager.used(kOne), 0U);
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

TEST_F(ManagerTest, NobodyAloneUsesUpWhatAHostIsAsked) {
  Manager manager(budgets({1000, 9, 12, std::chrono::minutes(1), true}), clock);
  const auto take = [&](const char* host, const char* asker) {
    return manager.take(kOne, manager.who(host).on_behalf_of(manager.who(address(asker)))) == Duration(0);
  };
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(take("a.far.example", "2001:db8:1:1::1"));
  EXPECT_FALSE(take("a.far.example", "2001:db8:1:2::1")) << "the same /48";
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(take("b.far.example", "2001:db8:1:2::1"));
  EXPECT_FALSE(take("b.far.example", "2001:db8:1:2::1")) << "two thirds of the domain's";
  EXPECT_TRUE(take("a.far.example", "192.0.2.1"));
  EXPECT_TRUE(take("other.example", "2001:db8:1:2::1"));
  clock.time += std::chrono::minutes(1);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(take("b.far.example", "2001:db8:1:1::1"));
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

TEST_F(ManagerTest, OneWhoIsKnownLeavesRoomForAnotherWhoIs) {
  const Budgets all = default_budgets();
  for (std::size_t i = 0; i < kResources; ++i) {
    if (all.at(i).total == 0) continue;
    Manager manager(all, clock);
    for (const char* known : {"greedy.example", "other.example"}) manager.note_known(known);
    const auto resource = static_cast<Resource>(i);
    const std::uint64_t some = std::max<std::uint64_t>(1, all.at(i).total / 1'000);
    const auto take = [&](const std::string& host) {
      return manager.take(resource, manager.who(host), some) == Duration(0);
    };
    for (int n = 0; take("s" + std::to_string(n) + ".example"); ++n) {
    }
    for (const char* host : {"a.greedy.example", "b.greedy.example"}) {
      while (take(host)) {
      }
    }
    EXPECT_TRUE(take("other.example")) << to_string(resource);
  }
}

TEST_F(ManagerTest, WhoIsKnownHasWhatAStrangerHasBeside) {
  Manager manager(budgets({16, 2, 3, {}}), clock);
  manager.set_neighbours({{"node.example", address("2001:db8:1:1::1")}});
  const auto take = [&](const char* text) {
    return manager.take(kOne, manager.who(address(text))) == Duration(0);
  };
  EXPECT_TRUE(take("2001:db8:1:2::1") && take("2001:db8:1:2::1") && take("2001:db8:1:3::1"));
  EXPECT_FALSE(take("2001:db8:1:4::1"));
  EXPECT_TRUE(take("2001:db8:1:1::1") && take("2001:db8:1:1::1")) << "whatever strangers of its /48 have";
  EXPECT_FALSE(take("2001:db8:1:1::1"));
  for (int i = 0; i < 2; ++i) manager.give_back(kOne, manager.who(address("2001:db8:1:2::1")));
  EXPECT_TRUE(take("2001:db8:1:1::1") && take("2001:db8:1:1::1"));
  EXPECT_FALSE(take("2001:db8:1:1::1"));
}

TEST_F(ManagerTest, WhoIsKnownHasHalfOfTheReservedPartAndWhatAStrangerHasInEachWindow) {
  Manager manager(budgets({800, 5, 10, std::chrono::minutes(1)}), clock);
  manager.set_neighbours({{"node.example", address("2001:db8:1:1::1")}});
  const auto take_all = [&](const char* text) {
    unsigned taken = 0;
    while (manager.take(kOne, manager.who(address(text))) == Duration(0)) ++taken;
    return taken;
  };
  EXPECT_EQ(take_all("2001:db8:1:1::1"), 100U + 5U);
  clock.time += std::chrono::seconds(30);
  EXPECT_EQ(take_all("2001:db8:2:1::1"), 5U) << "whose window begins later";
  EXPECT_EQ(take_all("2001:db8:1:1::1"), 0U);
  clock.time += std::chrono::seconds(30);
  EXPECT_EQ(take_all("2001:db8:1:1::1"), 100U + 5U);
  manager.set_own({"home.example"});
  unsigned of_own = 0;
  while (manager.take(kOne, manager.who("home.example")) == Duration(0)) ++of_own;
  EXPECT_EQ(of_own, 800U - 105U) << "all that there is";
}

TEST_F(ManagerTest, WhatIsCountedOfWhoIsKnownLeavesItNoMoreRoomThanWhatItTakes) {
  Manager manager(budgets({80, 0, 2, {}}), clock);
  manager.note_known("far.example");
  for (int i = 0; i < 15; ++i) manager.count(kOne, manager.who("far.example"));
  EXPECT_EQ(manager.used(kOne), 15U);
  EXPECT_FALSE(manager.has_room(kOne, manager.who("far.example")));
  for (int i = 0; i < 15; ++i) manager.give_back(kOne, manager.who("far.example"));
  EXPECT_TRUE(manager.has_room(kOne, manager.who("far.example")));
}

// With the commas in long numbers left out.
std::string security_page() {
  std::ifstream file(source_dir() / "docs/security.md");
  std::string page{std::istreambuf_iterator(file), {}};
  const auto is_digit = [&](std::size_t at) {
    return at < page.size() && std::isdigit(static_cast<unsigned char>(page[at])) != 0;
  };
  for (std::size_t at = page.size(); at-- > 1;)
    if (page[at] == ',' && is_digit(at - 1) && is_digit(at + 1)) page.erase(at, 1);
  return page;
}

TEST_F(ManagerTest, TheDefaultsAreThoseThatAreDocumented) {
  using enum Resource;
  const std::string page = security_page();
  const auto of = [](Resource resource) {
    Limit limit = default_budgets().at(static_cast<std::size_t>(resource));
    for (std::uint64_t* amount : {&limit.total, &limit.each, &limit.group})
      if (resource == kBodies) *amount >>= 20U;
    return limit;
  };
  const auto says = [&](Resource resource, std::string_view text) {
    const Limit limit = of(resource);
    const std::uint64_t all = limit.total - limit.total * Manager::kReservedPercent / 100;
    const std::string expected = fmt::format(fmt::runtime(text), fmt::arg("all", all),
                                             fmt::arg("each", limit.each), fmt::arg("group", limit.group));
    EXPECT_TRUE(page.contains(expected)) << expected;
  };
  says(kConnections, "| {all} by all strangers, {each} of an address or /64, {group} of a /48 | where");
  says(kArrivals, "in ten seconds {each} from an address or /64, {group} from a /48");
  says(kBegun, "begun {all} in 20 ms of all strangers");
  says(kHandshakes, "under way {all} of all strangers, {each} of an address or /64, {group} of a /48; begun");
  says(kBodies, "| {all} MiB by all strangers, {each} MiB of an address, {group} MiB of a /48 | 503 as");
  says(kReads, "| {each} in five minutes of an address or /64, {group} of a /48, {all} by all strangers");
  says(kStreams, "| {all} by all strangers, {each} of an address or /64, {group} of a /48; 20 hashtags");
  says(kStreamTags, "{each} for one address, {group} for a /48, {all} for all strangers");
  says(kLookUps, "| {each} at a time for an address or /64, {group} for a /48, {all} for all strangers");
  says(kClaims, "{each} at a time for a host, {group} for its registered domain, {all} for all that");
  says(kProofs, "| {each} at a time for an address or /64, {group} for a /48, {all} for all strangers");
  says(kWays, "at a time {all} servers asked how to follow from them ({each} for an address or /64, {group}");
  says(kGuesses, "| {each} in five minutes of an address or /64, {group} of a /48 | 429");
  says(kCalls, "| {each} in five minutes of an address or /64, {group} of a /48, {all} for all strangers");
  says(kKeyFetches, "{each} a minute for requests from one address, {group} of a /48, {all} in all");
  says(kKeyHosts, "{each} requests a minute to one host and {group} to one domain");
  says(kChecks, "{each} a minute more from one host and {group} from one domain");
  says(kVainChecks, "{group} a minute for the domain that says it");
  says(kEvents, "| {group} an hour of a domain");
  says(kWaiting, "| {group} actors of a domain, {all} in all");
  says(kLetters, "| {group} of a domain, for 7 days");
  says(kWanted, "| {group} of a domain for people and servers");
  says(kNodeFollows, ", {group} for nodes |");
  says(kReports, "| {group} of a domain, {all} in all");
  says(kLinks, "| {group} actors of a domain, {all} in all");
  says(kAuthorBlocks, "| {group} of a domain, {all} in all");
  says(kReaderAsks, "| {each} a minute of an address or /64, {group} of a /48;");
  says(kReaderHosts, "{group} to one domain, eight times");
}

TEST_F(ManagerTest, WhoComesAfterManyThatTookAllTheyMayStillFindsSome) {
  Manager manager(budgets({120, 20, 20, std::chrono::seconds(10)}), clock);  // strangers have 90
  const auto take = [&](const std::string& text) {
    return manager.take(kOne, manager.who(address(text.c_str()))) == Duration(0);
  };
  int got = 0;
  for (int round = 0; round < 20; ++round)
    for (int i = 0; i < 10; ++i) got += take(fmt::format("192.0.2.{}", i + 1)) ? 1 : 0;
  EXPECT_EQ(got, 90) << "nobody else is there";
  clock.time += std::chrono::seconds(10);

  ASSERT_TRUE(take("198.51.100.1"));
  for (int round = 0; round < 20; ++round)
    for (int i = 0; i < 10; ++i) take(fmt::format("192.0.2.{}", i + 1));
  const std::uint64_t taken = manager.used(kOne);
  EXPECT_LE(taken, 70U) << "all have had more than that one";
  EXPECT_TRUE(take("198.51.100.1"));
  EXPECT_TRUE(take("203.0.113.1")) << "who has had nothing";
  EXPECT_TRUE(take("2001:db8:1:1::1"));
  for (int i = 0; i < 60; ++i) take(fmt::format("2001:db8:1:{:x}::1", i));
  EXPECT_TRUE(take("203.0.113.2")) << "a /48 is one, however many addresses it has";
}

TEST_F(ManagerTest, NobodyIsRememberedLongerThanTheyCountWhateverOthersTake) {
  Manager manager(default_budgets(), clock);
  const auto remembered = [&](const char* resource) {
    return manager.status().at(resource).at("remembered").to_number<int>();
  };
  const Share held(&manager, Resource::kStreams, manager.who(address("192.0.2.1")));
  EXPECT_EQ(manager.take(Resource::kReads, manager.who(address("192.0.2.1"))), Duration(0));
  clock.time += std::chrono::minutes(1);
  EXPECT_EQ(manager.take(Resource::kReads, manager.who(address("192.0.2.2"))), Duration(0));
  for (const int expected : {2, 1, 0}) {
    EXPECT_EQ(remembered("reads"), expected);
    clock.time += std::chrono::minutes(expected == 2 ? 4 : 1);
    manager.count(Resource::kLoop, manager.who(address("198.51.100.1")), 1);
  }
  EXPECT_EQ(remembered("streams"), 1) << "it is open";
  EXPECT_EQ(manager.used(Resource::kStreams), 1U);
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
            (json::object{{"used", 1}, {"total", 100}, {"each", 1}, {"refused", 1}, {"remembered", 1}}));
}

}  // namespace
}  // namespace tagring::budget
