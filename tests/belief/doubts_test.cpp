// What one relay says out of turn waits for another one, or for the post's server, and for nothing else.
#include "belief/doubts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "belief/fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::belief {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kA = "https://tags.a.example";
const std::string kB = "https://tags.b.example";
const PostChecker::Relayed kCats = {{"cats"_tag, redundancy::kBothHalves}};

TagEvent event(const std::string& uri = kUri) { return {"cats"_tag, Op::kAdd, uri, kAuthor, kDate, true}; }

class Book final : public Doubts::Taker {
 public:
  Task<Result<void>> take_believed(std::vector<TagEvent> events) override {
    if (disk_full) co_return fail(ErrorCode::kUnavailable, "the disk is full");
    taken.insert(taken.end(), events.begin(), events.end());
    co_return Result<void>();
  }
  std::vector<TagEvent> taken;
  bool disk_full = false;
};

class DoubtsTest : public BeliefTest {
 protected:
  ~DoubtsTest() override { loop.drop(kOwner); }
  void publish(const std::string& uri = kUri) { servers.publish(uri, kAuthor, "cats", kDate); }
  std::vector<TagEvent> hear(std::vector<TagEvent> events, const std::string& relay) {
    return doubts.hear(std::move(events), relay, kCats, book);
  }

  federation::Blocks blocks;
  OriginChecker origins{budget, client, runtime};
  PostChecker checker{{}, identity, blocks, origins, runtime};
  Book book;
  Doubts doubts{checker, runtime};
};

TEST_F(DoubtsTest, WhatTwoRelaysSayIsTakenAtOnceAndNobodyIsAsked) {
  EXPECT_THAT(hear({event()}, kA), IsEmpty());
  EXPECT_THAT(hear({event()}, kB), ElementsAre(event()));
  loop.run_for(std::chrono::minutes(1));
  EXPECT_EQ(servers.asked_in_all(), 0);
  EXPECT_EQ(doubts.waiting(), 0U);
}

TEST_F(DoubtsTest, WhoIsNoRelayOfTheHashtagIsNoWitness) {
  EXPECT_THAT(doubts.hear({event()}, kA, {{"dogs"_tag, redundancy::kBothHalves}}, book), IsEmpty());
  EXPECT_THAT(hear({event()}, kB), IsEmpty());
}

TEST_F(DoubtsTest, WhatOneRelaySaysIsTakenWhenThePostBearsItOut) {
  publish();
  EXPECT_THAT(hear({event()}, kA), IsEmpty());
  EXPECT_TRUE(doubts.has(kA, "cats"_tag));
  EXPECT_FALSE(doubts.has(kB, "cats"_tag));
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(book.taken, ElementsAre(event()));
  EXPECT_FALSE(doubts.has(kA, "cats"_tag));
}

TEST_F(DoubtsTest, WhatIsNotSoIsNeverTaken) {
  hear({event()}, kA);
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(book.taken, IsEmpty());
  EXPECT_EQ(doubts.waiting(), 0U);
}

TEST_F(DoubtsTest, WhileAServerIsSilentItsPostsWait) {
  publish();
  servers.down = true;
  hear({event()}, kA);
  loop.run_for(std::chrono::hours(2));
  EXPECT_THAT(book.taken, IsEmpty());
  EXPECT_TRUE(doubts.has(kA, "cats"_tag));
  servers.down = false;
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(book.taken, ElementsAre(event()));
}

TEST_F(DoubtsTest, WhatCouldNotBeWrittenIsTriedAgain) {
  publish();
  book.disk_full = true;
  hear({event()}, kA);
  loop.run_for(std::chrono::minutes(1));
  EXPECT_TRUE(doubts.has(kA, "cats"_tag));
  book.disk_full = false;
  loop.run_for(std::chrono::minutes(1));
  EXPECT_THAT(book.taken, ElementsAre(event()));
}

TEST_F(DoubtsTest, WhoSaysMuchHoldsUpAndPushesOutNobodyElse) {
  publish();
  hear({event()}, kB);
  std::vector<TagEvent> many;
  for (std::size_t n = 0; n < Doubts::kMax + 10; ++n)
    many.push_back(event("https://post.example/never" + std::to_string(n)));
  hear(std::move(many), kA);
  EXPECT_EQ(doubts.waiting(), Doubts::kMax);
  EXPECT_TRUE(doubts.has(kB, "cats"_tag));
  EXPECT_FALSE(doubts.has_forgotten(kB, "cats"_tag));
  EXPECT_TRUE(doubts.has_forgotten(kA, "cats"_tag)) << "it has to be asked again";
  EXPECT_FALSE(doubts.has_forgotten(kA, "cats"_tag)) << "and then not once more";
  loop.run_for(std::chrono::seconds(15));
  EXPECT_THAT(book.taken, ElementsAre(event()));
}

TEST_F(DoubtsTest, ManyRelaysOfOneDomainThatSayALittleEachPushOutNobodyElse) {
  Doubts few{checker, runtime, 40};
  int number = 0;
  const auto say = [&](const std::string& relay, int posts) {
    std::vector<TagEvent> events;
    for (int n = 0; n < posts; ++n)
      events.push_back(event("https://post.example/never" + std::to_string(++number)));
    EXPECT_THAT(few.hear(std::move(events), relay, kCats, book), IsEmpty());
  };
  say(kB, 6);
  for (int n = 0; n < 10; ++n) say("https://n" + std::to_string(n) + ".evil.example", 4);
  EXPECT_EQ(few.waiting(), 40U);
  EXPECT_FALSE(few.has_forgotten(kB, "cats"_tag));
  const auto stop = [&few]() -> Task<bool> {
    co_await few.stop();
    co_return true;
  };
  EXPECT_TRUE(loop.await(kOwner, stop(), std::chrono::seconds(1), Duration(10)));
}

}  // namespace
}  // namespace tagring::belief
