// What a node remembers of its places.
#include "node/balancer.hpp"

#include <gtest/gtest.h>

namespace tagring::node {
namespace {

TEST(Places, AreReadAsTheyWereWritten) {
  Places places;
  places.relay.taken = {0, 31};
  places.storage.leaving = 7;
  const auto read = Places::parse(places.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->relay.taken, places.relay.taken);
  EXPECT_EQ(read->relay.leaving, std::nullopt);
  EXPECT_TRUE(read->storage.taken.empty());
  EXPECT_EQ(read->storage.leaving, 7);
}

TEST(Places, WhatIsDamagedIsNothing) {
  EXPECT_FALSE(Places::parse(""));
  EXPECT_FALSE(Places::parse(R"({"relay":{"taken":[0]}})"));
  EXPECT_FALSE(Places::parse(R"({"relay":{"taken":[0]},"storage":{"taken":[300]}})"));
  EXPECT_FALSE(Places::parse(R"({"relay":{"taken":[0]},"storage":{"taken":"0"}})"));
}

}  // namespace
}  // namespace tagring::node
