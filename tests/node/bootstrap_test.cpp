// How a node finds the network (docs/protocol.md §4.3): configured origins, and domains that name them in the
// DNS.
#include "node/fixture.hpp"

namespace tagring::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class FakeServices final : public ServiceFinder {
 public:
  Task<Result<std::vector<ServiceHost>>> find_service(std::string name, Instant /*deadline*/) override {
    asked.push_back(name);
    const auto found = hosts.find(name);
    if (found == hosts.end()) co_return fail(ErrorCode::kNotFound, "no such service");
    co_return found->second;
  }
  std::map<std::string, std::vector<ServiceHost>> hosts;
  std::vector<std::string> asked;
};

class Bootstrap : public NodeTest {
 protected:
  Bootstrap() {
    services = &finder;
    configured.create = false;
  }
  [[nodiscard]] std::vector<std::string> nodeinfo_asked_of() const {
    std::set<std::string> origins;
    for (const HttpCall& call : internet.calls) {
      if (call.url.path() == "/.well-known/nodeinfo") origins.insert(call.url.origin());
    }
    return {origins.begin(), origins.end()};
  }
  void announce(const std::string& host, const ring::Contact& contact, ring::IdRules ids = {}) {
    const std::string at = "https://" + host;
    const json::array contacts = {to_json(contact)};
    internet.serve(
        at + "/.well-known/nodeinfo",
        json::serialize(json::object{
            {"links", json::array{json::object{{"rel", "http://nodeinfo.diaspora.software/ns/schema/2.1"},
                                               {"href", at + "/nodeinfo/2.1"}}}}}));
    const json::object ours = {
        {"network", "tagring"}, {"ids", to_json(ids)}, {"relay", contacts}, {"storage", contacts}};
    internet.serve(at + "/nodeinfo/2.1",
                   json::serialize(json::object{{"metadata", json::object{{"tagring", ours}}}}));
  }

  FakeServices finder;
  config::Config configured = config();
};

ring::Contact contact_at(const std::string& host, const std::string& domain) {
  ring::Contact contact;
  contact.host = host;
  contact.address = *IpAddress::parse("2001:db8:2::1");
  contact.incarnation = 1;
  contact.id = ring::make_node_id(ring::IdScheme::kSpread, contact.address.prefix64(), domain, 0);
  return contact;
}

TEST_F(Bootstrap, AsksTheHostsThatADomainNamesBesideTheConfiguredOnes) {
  configured.bootstrap = {"https://tags.known.example"};
  configured.bootstrap_srv = {"peer.example", "silent.example"};
  finder.hosts["_tagring._tcp.peer.example"] = {{"tags.peer.example", 443},
                                                {"more.peer.example", 8443},
                                                {"tags.known.example", 443},
                                                {"tags.home.example", 443}};
  start(configured);
  settle();
  EXPECT_THAT(nodeinfo_asked_of(),
              UnorderedElementsAre("https://tags.known.example", "https://tags.peer.example",
                                   "https://more.peer.example:8443"))
      << "each once, and never the node itself";
  ASSERT_GE(finder.asked.size(), 2U);
  EXPECT_EQ(finder.asked[0], "_tagring._tcp.peer.example");
  EXPECT_EQ(finder.asked[1], "_tagring._tcp.silent.example");
  EXPECT_FALSE(node->rings().of(Ring::kRelay).is_member())
      << "nobody was there, and it may not create a ring";
}

TEST_F(Bootstrap, CallsTheContactsOfAHostFromTheDnsAndChecksTheirIds) {
  configured.bootstrap_srv = {"peer.example"};
  finder.hosts["_tagring._tcp.peer.example"] = {{"tags.peer.example", 443}, {"liar.example", 443}};
  const ring::Contact peer = contact_at("tags.peer.example", "peer.example");
  announce("tags.peer.example", peer);
  ring::Contact lie = contact_at("tags.lie.example", "lie.example");
  lie.id = lie.id + RingId::power_of_two(1);
  announce("liar.example", lie);
  start(configured);
  settle();
  const std::vector<HttpCall> calls =
      internet.sent_to(peer.origin() + std::string(overlay::RingService::kPath));
  ASSERT_FALSE(calls.empty());
  EXPECT_EQ(calls.front().required_prefix, peer.address.prefix64());
  EXPECT_TRUE(internet.sent_to(lie.origin() + std::string(overlay::RingService::kPath)).empty());
}

TEST_F(Bootstrap, SaysThatADomainNamesNobodyButTheNodeItself) {
  configured.bootstrap_srv = {"home.example"};
  finder.hosts["_tagring._tcp.home.example"] = {{"tags.home.example", 443}};
  start(configured);
  settle();
  const json::object reasons = *json::get_object(node->status(), "bootstrap_failed");
  EXPECT_EQ(json::get_string(reasons, "https://tags.home.example"),
            "is this node itself, and no other is named");
}

TEST_F(Bootstrap, SaysWhyAnOriginDoesNotLeadIntoTheNetwork) {
  configured.bootstrap = {"https://tags.gone.example", "https://tags.peer.example"};
  announce("tags.peer.example", contact_at("tags.peer.example", "peer.example"),
           {.scheme = ring::IdScheme::kPaper, .kappa = 8});
  start(configured);
  settle();
  EXPECT_TRUE(
      internet.sent_to("https://tags.peer.example" + std::string(overlay::RingService::kPath)).empty());
  const json::object reasons = *json::get_object(node->status(), "bootstrap_failed");
  EXPECT_EQ(json::get_string(reasons, "https://tags.gone.example"), "HTTP status 404");
  EXPECT_EQ(json::get_string(reasons, "https://tags.peer.example"),
            "its network has other IDs: there ring.id_scheme is 'paper' and ring.kappa 8");
}

TEST_F(Bootstrap, SaysWhichMemberItCannotCallAndAtWhichAddress) {
  configured.bootstrap = {"https://tags.peer.example"};
  const ring::Contact peer = contact_at("tags.peer.example", "peer.example");
  announce("tags.peer.example", peer);
  internet.answers[peer.origin() + std::string(overlay::RingService::kPath)] = [](const HttpCall&) {
    return fail(ErrorCode::kUnavailable, "cannot connect: Network is unreachable");
  };
  start(configured);
  settle();
  EXPECT_THAT(control("/doctor").body,
              HasSubstr("a member could not be called: https://tags.peer.example at 2001:db8:2::1: cannot "
                        "connect: Network is unreachable"));
}

// As one without IPv6 where members have both: those that it gets at do not take it for want of the others.
TEST_F(Bootstrap, GoesOnSayingWhichMemberItCannotCallWhileAnotherAnswers) {
  configured.bootstrap = {"https://tags.peer.example", "https://tags.other.example"};
  const ring::Contact peer = contact_at("tags.peer.example", "peer.example");
  const ring::Contact other = contact_at("tags.other.example", "other.example");
  announce("tags.peer.example", peer);
  announce("tags.other.example", other);
  bool was_called = false;
  bool has_answered = false;
  internet.answers[peer.origin() + std::string(overlay::RingService::kPath)] = [&](const HttpCall&) {
    was_called = true;
    return fail(ErrorCode::kUnavailable, "cannot connect: Network is unreachable");
  };
  const std::string answering = other.origin() + std::string(overlay::RingService::kPath);
  internet.answers[answering] = [&](const HttpCall&) -> Result<HttpResponse> {
    has_answered = was_called;
    return with_status(503);
  };
  internet.delays[answering] = std::chrono::seconds(1);  // after the other one
  start(configured);
  for (int i = 0; i < 100; ++i) {
    settle(std::chrono::milliseconds(100));
    if (was_called)
      EXPECT_THAT(node->rings().unanswered(), HasSubstr("https://tags.peer.example at 2001:db8"));
  }
  EXPECT_TRUE(has_answered);
}

TEST_F(Bootstrap, CreatesANetworkWhenTheDnsKnowsNobody) {
  configured.bootstrap_srv = {"nobody.example"};
  configured.create = true;
  start(configured);
  settle();
  EXPECT_THAT(finder.asked, testing::Contains("_tagring._tcp.nobody.example"));
  EXPECT_TRUE(node->rings().of(Ring::kRelay).is_member());
}

}  // namespace
}  // namespace tagring::node
