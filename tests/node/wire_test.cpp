// Batches of events as activities.
#include "delivery/wire.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fediverse/activity.hpp"
#include "storage/entries_json.hpp"

namespace tagring::node {
namespace {

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

TEST(Wire, NorIsItTakenFromAFeedOrAHistory) {
  const auto read = [](std::string_view author, std::int64_t published) {
    const auto list =
        json::parse(fmt::format(R"([{{"seq":1,"op":"add","tag":"cats","uri":"https://a.example/1",
                                     "author":"{}","published":{},"signed":"{}","updated":1}}])",
                                author, published, std::string(64, 'a') + " https://a.example/any?x="));
    const auto feed = delivery::feed_from_json(&*list);
    const auto history = storage::entries_from_json(&*list);
    EXPECT_EQ(feed->size(), history->size());
    for (const delivery::FeedEntry& entry : *feed) EXPECT_EQ(entry.event.signed_copy, "") << "it has a path";
    return feed->size();
  };
  EXPECT_EQ(read("https://a.example/u", 1), 1U);
  for (const char* author : {"", "https://b.example/u", "nobody"}) EXPECT_EQ(read(author, 1), 0U) << author;
  for (const std::int64_t time : {std::int64_t{-1}, std::int64_t{253'402'300'800'000}, INT64_MAX})
    EXPECT_EQ(read("https://a.example/u", time), 0U) << time;
}

}  // namespace
}  // namespace tagring::node
