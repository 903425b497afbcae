// What is remembered of those who sign.
#include "federation/remote_keys.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/assert.hpp"
#include "base/json.hpp"
#include "belief/fixture.hpp"

namespace tagring::federation {
namespace {

class RemoteKeysTest : public belief::BeliefTest {
 protected:
  ~RemoteKeysTest() override { loop.drop(kOwner); }

  static std::string key_of(const std::string& actor) { return actor + "#key"; }
  void join(const std::string& actor, const std::string& junk = "") {
    json::array listed;
    listed.push_back(json::object{
        {"id", key_of(actor)}, {"owner", actor}, {"publicKeyPem", identity.key.public_key().pem()}});
    for (int n = 0; n < 9 && !junk.empty(); ++n) {
      listed.push_back(
          json::object{{"id", fmt::format("{}#{}", actor, n)}, {"owner", actor}, {"publicKeyPem", junk}});
    }
    servers.documents[actor] =
        json::serialize(json::object{{"id", actor},
                                     {"type", "Person"},
                                     {"inbox", actor + "/inbox"},
                                     {"followers", actor + "/followers"},
                                     {"endpoints", json::object{{"sharedInbox", actor + "/shared"}}},
                                     {"publicKey", std::move(listed)}});
  }
  Result<KeyOwner> fetch(const std::string& actor, bool refresh = false) {
    auto owner =
        loop.await(kOwner, keys.owner_of_key(key_of(actor), refresh), std::chrono::seconds(10), Duration(10));
    TR_ASSERT(owner);
    return *std::move(owner);
  }

  Task<Result<KeyOwner>> ask_for(std::string actor, IpAddress asker, Duration later) {
    const Instant then = clock.now() + later;
    co_await clock.sleep_until(then);
    co_return co_await keys.owner_of_key(key_of(actor), /*refresh=*/false, asker);
  }

  // Each from another server.
  void fetch_many(RemoteKeys& few, const std::string& domain, int count, std::optional<IpAddress> asker) {
    for (int n = 0; n < count; ++n) {
      loop.run_for(std::chrono::minutes(1));
      const std::string actor = fmt::format("https://n{}.{}/u", n, domain);
      join(actor);
      const auto owner = loop.await(kOwner, few.owner_of_key(key_of(actor), /*refresh=*/false, asker),
                                    std::chrono::seconds(10), Duration(10));
      TR_ASSERT(owner);
      ASSERT_TRUE(*owner) << owner->error().message;
      if (!asker) few.note_genuine(key_of(actor));
    }
  }

  const IpAddress greedy = *IpAddress::parse("203.0.113.9");
  const IpAddress other = *IpAddress::parse("198.51.100.7");
  RemoteKeys keys{budget, client, runtime};
};

TEST_F(RemoteKeysTest, OfTheKeysThatAnActorListsOnlyTheOneThatSignedIsRemembered) {
  const std::string actor = "https://a.example/u";
  join(actor, std::string(8'000, 'x'));
  const Result<KeyOwner> owner = fetch(actor);
  ASSERT_TRUE(owner) << owner.error().message;
  EXPECT_EQ(owner->actor.inbox, actor + "/inbox");
  EXPECT_TRUE(owner->actor.keys.empty());
  ASSERT_NE(keys.known(key_of(actor)), nullptr);
  EXPECT_LT(keys.bytes(), 1'000U);
}

TEST_F(RemoteKeysTest, LongNamesMakeRoomForEachOtherAndForNobodyElse) {
  const std::string actor = "https://a.example/u";
  join(actor);
  ASSERT_TRUE(fetch(actor));
  for (int n = 0; n < 2'200; ++n) {
    if (n % 400 == 0) loop.run_for(std::chrono::minutes(1));
    const std::string longer = fmt::format("https://n{}.example/{}", n, std::string(1'900, 'u'));
    join(longer);
    const Result<KeyOwner> owner = fetch(longer);
    ASSERT_TRUE(owner) << owner.error().message;
    servers.documents.clear();
  }
  EXPECT_LE(keys.bytes(), RemoteKeys::kBytesMax);
  EXPECT_GT(keys.bytes(), RemoteKeys::kBytesMax / 2);
  EXPECT_NE(keys.known(key_of(actor)), nullptr);
}

TEST_F(RemoteKeysTest, ManyKeysOfOneDomainMakeRoomForEachOtherAndForNobodyElse) {
  RemoteKeys few{budget, client, runtime, 8};
  fetch_many(few, "home.example", 2, {});
  fetch_many(few, "evil.example", 20, {});
  for (int n = 0; n < 2; ++n)
    EXPECT_NE(few.known(key_of(fmt::format("https://n{}.home.example/u", n))), nullptr) << n;
  EXPECT_NE(few.known(key_of("https://n19.evil.example/u")), nullptr) << "it has its share";
  fetch_many(few, "new.example", 2, {});
  for (int n = 0; n < 2; ++n)
    EXPECT_NE(few.known(key_of(fmt::format("https://n{}.new.example/u", n))), nullptr) << n;
}

TEST_F(RemoteKeysTest, KeysThatSomebodyNamesTakeNoPlacesOfTheirDomain) {
  RemoteKeys few{budget, client, runtime, 8};
  fetch_many(few, "home.example", 4, {});
  const std::string genuine = "https://n19.named.home.example/u";
  fetch_many(few, "named.home.example", 20, greedy);
  for (int n = 0; n < 4; ++n)
    EXPECT_NE(few.known(key_of(fmt::format("https://n{}.home.example/u", n))), nullptr) << n;
  few.note_genuine(key_of(genuine));
  fetch_many(few, "evil.example", 20, greedy);
  EXPECT_NE(few.known(key_of(genuine)), nullptr) << "it has signed something";
}

TEST_F(RemoteKeysTest, AKeyIsKeptWhereItsServerDoesNotSayAnythingOfIt) {
  const std::string actor = "https://a.example/u";
  join(actor);
  ASSERT_TRUE(fetch(actor));
  servers.refusals[actor] = 500;
  EXPECT_FALSE(fetch(actor, /*refresh=*/true));
  EXPECT_NE(keys.known(key_of(actor)), nullptr);
  EXPECT_TRUE(fetch(actor));
  servers.refusals.clear();
  const int asked = servers.asked[actor];
  EXPECT_FALSE(fetch(actor, /*refresh=*/true)) << "within the minute";
  EXPECT_EQ(servers.asked[actor], asked);
  loop.run_for(RemoteKeys::kFailureLifetime);
  EXPECT_TRUE(fetch(actor, /*refresh=*/true));
}

TEST_F(RemoteKeysTest, AKeyThatItsActorListsNoMoreIsForgotten) {
  const std::string actor = "https://a.example/u";
  join(actor);
  ASSERT_TRUE(fetch(actor));
  std::string& document = servers.documents[actor];
  document.replace(document.find("#key"), 4, "#new");
  EXPECT_FALSE(fetch(actor, /*refresh=*/true));
  EXPECT_EQ(keys.known(key_of(actor)), nullptr);
}

TEST_F(RemoteKeysTest, WhatABudgetRefusesSaysNothingOfTheKey) {
  const std::string actor = "https://a.example/u";
  join(actor);
  ASSERT_TRUE(fetch(actor));
  const std::string other = "https://a.example/v";
  join(other);
  budget.count(budget::Resource::kKeyHosts, budget.who("a.example"), 10);
  EXPECT_FALSE(fetch(actor, /*refresh=*/true));
  EXPECT_NE(keys.known(key_of(actor)), nullptr);
  EXPECT_FALSE(fetch(other));
  budget.give_back(budget::Resource::kKeyHosts, budget.who("a.example"), 10);
  EXPECT_TRUE(fetch(actor, /*refresh=*/true));
  EXPECT_TRUE(fetch(other));
}

TEST_F(RemoteKeysTest, WhoWaitsForAKeyThatAnotherMayHaveNoMoreOfHasItFetched) {
  const std::string actor = "https://a.example/u";
  join(actor);
  budget.count(budget::Resource::kKeyHosts, budget.who("a.example").on_behalf_of(budget.who(greedy)), 7);
  servers.pause = [this]() -> Task<void> { return clock.sleep_until(clock.now() + std::chrono::seconds(2)); };
  std::vector<Task<Result<KeyOwner>>> questions;
  questions.push_back(ask_for(actor, greedy, Duration(0)));
  questions.push_back(ask_for(actor, other, std::chrono::seconds(1)));
  const auto answers =
      loop.await(kOwner, all_of(std::move(questions)), std::chrono::seconds(30), Duration(10));
  ASSERT_TRUE(answers);
  EXPECT_FALSE(answers->at(0));
  EXPECT_TRUE(answers->at(1));
}

}  // namespace
}  // namespace tagring::federation
