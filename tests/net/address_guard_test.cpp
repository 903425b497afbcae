#include "net/address_guard.hpp"

#include <gtest/gtest.h>
#include <string>

namespace tagring::net {
namespace {

IpAddress address(const std::string& text) {
  const auto parsed = IpAddress::parse(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed.value_or(IpAddress{});
}

class PublicAddress : public testing::TestWithParam<const char*> {};
TEST_P(PublicAddress, IsAllowed) { EXPECT_TRUE(is_public(address(GetParam()))); }
// The neighbours of the special ranges show that these are not cut too wide.
INSTANTIATE_TEST_SUITE_P(Ranges, PublicAddress,
                         testing::Values("1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255",
                                         "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255",
                                         "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0",
                                         "192.0.3.0", "192.88.98.255", "192.167.255.255", "192.169.0.0",
                                         "198.17.255.255", "198.20.0.0", "198.51.99.255", "203.0.114.0",
                                         "223.255.255.255", "::ffff:8.8.8.8", "2001:200::1", "2001:470::1",
                                         "2001:db7:ffff::1", "2001:db9::1", "2003::1", "2606:4700::1111",
                                         "2a01:4f8::1", "2620:4f:8001::1", "3ffe::1", "3fff:1000::1"));

class SpecialAddress : public testing::TestWithParam<const char*> {};
TEST_P(SpecialAddress, IsRefused) { EXPECT_FALSE(is_public(address(GetParam()))); }
INSTANTIATE_TEST_SUITE_P(V4, SpecialAddress,
                         testing::Values("0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1",
                                         "100.127.255.255", "127.0.0.1", "127.255.255.255", "169.254.169.254",
                                         "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1",
                                         "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255",
                                         "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255",
                                         "240.0.0.1", "255.255.255.255"));
INSTANTIATE_TEST_SUITE_P(V6, SpecialAddress,
                         testing::Values("::", "::1", "100::1", "2001::1", "2001:2::1", "2001:10::1",
                                         "2001:20::1", "2001:1ff:ffff::1", "2001:db8::1", "2620:4f:8000::1",
                                         "3fff::1", "3fff:fff::1", "4000::1", "5f00::1", "fc00::1", "fdff::1",
                                         "fe80::1", "fec0::1", "ff02::1"));
// GHSA-xfrj-c749-jxxq, GHSA-crr4-7rm4-8gpw, GHSA-xx55-4rrg-8xg6 and GHSA-vwhj-3g83-v276 were all an IPv4
// address in one of these coats.
INSTANTIATE_TEST_SUITE_P(EmbeddedV4, SpecialAddress,
                         testing::Values("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe",
                                         "::127.0.0.1", "::10.0.0.1", "::8.8.8.8", "::ffff:0:127.0.0.1",
                                         "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::8.8.8.8",
                                         "64:ff9b:1::10.0.0.1", "2002:7f00:1::1", "2002:a00:1::1",
                                         "2002:808:808::1", "2001:0:808:808::f5ff:fffe"));

}  // namespace
}  // namespace tagring::net
