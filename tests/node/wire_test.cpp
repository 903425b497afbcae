// Batches of events as activities.
#include "delivery/wire.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fediverse/activity.hpp"

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

}  // namespace
}  // namespace tagring::node
