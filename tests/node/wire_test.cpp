// Batches of events as activities.
#include "delivery/wire.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fediverse/activity.hpp"
#include "storage/history.hpp"

namespace tagring::node {
namespace {

using namespace std::string_literals;

// A batch that its reader refuses would be sent for ever.
TEST(Wire, APostWithMoreTagsThanAnItemMayHaveBecomesSeveralItemsThatAreRead) {
  std::vector<delivery::TagEvent> events;
  for (int i = 0; i < 150; ++i) {
    events.push_back({Tag::from_canonical(fmt::format("tag{}", i)), delivery::Op::kAdd, "https://a.example/1",
                      "https://a.example/users/u", WallTime(Duration(1)), true});
  }
  const std::string body = delivery::add_activity("https://n.example/1", "https://n.example/actor",
                                                  "https://o.example/relay", events);
  const auto activity = fediverse::parse_activity(body, WallTime(Duration(1)));
  ASSERT_TRUE(activity) << activity.error().message;
  const auto* add = std::get_if<fediverse::Add>(&activity->content);
  ASSERT_NE(add, nullptr);
  EXPECT_EQ(delivery::events_of(delivery::Op::kAdd, add->posts, WallTime(Duration(1))).size(), 150U);
}

// Nor could it be later than what its author has said.
TEST(Wire, ARemovalThatWasOnlyHeardIsReadAsSuchAndNotSaidToBeForEver) {
  const WallTime now(Duration(1'700'000'000'000));
  const delivery::TagEvent heard{Tag::from_canonical("cats"),
                                 delivery::Op::kRemove,
                                 "https://a.example/1",
                                 "https://a.example/u",
                                 now,
                                 true,
                                 "",
                                 storage::kBeforeAll};
  const std::string body = delivery::remove_activity("https://n.example/1", "https://n.example/actor",
                                                     "https://o.example/storage", {heard});
  const auto activity = fediverse::parse_activity(body, now);
  ASSERT_TRUE(activity) << activity.error().message;
  const auto* remove = std::get_if<fediverse::Remove>(&activity->content);
  ASSERT_NE(remove, nullptr);
  ASSERT_EQ(remove->posts.size(), 1U);
  EXPECT_EQ(remove->posts.front().updated, WallTime(Duration(1)));
  const auto events = delivery::events_of(delivery::Op::kRemove, remove->posts, now);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(events.front().is_hearsay());
  EXPECT_EQ(delivery::events_of(delivery::Op::kAdd, remove->posts, now).front().changed,
            WallTime(Duration(1)));
}

// Who passed it on would be refused, with everything that goes in the same batch.
TEST(Wire, WhatOthersWouldRefuseIsNotTakenFromAnybody) {
  const WallTime now(Duration(1'700'000'000'000));
  const auto read = [&](std::string_view item) {
    const std::string body = fmt::format(
        R"({{"id":"https://r.example/1","type":"Announce","actor":"https://r.example/actor","object":[{{{},
             "tag":[{{"type":"Hashtag","name":"#cats"}}]}}]}})",
        item);
    const auto activity = fediverse::parse_activity(body, now);
    const auto* announce = activity ? std::get_if<fediverse::Announce>(&activity->content) : nullptr;
    return announce == nullptr ? 0 : delivery::events_of(delivery::Op::kAdd, announce->posts, now).size();
  };
  EXPECT_EQ(read(R"("id":"https://a.example/1","attributedTo":"https://a.example/u")"), 1U);
  EXPECT_EQ(read(R"("id":"https://a.example/1")"), 0U) << "by nobody";
}

TEST(Wire, APostIsSoundIfEverybodyReadsItAlike) {
  const WallTime now(Duration(1'700'000'000'000));
  EXPECT_TRUE(belief::is_sound("https://a.example/1", "https://a.example/u", now));
  for (const char* author : {"", "https://b.example/u", "nobody"})
    EXPECT_FALSE(belief::is_sound("https://a.example/1", author, now)) << author;
  for (const std::int64_t time : {std::int64_t{-1}, std::int64_t{253'402'300'800'000}, INT64_MAX})
    EXPECT_FALSE(belief::is_sound("https://a.example/1", "https://a.example/u", WallTime(Duration(time))));
}

TEST(Wire, ACopyIsToBeHadFromAnOriginAndNotFromAPathThere) {
  const auto copy_of = [](const std::string& copy) {
    const auto list = json::parse(fmt::format(
        R"([{{"seq":1,"op":"remove","tag":"cats","uri":"https://a.example/1","author":"https://a.example/u",
             "published":1,"signed":"{}"}}])",
        copy));
    return delivery::feed_from_json(&*list)->front().event.signed_copy;
  };
  const std::string hash(64, 'a');
  EXPECT_EQ(copy_of(hash + " https://a.example"), hash + " https://a.example");
  for (const std::string& strange :
       {hash + " https://a.example/any?x=", hash, hash + " ", "a https://a.example"s})
    EXPECT_EQ(copy_of(strange), "") << strange;
}

}  // namespace
}  // namespace tagring::node
