#include "ring/contact.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include "ring/public_suffix.hpp"
#include "tests/source_dir.hpp"

namespace tagring::ring {
namespace {

json::object vectors() {
  std::ifstream file(source_dir() / "docs/vectors/node_ids.json");
  std::stringstream text;
  text << file.rdbuf();
  Result<json::object> parsed = json::parse_object(text.str());
  return parsed ? *std::move(parsed) : json::object{};
}

std::string text(const json::value& row, std::string_view field) {
  return json::get_string(row.as_object(), field).value();
}

IpAddress address(std::string_view text) { return IpAddress::parse(text).value(); }

Contact honest() {
  Contact contact{.id = {},
                  .host = "tags.example.co.uk",
                  .port = 8443,
                  .address = address("2001:db8::1"),
                  .vserver = 7,
                  .incarnation = 9'000'000'000'000'000'000U};
  contact.id = make_node_id(IdRules{}.scheme, contact.address.prefix64(), "example.co.uk", contact.vserver);
  return contact;
}

TEST(NodeId, PublishedHostsHaveTheirDomainAndId) {
  const json::object file = vectors();
  const json::value* rows = json::find(file, "ids");
  ASSERT_NE(rows, nullptr);
  ASSERT_GE(rows->as_array().size(), 20U);
  for (const json::value& row : rows->as_array()) {
    const std::string host = text(row, "host");
    const Result<std::string> domain = registrable_domain(host);
    ASSERT_TRUE(domain) << host << ": " << domain.error().message;
    EXPECT_EQ(*domain, text(row, "domain")) << host;
    const auto vserver = static_cast<std::uint8_t>(json::get_int(row.as_object(), "vserver").value());
    const Prefix64 prefix = address(text(row, "address")).prefix64();
    for (const IdScheme scheme : {IdScheme::kPaper, IdScheme::kSpread})
      EXPECT_EQ(make_node_id(scheme, prefix, *domain, vserver).hex(), text(row, name_of(scheme))) << host;
  }
}

TEST(NodeId, PublishedNonHostsAreRefused) {
  const json::object file = vectors();
  const json::value* rows = json::find(file, "rejected_hosts");
  ASSERT_NE(rows, nullptr);
  ASSERT_GE(rows->as_array().size(), 20U);
  for (const json::value& row : rows->as_array()) {
    const Result<std::string> domain = registrable_domain(text(row, "host"));
    ASSERT_FALSE(domain) << text(row, "note") << ": " << *domain;
    EXPECT_EQ(domain.error().code, ErrorCode::kInvalid);
  }
}

TEST(NodeId, RefusesHostsThatAreNotUtf8) {
  EXPECT_FALSE(
      registrable_domain("b\xFC"
                         "cher.example"));
  EXPECT_FALSE(registrable_domain(std::string(100'000, 'a')));
}

// Else whoever has a domain with a wildcard in the DNS has as many shares of what is limited as they like.
TEST(NodeId, HasAShareByItsDomainWhateverItsName) {
  for (const char* host : {"evil.example", "s1.evil.example", "S_1.Evil.Example", "xn--0.evil.example"})
    EXPECT_EQ(domain_of(host), "evil.example") << host;
  for (const char* host : {"192.0.2.1", "2001:db8::1", "co.uk", ""}) EXPECT_EQ(domain_of(host), host);
}

TEST(NodeId, HoldsTheHashesInTheOrderOfThePaper) {
  // The outer quarters depend on the subnet, the inner half on the domain.
  const Prefix64 here = address("2001:db8::1").prefix64();
  const Prefix64 there = address("2001:db8:0:1::1").prefix64();
  const std::string id = make_node_id(IdScheme::kPaper, here, "example.org", 0).hex();
  const std::string other_domain = make_node_id(IdScheme::kPaper, here, "example.com", 0).hex();
  const std::string other_subnet = make_node_id(IdScheme::kPaper, there, "example.org", 0).hex();
  EXPECT_EQ(id.substr(0, 16), other_domain.substr(0, 16));
  EXPECT_EQ(id.substr(48), other_domain.substr(48));
  EXPECT_NE(id.substr(16, 32), other_domain.substr(16, 32));
  EXPECT_EQ(id.substr(16, 32), other_subnet.substr(16, 32));
  EXPECT_NE(id.substr(0, 16), other_subnet.substr(0, 16));
  EXPECT_NE(id.substr(48), other_subnet.substr(48));
}

TEST(NodeId, HonestContactPasses) {
  EXPECT_TRUE(check_node_id(IdRules{}, honest()));
  // Host, port and incarnation may change within the domain; the place on the ring stays.
  Contact moved = honest();
  moved.host = "other.example.co.uk";
  moved.port = 1;
  moved.incarnation = 0;
  moved.address = address("2001:db8::2");
  EXPECT_TRUE(check_node_id(IdRules{}, moved));
}

TEST(NodeId, TheRulesOfTheNetworkCount) {
  EXPECT_FALSE(check_node_id({.scheme = IdScheme::kPaper}, honest()));
  Contact eighth = honest();
  EXPECT_TRUE(check_node_id({.kappa = 8}, eighth));
  const Result<void> beyond = check_node_id({.kappa = 7}, eighth);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().message, "vserver 7 of tags.example.co.uk: this network numbers them from 0 to 6");
}

TEST(NodeId, EveryLieIsFound) {
  const auto found = [](const Contact& lie) {
    const Result<void> checked = check_node_id(IdRules{}, lie);
    return !checked && checked.error().code == ErrorCode::kInvalid;
  };
  Contact lie = honest();
  lie.host = "tags.example.org";
  EXPECT_TRUE(found(lie)) << "domain";
  lie = honest();
  lie.host = "example.co.uk.evil.example";
  EXPECT_TRUE(found(lie)) << "domain inside another's";
  lie = honest();
  lie.host = "co.uk";
  EXPECT_TRUE(found(lie)) << "public suffix";
  lie = honest();
  lie.address = address("2001:db8:1::1");
  EXPECT_TRUE(found(lie)) << "subnet";
  lie = honest();
  lie.address = address("192.0.2.1");
  EXPECT_TRUE(found(lie)) << "address";
  lie = honest();
  ++lie.vserver;
  EXPECT_TRUE(found(lie)) << "vserver";
  for (const unsigned bit : {0U, 100U, 255U}) {
    lie = honest();
    lie.id = lie.id + RingId::power_of_two(bit);
    EXPECT_TRUE(found(lie)) << "id, bit " << bit;
  }
}

TEST(Contact, OriginHasThePortOnlyWhereNeeded) {
  Contact contact = honest();
  EXPECT_EQ(contact.origin(), "https://tags.example.co.uk:8443");
  contact.port = 443;
  EXPECT_EQ(contact.origin(), "https://tags.example.co.uk");
}

TEST(Contact, SameVserverWhateverItsIncarnation) {
  Contact restarted = honest();
  ++restarted.incarnation;
  EXPECT_TRUE(same_vserver(honest(), restarted));
  EXPECT_NE(honest(), restarted);
}

TEST(Contact, SurvivesJson) {
  Contact contact = honest();
  for (const char* place : {"2001:db8::1", "192.0.2.1"}) {
    contact.address = address(place);
    const Result<json::value> parsed = json::parse(json::serialize(to_json(contact)));
    ASSERT_TRUE(parsed);
    const Result<Contact> again = contact_from_json(*parsed);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, contact);
  }
}

TEST(Contact, MalformedFieldsAreNamed) {
  const Contact contact = honest();
  const struct {
    const char* field;
    json::array values;
  } cases[] = {
      {"id", {nullptr, 5, "", "ab", contact.id.hex() + "0", "0x" + contact.id.hex().substr(2)}},
      {"host",
       {nullptr, 5, "", "Tags.example.org", "tags.example.org.", "bücher.example", "192.0.2.1", "[::1]",
        "a b.example", "tags.example.org:443", "tags.example.org/"}},
      {"port", {nullptr, "443", 0, -1, 65536, 443.0, 1e300, true}},
      {"address",
       {nullptr, 5, "", "tags.example.org", "2001:DB8::1", "2001:db8::1%eth0", "192.0.2.1:443", "192.0.2"}},
      {"vserver", {nullptr, "0", -1, 256, 1.0}},
      {"incarnation", {nullptr, "0", -1, 1.0, 1e300, 1ULL << 63U}},
  };
  for (const auto& [field, values] : cases) {
    json::object without = to_json(contact);
    without.erase(field);
    EXPECT_FALSE(contact_from_json(without)) << field;
    for (const json::value& v : values) {
      json::object o = to_json(contact);
      o[field] = v;
      const Result<Contact> parsed = contact_from_json(o);
      ASSERT_FALSE(parsed) << field << " " << json::serialize(v);
      EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
      EXPECT_TRUE(parsed.error().message.contains(field)) << parsed.error().message;
    }
  }
  EXPECT_FALSE(contact_from_json(json::array{}));
  EXPECT_FALSE(contact_from_json(nullptr));
}

}  // namespace
}  // namespace tagring::ring
