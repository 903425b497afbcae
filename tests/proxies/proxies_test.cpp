#include <gtest/gtest.h>
#include <string>

#include "proxies/client_address.hpp"
#include "proxies/networks.hpp"
#include "proxies/proxy_header.hpp"

namespace tagring::proxies {
namespace {

using namespace std::string_literals;
using State = ProxyHeader::State;

IpAddress ip(std::string_view text) { return IpAddress::parse(text).value(); }
Networks networks(std::initializer_list<std::string_view> texts) {
  Networks all;
  for (const std::string_view text : texts) all.push_back(Network::parse(text).value());
  return all;
}

TEST(Network, HasTheAddressesOfItsBlockAndNoOthers) {
  const Network v4 = Network::parse("192.0.2.128/25").value();
  EXPECT_TRUE(v4.contains(ip("192.0.2.128")));
  EXPECT_TRUE(v4.contains(ip("192.0.2.255")));
  EXPECT_FALSE(v4.contains(ip("192.0.2.127")));
  EXPECT_FALSE(v4.contains(ip("2001:db8::1")));
  const Network v6 = Network::parse("2001:db8::/33").value();
  EXPECT_TRUE(v6.contains(ip("2001:db8:7fff::1")));
  EXPECT_FALSE(v6.contains(ip("2001:db8:8000::1")));
  EXPECT_TRUE(Network::parse("0.0.0.0/0")->contains(ip("203.0.113.9")));
  EXPECT_FALSE(Network::parse("0.0.0.0/0")->contains(ip("::1")));
  EXPECT_TRUE(Network::parse("::/0")->contains(ip("::1")));
  EXPECT_TRUE(Network::parse("::1")->contains(ip("::1")));
}

TEST(Network, IsReadOnlyIfItIsOne) {
  for (const char* text :
       {"", "/8", "192.0.2.0/33", "192.0.2.0/-1", "192.0.2.0/8x", "::/129", "192.0.2.0/", "a/8"})
    EXPECT_FALSE(Network::parse(text)) << text;
  EXPECT_EQ(Network::parse("10.0.0.0/8")->text(), "10.0.0.0/8");
  EXPECT_EQ(Network::parse("2001:db8::1")->text(), "2001:db8::1");
}

TEST(Network, KnowsWhatIsNoPartOfTheInternet) {
  for (const char* text :
       {"127.0.1.1", "10.1.2.3", "172.31.0.1", "192.168.0.1", "100.64.0.1", "::1", "fd00::1", "fe80::1"})
    EXPECT_TRUE(is_private(ip(text))) << text;
  for (const char* text : {"172.32.0.1", "203.0.113.1", "2001:db8::1"})
    EXPECT_FALSE(is_private(ip(text))) << text;
}

IpAddress client(std::string_view peer, const Headers& headers) {
  return client_of(ip(peer), headers, networks({"127.0.0.1", "10.0.0.0/8"}));
}

TEST(ClientAddress, IsThePeerUnlessThatIsTrusted) {
  const Headers forged = {{"X-Forwarded-For", "203.0.113.7"}};
  EXPECT_EQ(client("198.51.100.1", forged), ip("198.51.100.1"));
  EXPECT_EQ(client("127.0.0.1", forged), ip("203.0.113.7"));
  EXPECT_EQ(client("127.0.0.1", {}), ip("127.0.0.1"));
}

TEST(ClientAddress, IsTheLastThatIsNoProxyWhateverAStrangerWroteBeforeIt) {
  EXPECT_EQ(client("127.0.0.1", {{"X-Forwarded-For", "192.0.2.66, 203.0.113.7"}}), ip("203.0.113.7"));
  EXPECT_EQ(client("127.0.0.1", {{"X-Forwarded-For", "203.0.113.7, 10.2.3.4"}}), ip("203.0.113.7"));
  EXPECT_EQ(client("127.0.0.1", {{"X-Forwarded-For", "192.0.2.66"}, {"X-Forwarded-For", "203.0.113.7"}}),
            ip("203.0.113.7"));
  EXPECT_EQ(client("127.0.0.1", {{"X-Forwarded-For", "10.1.1.1, 10.2.3.4"}}), ip("10.1.1.1"));
}

TEST(ClientAddress, ReadsPortsAndBracketsAndNothingElse) {
  EXPECT_EQ(client("127.0.0.1", {{"X-Forwarded-For", "203.0.113.7:1234"}}), ip("203.0.113.7"));
  EXPECT_EQ(client("127.0.0.1", {{"X-Forwarded-For", "[2001:db8::7]:1234"}}), ip("2001:db8::7"));
  EXPECT_EQ(client("127.0.0.1", {{"X-Forwarded-For", "2001:db8::7"}}), ip("2001:db8::7"));
  for (const char* text : {"unknown", "", ",", "[", "]", "[]", "203.0.113.7,", "for=203.0.113.7"})
    EXPECT_EQ(client("127.0.0.1", {{"X-Forwarded-For", text}}), ip("127.0.0.1")) << text;
}

TEST(ClientAddress, ComesFromTheHeaderOnAUnixSocket) {
  const Headers headers = {{"X-Forwarded-For", "203.0.113.7"}};
  EXPECT_EQ(client_of(IpAddress{}, headers, {}), ip("203.0.113.7"));
}

// Fed byte by byte as the parser asks for them: how many it wanted in all, and what it said at the end.
std::pair<std::size_t, ProxyHeader> feed(const std::string& stream) {
  ProxyHeader header = parse_proxy_header("");
  std::size_t size = 0;
  while (header.state == State::kIncomplete) {
    EXPECT_GT(header.wanted, size);
    if (header.wanted > stream.size()) return {size, header};
    size = header.wanted;
    header = parse_proxy_header(std::string_view(stream).substr(0, size));
  }
  return {size, header};
}

const std::string kSignature = "\r\n\r\n\0\r\nQUIT\n"s;
std::string version2(char command, char family, const std::string& addresses) {
  const std::string size = {static_cast<char>(addresses.size() >> 8U), static_cast<char>(addresses.size())};
  return kSignature + command + family + size + addresses;
}

TEST(ProxyHeader, OfVersion1NamesTheClientAndEndsWhereTlsBegins) {
  const std::string line = "PROXY TCP4 203.0.113.7 192.0.2.1 56324 443\r\n";
  const auto [size, header] = feed(line + "\x16\x03\x01");
  EXPECT_EQ(header.state, State::kWhole);
  EXPECT_EQ(size, line.size());
  EXPECT_EQ(header.client, ip("203.0.113.7"));
  EXPECT_EQ(feed("PROXY TCP6 2001:db8::7 2001:db8::1 1 443\r\n").second.client, ip("2001:db8::7"));
  const ProxyHeader unknown = feed("PROXY UNKNOWN\r\n").second;
  EXPECT_EQ(unknown.state, State::kWhole);
  EXPECT_FALSE(unknown.client);
}

TEST(ProxyHeader, OfVersion2NamesTheClientWithOrWithoutMoreBehindTheAddresses) {
  const std::string v4 = "\xcb\x00\x71\x07\xc0\x00\x02\x01\xdc\x04\x01\xbb"s;
  for (const std::string& more : {""s, "\x03\x00\x04\x01\x02\x03\x04"s}) {
    const std::string stream = version2('\x21', '\x11', v4 + more);
    const auto [size, header] = feed(stream + "TLS");
    EXPECT_EQ(header.state, State::kWhole);
    EXPECT_EQ(size, stream.size());
    EXPECT_EQ(header.client, ip("203.0.113.7"));
  }
  const std::string v6 =
      "\x20\x01\x0d\xb8" + std::string(11, '\0') + "\x07" + std::string(16, '\1') + "\x00\x01\x01\xbb"s;
  EXPECT_EQ(feed(version2('\x21', '\x21', v6)).second.client, ip("2001:db8::7"));
  const ProxyHeader local = feed(version2('\x20', '\0', "")).second;
  EXPECT_EQ(local.state, State::kWhole);
  EXPECT_FALSE(local.client);
}

TEST(ProxyHeader, IsRefusedWhenItIsNone) {
  const std::string v4 = "\xcb\x00\x71\x07\xc0\x00\x02\x01\xdc\x04\x01\xbb"s;
  for (const std::string& stream :
       {"GET / HTTP/1.1\r\n\r\n"s, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x01\x01"s,
        "PROXY TCP4 x y 1 2\r\n"s, "PROXY TCP4 2001:db8::7 2001:db8::1 1 443\r\n"s,
        "PROXY TCP4 203.0.113.7 192.0.2.1 99999 443\r\n"s, "PROXY TCP4 203.0.113.7 192.0.2.1 1\r\n"s,
        "PROXY " + std::string(200, 'x'), version2('\x11', '\x11', v4), version2('\x22', '\x11', v4),
        version2('\x21', '\x11', v4.substr(1)), version2('\x21', '\x11', std::string(4096, 'x'))}) {
    EXPECT_EQ(feed(stream).second.state, State::kBad) << stream.substr(0, 40);
  }
}

TEST(ProxyHeader, WaitsForTheRestOfWhatHasBegun) {
  for (const std::string& stream :
       {"PRO"s, "PROXY TCP4 203.0"s, kSignature, version2('\x21', '\x11', "\x01")}) {
    EXPECT_NE(feed(stream).second.state, State::kWhole);
  }
}

}  // namespace
}  // namespace tagring::proxies
