// What a node remembers of its places.
#include "overlay/balancer.hpp"

#include <gtest/gtest.h>

namespace tagring::node {
namespace {

TEST(Places, AreReadAsTheyWereWritten) {
  overlay::Places places;
  places.relay.taken = {0, 31};
  places.storage.leaving = 7;
  places.storage.settling = true;
  const auto read = overlay::Places::parse(places.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->relay.taken, places.relay.taken);
  EXPECT_EQ(read->relay.leaving, std::nullopt);
  EXPECT_TRUE(read->storage.taken.empty());
  EXPECT_EQ(read->storage.leaving, 7);
  EXPECT_FALSE(read->relay.settling);
  EXPECT_TRUE(read->storage.settling);
}

TEST(Places, WhatIsDamagedIsNothing) {
  EXPECT_FALSE(overlay::Places::parse(""));
  EXPECT_FALSE(overlay::Places::parse(R"({"relay":{"taken":[0]}})"));
  EXPECT_FALSE(overlay::Places::parse(R"({"relay":{"taken":[0]},"storage":{"taken":[300]}})"));
  EXPECT_FALSE(overlay::Places::parse(R"({"relay":{"taken":[0]},"storage":{"taken":"0"}})"));
}

}  // namespace
}  // namespace tagring::node
