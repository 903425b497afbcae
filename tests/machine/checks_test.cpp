#include "machine/checks.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>

#include "net/system_clock.hpp"

namespace tagring::machine {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kGigabyte = 1'000'000'000;

// What is said of the DNS where the node does not run.
health::Check dns_of(const std::vector<const char*>& addresses) {
  config::Config config;
  config.host = "tags.example.org";
  config.address = *IpAddress::parse("192.0.2.1");
  net::ResolverOptions options;
  for (const char* address : addresses) options.hosts[config.host].push_back(*IpAddress::parse(address));
  net::Resolver resolver(options);
  boost::asio::io_context loop(1);
  const net::SystemClock clock(loop.get_executor());
  health::Checks checks;
  boost::asio::co_spawn(loop, look_at_machine(config, "tagring.toml", &resolver, &clock),
                        [&checks](const std::exception_ptr& error, health::Checks found) {
                          EXPECT_EQ(error, nullptr);
                          checks = std::move(found);
                        });
  loop.run();
  const auto dns = std::ranges::find(checks, "dns", &health::Check::name);
  return dns == checks.end() ? health::Check{} : *dns;
}

TEST(Dns, WhatElseItHasIsForTheNodeToTry) {
  EXPECT_TRUE(dns_of({"192.0.2.1"}).ok);
  EXPECT_EQ(dns_of({"192.0.2.1"}).what_to_do, "");
  EXPECT_EQ(dns_of({"192.0.2.1", "127.0.1.1"}).what_to_do, "") << "as /etc/hosts may say";
  const health::Check both = dns_of({"192.0.2.1", "2001:db8::1"});
  EXPECT_TRUE(both.ok);
  EXPECT_EQ(both.detail, "tags.example.org is 192.0.2.1, 2001:db8::1");
  EXPECT_EQ(both.what_to_do, "what is at each, the node sees when it runs");
  EXPECT_FALSE(dns_of({"2001:db8::1"}).ok);
}

TEST(Certificate, IsBadWhenItShouldLongHaveBeenRenewed) {
  const WallTime from{std::chrono::days(20'000)};
  const WallTime until = from + std::chrono::days(90);
  const auto after = [&](int days) {
    return judge_lifetime(from, until, from + std::chrono::days(days), "for tags.example.org", "renew it");
  };
  EXPECT_TRUE(after(75).ok);
  EXPECT_THAT(after(75).detail, HasSubstr("for tags.example.org until 20"));
  EXPECT_FALSE(after(81).ok);
  EXPECT_THAT(after(81).detail, HasSubstr(": 9 days are left"));
  EXPECT_EQ(after(81).what_to_do, "renew it");
}

TEST(Disk, TheLastTenthIsForOthers) {
  EXPECT_EQ(room_on({100 * kGigabyte, 30 * kGigabyte, 0}), static_cast<std::int64_t>(20 * kGigabyte));
  EXPECT_EQ(room_on({100 * kGigabyte, 10 * kGigabyte, 0}), 0);
  EXPECT_EQ(room_on({100 * kGigabyte, 4 * kGigabyte, 0}), -static_cast<std::int64_t>(6 * kGigabyte));
}

// A restore that ended there was a node that let its history go at once.
TEST(Disk, HasNoRoomForWhatGetsAtTheReserve) {
  const health::Disk disk{100 * kGigabyte, 30 * kGigabyte, 0};
  EXPECT_TRUE(check_room(disk, 19 * kGigabyte));
  const Result<void> refused = check_room(disk, 20 * kGigabyte);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(refused.error().message,
            "there is no room for 20.0 GB more: 20.0 GB are free beside the last 10 % of the disk, which the "
            "node keeps off");
  EXPECT_THAT(check_room({100 * kGigabyte, 4 * kGigabyte, 0}, 1).error().message,
              HasSubstr("0.0 MB more: 0.0 MB are free"));
}

TEST(Disk, IsBadFromTheReserveOn) {
  EXPECT_TRUE(judge({100 * kGigabyte, 11 * kGigabyte, kGigabyte}, 10 * kGigabyte).ok);
  const health::Check full = judge({100 * kGigabyte, 10 * kGigabyte, kGigabyte}, 10 * kGigabyte);
  EXPECT_FALSE(full.ok);
  EXPECT_EQ(full.detail,
            "10.0 GB of 100.0 GB free; the node's data takes 1.0 GB, and its history may take 10.0 GB");
  EXPECT_THAT(full.what_to_do, HasSubstr("keeps off the last 10 %"));
}

TEST(Disk, IsBadBelowAGigabyteHoweverSmallItIs) {
  EXPECT_TRUE(judge({2 * kGigabyte, kGigabyte, 0}, kGigabyte).ok);
  EXPECT_FALSE(judge({2 * kGigabyte, kGigabyte - 1, 0}, kGigabyte).ok);
}

}  // namespace
}  // namespace tagring::machine
