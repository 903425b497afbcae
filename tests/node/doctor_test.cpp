// What is not well, and when it is again; and what a reload takes.
#include <boost/algorithm/string/replace.hpp>
#include <fmt/format.h>
#include <map>

#include "admin/settings.hpp"
#include "crypto/hash.hpp"
#include "health/metrics.hpp"
#include "health/reach.hpp"
#include "health/seen_posts.hpp"
#include "node/fixture.hpp"

namespace tagring::node {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class FakeMachine final : public health::Machine {
 public:
  explicit FakeMachine(Clock& clock) : clock_(clock) {}
  Task<health::Checks> look() override {
    health::Checks checks;
    if (!found.empty()) checks.push_back(health::well("dns", "the name has them"));
    checks.insert(checks.end(), others.begin(), others.end());
    co_return checks;
  }
  Task<std::vector<IpAddress>> addresses() override { co_return found; }
  Task<Result<void>> try_to_write() override {
    const Instant done = clock_.now() + takes;
    co_await clock_.sleep_until(done);
    co_return written;
  }
  [[nodiscard]] bool can_write() const override { return written.has_value(); }
  [[nodiscard]] std::optional<health::Disk> disk() const override { return std::nullopt; }
  [[nodiscard]] std::optional<std::int64_t> room() const override { return std::nullopt; }
  [[nodiscard]] std::optional<WallTime> certificate_until() const override { return std::nullopt; }
  Task<Result<json::object>> reload() override { co_return json::object(); }
  Task<Result<json::object>> back_up() override { co_return json::object(); }
  [[nodiscard]] std::map<std::string, std::int64_t> inbox_refused_by_fronts() const override {
    return refused_by_fronts;
  }

  Duration takes{1};
  std::map<std::string, std::int64_t> refused_by_fronts;
  Result<void> written;
  std::vector<IpAddress> found;  // in the DNS
  health::Checks others;

 private:
  Clock& clock_;
};

class DoctorTest : public NodeTest {
 protected:
  ~DoctorTest() override {
    loop.drop(kOwner);
    node.reset();
  }
  void start_on_machine(config::Config with = config()) {
    loop.drop(kOwner);
    node.reset();
    Environment environment{
        clock, loop.executor(kOwner), internet, workers, stores_of(*stores), log, 42, {}, {}, nullptr};
    environment.machine = &machine;
    node =
        std::make_unique<Node>(std::move(with), crypto::PrivateKey::ed25519_from_seed(std::string(32, 'n')),
                               std::uint64_t{1} << 50U, environment);
    ASSERT_TRUE(run(node->start()));
    settle();
  }
  // Another node is there, and answers so when it is asked to call back.
  void start_beside_one_that_answers(int status, std::string body) {
    config::Config other = config();
    other.bootstrap = {"https://other.example"};
    start(std::move(other));
    internet.answers["https://other.example" + std::string(health::Reach::kPath)] =
        [status, body = std::move(body)](const HttpCall& call) -> Result<HttpResponse> {
      return call.method == "GET" ? with_status(200, R"({"now": 1})") : with_status(status, body);
    };
  }
  json::object check(const std::string& name) {
    const json::object report = *json::parse_object(control("/doctor").body);
    for (const json::value& one : report.at("checks").as_array())
      if (one.at("name") == json::value(name)) return one.as_object();
    ADD_FAILURE() << "no " << name;
    return {};
  }
  static std::string detail(const json::object& check) {
    return json::get_string(check, "detail").value_or("");
  }
  void come_through(const std::string& proxy) {
    HttpRequest request;
    request.target = "/livez";
    request.headers.add("X-Forwarded-For", "203.0.113.9");
    request.peer = *IpAddress::parse(proxy);
    EXPECT_EQ(ask(std::move(request)).status, 200);
  }

  FakeMachine machine{clock};
};

TEST_F(DoctorTest, WhatFrontsRefusedThemselvesCountsAsRefused) {
  start_on_machine();
  machine.refused_by_fronts = {{"not_authentic", 3}, {"invalid", 1}};
  EXPECT_EQ(ask({.method = "POST", .target = "/inbox", .headers = {}, .body = "{}", .peer = {}}).status, 400);
  EXPECT_EQ(status().at("inbox").as_object().at("refused"),
            (json::object{{"invalid", 2}, {"not_authentic", 3}}));
  EXPECT_THAT(health::to_metrics(status()), HasSubstr("\ntagring_inbox_refused_total 5\n"));
}

TEST_F(DoctorTest, AProxyIsUnknownUntilItIsTrustedOrGone) {
  EXPECT_TRUE(check("proxy").at("ok").as_bool());
  come_through("127.0.0.5");
  EXPECT_FALSE(check("proxy").at("ok").as_bool());
  EXPECT_THAT(detail(check("proxy")), HasSubstr("a proxy at 127.0.0.5"));
  config::Config trusting = config();
  trusting.trusted_proxies = {*proxies::Network::parse("127.0.0.0/8")};
  EXPECT_EQ(node->adopt(trusting).at("changed"), json::value(json::array{"listen.trusted_proxies"}));
  EXPECT_TRUE(check("proxy").at("ok").as_bool());

  come_through("10.0.0.5");
  EXPECT_FALSE(check("proxy").at("ok").as_bool());
  settle(std::chrono::hours(23));
  EXPECT_FALSE(check("proxy").at("ok").as_bool());
  settle(std::chrono::hours(1));
  EXPECT_TRUE(check("proxy").at("ok").as_bool());
}

TEST_F(DoctorTest, AProxyThatIsTrustedHasToSayWhoComes) {
  config::Config proxied = config();
  proxied.listen_socket = "/run/tagring/http.sock";
  proxied.trusted_proxies = {*proxies::Network::parse("192.168.7.1")};
  start(std::move(proxied));
  const auto come = [this](const char* peer, const std::string& for_whom, const std::string& target) {
    HttpRequest request;
    request.target = target;
    if (!for_whom.empty()) request.headers.add("X-Forwarded-For", for_whom);
    request.peer = *IpAddress::parse(peer);
    ask(std::move(request));
  };
  come("10.1.2.3", "10.1.2.3", "/actor");  // a visitor in a network of their own, as the server takes it
  come("192.168.7.1", "", "/readyz");      // the proxy looks whether the node is there
  EXPECT_TRUE(check("proxy").at("ok").as_bool()) << detail(check("proxy"));
  come("192.168.7.1", "", "/actor");
  EXPECT_THAT(detail(check("proxy")), HasSubstr("does not say whose they are"));
  settle(std::chrono::hours(24));
  EXPECT_TRUE(check("proxy").at("ok").as_bool());
  come("192.168.7.1", "", "/actor");
  for (int i = 0; i < 49; ++i) come("203.0.113.9", "203.0.113.9", "/actor");
  EXPECT_FALSE(check("proxy").at("ok").as_bool()) << "another proxy may have brought these";
  come("203.0.113.9", "203.0.113.9", "/actor");
  EXPECT_TRUE(check("proxy").at("ok").as_bool()) << "it was mended";
  come("::", "", "/actor");
  EXPECT_THAT(detail(check("proxy")), HasSubstr("does not say whose they are")) << "by the socket";
}

TEST_F(DoctorTest, AVisitorFromTheNetworkOfATrustedProxyIsNamed) {
  config::Config proxied = config();
  proxied.trusted_proxies = {*proxies::Network::parse("192.168.7.0/24")};
  start(proxied);
  HttpRequest request;
  request.target = "/actor";
  request.peer = *IpAddress::parse("192.168.7.9");
  request.headers.add("X-Forwarded-For", "192.168.7.9");
  ask(request);
  EXPECT_TRUE(check("proxy").at("ok").as_bool()) << detail(check("proxy"));
  request.headers = {};
  ask(request);
  EXPECT_FALSE(check("proxy").at("ok").as_bool()) << "now nobody is named";
  proxied.proxy_protocol = true;
  start(std::move(proxied));
  ask(request);
  EXPECT_TRUE(check("proxy").at("ok").as_bool()) << "the PROXY header named it";
}

TEST_F(DoctorTest, AClockThatIsWrongByMoreThanAMinuteIsBad) {
  config::Config knowing = config();
  knowing.bootstrap = {"https://tags.far.example"};
  start(std::move(knowing));
  Duration ahead{0};
  internet.answers["https://tags.far.example" + std::string(health::Reach::kPath)] =
      [&](const HttpCall&) -> Result<HttpResponse> {
    const WallTime there = clock.wall_now() + ahead;
    return with_status(
        200, json::serialize(json::object{{"now", there.time_since_epoch().count()}, {"you", "::1"}}));
  };
  EXPECT_TRUE(check("clock").at("ok").as_bool());
  ahead = std::chrono::minutes(2);
  EXPECT_FALSE(check("clock").at("ok").as_bool());
  EXPECT_THAT(detail(check("clock")), HasSubstr("120.0 s behind those of 1 other node"));
  ahead = -ahead;
  EXPECT_THAT(detail(check("clock")), HasSubstr("120.0 s ahead of those of 1 other node"));
}

// As from the machine of a core behind a balancer: its neighbours keep no room for it.
TEST_F(DoctorTest, ANodeThatComesFromElsewhereThanItsAddressIsAStrangerToItsNeighbours) {
  config::Config knowing = config();  // at 2001:db8:1::1
  knowing.bootstrap = {"https://one.example", "https://two.example"};
  start(std::move(knowing));
  std::map<std::string, std::string> seen;
  for (const std::string origin : {"https://one.example", "https://two.example"})
    internet.answers[origin + std::string(health::Reach::kPath)] =
        [&seen, origin](const HttpCall&) -> Result<HttpResponse> {
      return with_status(200, json::serialize(json::object{{"now", 1}, {"you", seen[origin]}}));
    };
  const auto come_from = [&](const char* one, const char* two) {
    seen = {{"https://one.example", one}, {"https://two.example", two}};
    return check("source");
  };
  const auto is_ok = [](const json::object& found) { return found.at("ok").as_bool(); };
  EXPECT_TRUE(is_ok(come_from("2001:db8:1::7", "2001:db8:1::7"))) << "of its /64";
  const json::object found = come_from("2001:db8:2::1", "2001:db8:2::1");
  EXPECT_FALSE(is_ok(found));
  EXPECT_THAT(detail(found), HasSubstr("one.example sees this node come from 2001:db8:2::1"));
  EXPECT_THAT(json::text_of(found, "what_to_do"), HasSubstr("network.source"));
  EXPECT_TRUE(is_ok(come_from("2001:db8:2::1", "2001:db8:1::1"))) << "one may be behind a forwarder";
  EXPECT_TRUE(is_ok(come_from("203.0.113.7", "203.0.113.7"))) << "by IPv4 it has no address";
  EXPECT_TRUE(is_ok(come_from("::", "fd00::1"))) << "both may be behind forwarders";
  EXPECT_TRUE(is_ok(come_from("", "nowhere")));
}

TEST_F(DoctorTest, ADatabaseThatCannotBeWrittenOrTakesLongIsBad) {
  start_on_machine();
  EXPECT_TRUE(check("database").at("ok").as_bool());
  EXPECT_THAT(get("/readyz").body, Not(HasSubstr("disk")));
  machine.takes = std::chrono::seconds(6);
  EXPECT_THAT(detail(check("database")), HasSubstr("a write took 6000 ms"));
  EXPECT_FALSE(check("database").at("ok").as_bool());
  machine.takes = Duration(1);
  machine.written = fail(ErrorCode::kUnavailable, "disk I/O error");
  EXPECT_FALSE(check("database").at("ok").as_bool());
  EXPECT_EQ(detail(check("database")), "disk I/O error");
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_THAT(get("/readyz").body, HasSubstr("cannot write to the disk"));
}

TEST_F(DoctorTest, OnPostgresqlItIsNotTheDiskOfTheNodeThatCannotBeWritten) {
  config::Config with = config();
  with.postgres = "postgresql:///tagring";
  start_on_machine(std::move(with));
  EXPECT_THAT(detail(check("growth")), HasSubstr("the data is in PostgreSQL"));
  machine.written = fail(ErrorCode::kUnavailable, "no answer");
  EXPECT_THAT(get("/readyz").body, HasSubstr("cannot write to PostgreSQL"));
  EXPECT_THAT(json::text_of(check("database"), "what_to_do"), HasSubstr("see that PostgreSQL runs"));
}

TEST_F(DoctorTest, ANodeThatIsNotOnTheRingIsAliveAndNotReady) {
  EXPECT_EQ(get("/readyz").status, 200) << get("/readyz").body;
  config::Config alone = config();
  alone.create = false;
  start(std::move(alone));
  EXPECT_EQ(get("/livez").status, 200);
  const HttpResponse ready = get("/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_THAT(ready.body, HasSubstr("not on the relay ring"));
}

TEST_F(DoctorTest, ANodeThatWasToldToLeaveSaysSo) {
  EXPECT_EQ(detail(check("rings")), "member of the relay ring and of the storage ring");
  EXPECT_EQ(control("/leave", "{}").status, 200);
  EXPECT_EQ(detail(check("rings")), "left the relay and storage ring, as it was told to");
  EXPECT_THAT(get("/readyz").body, HasSubstr("has left the relay ring"));
  EXPECT_TRUE(status().at("rings").at("storage").at("left").as_bool());
  EXPECT_THAT(json::text_of(check("rings"), "what_to_do"), HasSubstr("stop the node"));
}

TEST_F(DoctorTest, ANodeThatIsStillHandingOverIsNotToBeStopped) {
  TaskGroup tasks(loop.executor(kOwner));
  tasks.spawn("leave", node->leave());
  settle(std::chrono::milliseconds(100));
  EXPECT_THAT(detail(check("rings")), HasSubstr("is leaving both rings, as it was told to; places still"));
  EXPECT_THAT(json::text_of(check("rings"), "what_to_do"), HasSubstr("leave it running"));
  EXPECT_TRUE(status().at("rings").at("relay").at("leaving").as_bool());
  EXPECT_TRUE(status().at("rings").at("storage").at("leaving").as_bool()) << "its turn is to come";
  EXPECT_FALSE(status().at("rings").at("relay").at("left").as_bool());
  EXPECT_EQ(get("/readyz").status, 200) << "others fetch from it";
  settle(std::chrono::minutes(5));
  EXPECT_EQ(tasks.size(), 0U);
  EXPECT_THAT(json::text_of(check("rings"), "what_to_do"), HasSubstr("stop the node"));
  EXPECT_FALSE(status().at("rings").at("relay").at("leaving").as_bool());
}

TEST_F(DoctorTest, ANodeThatHasLeftRunsOnWhilePostsWaitForOwners) {
  EXPECT_EQ(control("/leave", "{}").status, 200);
  const Author alice = make_author("https://home.example/users/alice");
  EXPECT_EQ(
      post_signed(create_text({.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats"}}),
                  alice)
          .status,
      202);
  settle();
  EXPECT_THAT(detail(check("rings")), HasSubstr("wait for owners to take them: 1"));
  EXPECT_THAT(json::text_of(check("rings"), "what_to_do"), HasSubstr("leave it running"));
}

TEST_F(DoctorTest, AReloadWelcomesTheInstancesThatItNames) {
  const auto accepted = [this](const Author& server) {
    EXPECT_EQ(
        post_signed(follow_text(server, {"https://www.w3.org/ns/activitystreams#Public"}), server).status,
        202);
    settle();
    std::vector<std::string> types;
    for (const json::object& sent : internet.posted_to(server.inbox))
      types.push_back(json::id_of(sent, "type"));
    return types;
  };
  EXPECT_THAT(accepted(make_author("https://far.example/actor")), Not(Contains("Accept")));
  config::Config wider = config();
  wider.instances.emplace_back("other.example");
  EXPECT_EQ(node->adopt(wider).at("changed"), json::value(json::array{"publish.instances"}));
  EXPECT_THAT(accepted(make_author("https://other.example/actor")), Contains("Accept"));
}

// Those who are down are not this node's fault.
TEST_F(DoctorTest, WhoAnswersAndCannotComeInBlamesTheWayInAndWhoIsDownDoesNot) {
  config::Config other = config();
  other.bootstrap = {"https://other.example"};
  start(std::move(other));
  const std::string url = "https://other.example" + std::string(health::Reach::kPath);
  internet.answers[url] = [](const HttpCall&) { return fail(ErrorCode::kUnavailable, "connection refused"); };
  EXPECT_FALSE(check("reachable").at("ok").as_bool());
  EXPECT_THAT(json::text_of(check("reachable"), "what_to_do"), HasSubstr("that these are down"));
  internet.answers[url] = [](const HttpCall& call) -> Result<HttpResponse> {
    return with_status(200, call.method == "GET" ? R"({"now": 1})" : R"({"reached": false})");
  };
  EXPECT_FALSE(check("reachable").at("ok").as_bool());
  EXPECT_THAT(json::text_of(check("reachable"), "what_to_do"), HasSubstr("firewall"));
}

TEST_F(DoctorTest, WhoIsAnsweredByAProxyAndNotByTheNodeBlamesTheProxy) {
  start_beside_one_that_answers(200, R"({"reached": false, "because": "HTTP status 502"})");
  EXPECT_THAT(json::text_of(check("reachable"), "what_to_do"),
              AllOf(HasSubstr("the proxy in front passes that name on"), Not(HasSubstr("firewall"))));
}

// Who has not its key yet fetches that first, and says with an error what came of it.
TEST_F(DoctorTest, WhoFindsNoKeyWhereTheNodeShouldBeBlamesTheProxy) {
  config::Config other = config();
  other.bootstrap = {"https://other.example"};
  start(std::move(other));
  const std::string actor = config().origin() + "/actor";
  const auto advice_after = [&](int status, const std::string& error, const std::string& because) {
    internet.answers["https://other.example" + std::string(health::Reach::kPath)] =
        [=](const HttpCall& call) -> Result<HttpResponse> {
      if (call.method == "GET") return with_status(200, R"({"now": 1})");
      const std::string message = "cannot fetch the key " + actor + "#main-key: " + because;
      return with_status(status, json::serialize(json::object{{"error", error}, {"message", message}}));
    };
    return json::text_of(check("reachable"), "what_to_do");
  };
  const auto of_the_proxy = HasSubstr("the proxy in front passes that name on");
  EXPECT_THAT(advice_after(503, "unavailable", actor + " answered 502"), of_the_proxy);
  EXPECT_THAT(advice_after(401, "not_found", actor + " is gone"), of_the_proxy);
  EXPECT_THAT(advice_after(401, "denied", actor + " answered 421"), of_the_proxy);
  EXPECT_THAT(advice_after(400, "invalid", actor + " is not an ActivityPub document"), of_the_proxy);
  EXPECT_THAT(advice_after(503, "unavailable", "tags.home.example does not answer"), HasSubstr("firewall"));
}

TEST_F(DoctorTest, TheProxyOfAnotherNodeIsNotTakenForItsOwn) {
  config::Config other = config();
  other.bootstrap = {"https://broken.example", "https://other.example"};
  start(std::move(other));
  internet.answers["https://broken.example" + std::string(health::Reach::kPath)] =
      [](const HttpCall&) -> Result<HttpResponse> { return with_status(502, "<h1>Bad Gateway</h1>"); };
  internet.answers["https://other.example" + std::string(health::Reach::kPath)] =
      [](const HttpCall& call) -> Result<HttpResponse> {
    if (call.method == "GET") return with_status(200, R"({"now": 1})");
    return with_status(200, R"({"reached": false, "because": "cannot connect: timed out"})");
  };
  const json::object found = check("reachable");
  EXPECT_THAT(detail(found), HasSubstr("https://broken.example: HTTP status 502"));
  EXPECT_THAT(json::text_of(found, "what_to_do"), HasSubstr("firewall"));
}

TEST_F(DoctorTest, ANodeBehindAProxySeesWhatThatAnswersForIt) {
  const auto judge = [](int status, const std::string& body) {
    return health::judge_way_in(config(), with_status(status, body));
  };
  EXPECT_TRUE(judge(200, R"({"host": "tags.home.example"})").ok);
  EXPECT_TRUE(judge(200, R"({"host": "TAGS.home.example:443"})").ok);
  EXPECT_THAT(judge(200, R"({"host": "localhost"})").detail, HasSubstr("with Host: localhost"));
  EXPECT_THAT(judge(421, R"({"error": "denied", "message": "Host is …"})").what_to_do,
              HasSubstr("proxy_set_header Host $http_host"));
  const health::Check found = judge(502, "<h1>Bad Gateway</h1>");
  EXPECT_FALSE(found.ok);
  EXPECT_EQ(found.detail, "https://tags.home.example answers: HTTP status 502");
  EXPECT_THAT(found.what_to_do, HasSubstr("in the node's group"));
  EXPECT_THAT(judge(200, "<h1>It works!</h1>").detail, HasSubstr("answers: another server"));
}

class NamesTest : public DoctorTest {
 protected:
  NamesTest() {
    machine.found = {config().address, *IpAddress::parse(kOther)};
    const std::string path(health::Reach::kPath);
    internet.answers[config().origin() + path] = [this](const HttpCall& call) -> Result<HttpResponse> {
      EXPECT_TRUE(call.exact_address);
      EXPECT_EQ(call.required_prefix, call.exact_address->prefix64());
      tried.push_back(call.exact_address->text());
      return there;
    };
    for (const char* origin : {"https://other.example", "https://third.example", "https://fourth.example"}) {
      internet.answers[origin + path] = [this, origin](const HttpCall& call) -> Result<HttpResponse> {
        if (call.method == "GET") return with_status(200, R"({"now": 1})");
        const std::string address = json::text_of(*json::parse_object(call.body), "address");
        if (address != kOther) return with_status(200, to_own);
        const auto own = to_other.find(origin);
        return own == to_other.end() ? with_status(200, kRefused) : own->second;
      };
    }
  }
  void start_beside(std::vector<std::string> others) {
    config::Config beside = config();
    beside.bootstrap = std::move(others);
    start_on_machine(std::move(beside));
  }
  void start_beside_three() {
    start_beside({"https://other.example", "https://third.example", "https://fourth.example"});
  }
  std::string own_process() {
    return json::text_of(*json::parse_object(get("/tagring/v1/reach").body), "process");
  }
  HttpResponse found_itself() {
    return with_status(200, json::serialize(json::object{{"reached", true}, {"process", own_process()}}));
  }

  static constexpr const char* kOther = "198.51.100.7";
  static constexpr const char* kRefused = R"({"reached": false, "because": "connection refused"})";
  const HttpResponse found_another =
      with_status(200, R"({"reached": true, "saw": "", "process": "another"})");
  // What comes of it when this node goes to another address of its own, and where it went.
  Result<HttpResponse> there = fail(ErrorCode::kUnavailable, "no route");
  std::vector<std::string> tried;
  // What other nodes say that are asked to go to the node's addresses.
  std::map<std::string, HttpResponse> to_other;
  std::string to_own = R"({"reached": true, "saw": "2001:db8:1::1"})";
};

TEST_F(NamesTest, WhatIsAtAnotherAddressIsThisNodeOrAmiss) {
  start_beside({});
  there = with_status(200, get("/tagring/v1/reach").body);
  EXPECT_TRUE(check("dns").at("ok").as_bool());
  EXPECT_EQ(detail(check("dns")), "the name has them; all lead to this node");
  // The machine that had the name before, with the same key; one of a version that says less; whatever has
  // the address now, with a page or with a certificate of its own.
  for (const Result<HttpResponse>& other :
       {Result<HttpResponse>(with_status(200, R"({"now": 1, "process": "another"})")),
        Result<HttpResponse>(with_status(200, R"({"now": 1})")),
        Result<HttpResponse>(with_status(404, "<h1>It works!</h1>")),
        Result<HttpResponse>(fail(ErrorCode::kDenied, "certificate of n.example: self-signed"))}) {
    there = other;
    const json::object found = check("dns");
    EXPECT_FALSE(found.at("ok").as_bool());
    EXPECT_THAT(detail(found), HasSubstr("the name has them; not this node is at 198.51.100.7: "));
    EXPECT_THAT(json::text_of(found, "what_to_do"), HasSubstr("remove its A record 198.51.100.7, or have"));
  }
  machine.found = {config().address, *IpAddress::parse("127.0.1.1")};
  EXPECT_EQ(detail(check("dns")), "the name has them") << "127.0.1.1 is of /etc/hosts";
}

TEST_F(NamesTest, EachAddressOfOnePrefixIsTried) {
  start_beside({});
  machine.found = {config().address, *IpAddress::parse("2001:db8:1::8"), *IpAddress::parse("2001:db8:1::9")};
  there = with_status(200, R"({"now": 1, "process": "another"})");
  tried.clear();
  EXPECT_THAT(json::text_of(check("dns"), "what_to_do"),
              HasSubstr("its AAAA record 2001:db8:1::8 and its AAAA record 2001:db8:1::9"));
  EXPECT_THAT(tried, testing::ElementsAre("2001:db8:1::8", "2001:db8:1::9"));
}

// A container without IPv6 behind a machine that passes it on, say.
TEST_F(NamesTest, WhatNobodyHereCanSeeIsNotAmiss) {
  const auto look = [this] {
    const json::object found = check("dns");
    EXPECT_TRUE(found.at("ok").as_bool()) << json::serialize(found);
    EXPECT_EQ(detail(found), "the name has them; nobody here could see what is at 198.51.100.7: no route");
    EXPECT_EQ(json::text_of(found, "what_to_do"),
              "see from another machine that this node answers there, or remove its A record 198.51.100.7");
  };
  start_beside({});
  look();
  there = fail(ErrorCode::kTimedOut, "no route");
  look();
  start_beside_three();
  look();  // they get there no more than this one
  to_other = {{"https://other.example", with_status(429, "")},
              {"https://third.example", with_status(403, "")}};
  look();
}

TEST_F(NamesTest, WhoCannotGoThereHasOtherNodesGo) {
  start_beside({"https://other.example"});
  to_other = {{"https://other.example", found_another}};
  EXPECT_THAT(detail(check("dns")),
              HasSubstr("not this node is at 198.51.100.7: 1 other node(s) found another"));
  EXPECT_FALSE(check("dns").at("ok").as_bool()) << "there is nobody else to ask";
  to_other = {{"https://other.example", with_status(200, R"({"reached": true, "saw": "10.0.0.1"})")}};
  EXPECT_TRUE(check("dns").at("ok").as_bool()) << "it does not say whom it found";
  // What it found named no process, as this node does.
  to_other = {{"https://other.example", with_status(200, R"({"reached": true, "process": ""})")}};
  EXPECT_FALSE(check("dns").at("ok").as_bool());
  to_other = {{"https://other.example", found_itself()}};
  EXPECT_EQ(detail(check("dns")), "the name has them; all lead to this node");
}

TEST_F(NamesTest, OneNodeAloneIsNotBelieved) {
  start_beside_three();
  to_other = {{"https://other.example", found_another}};
  EXPECT_TRUE(check("dns").at("ok").as_bool());
  EXPECT_THAT(detail(check("dns")), HasSubstr("nobody here could see what is at 198.51.100.7: no route"));
  to_other["https://fourth.example"] = found_itself();
  EXPECT_EQ(detail(check("dns")), "the name has them; all lead to this node");
  to_other["https://fourth.example"] = found_another;
  EXPECT_FALSE(check("dns").at("ok").as_bool());
  EXPECT_THAT(detail(check("dns")), HasSubstr("2 other node(s) found another there in its name"));
  to_other["https://third.example"] = found_itself();
  EXPECT_TRUE(check("dns").at("ok").as_bool()) << "not all say so";
}

TEST_F(NamesTest, ThatItsOwnCertificateIsRefusedDoesNotMeanAnotherIsThere) {
  machine.others = {health::bad("certificate", "expired", "renew it")};
  start_beside({});
  there = fail(ErrorCode::kDenied, "certificate of n.example: certificate has expired");
  EXPECT_TRUE(check("dns").at("ok").as_bool());
  EXPECT_THAT(json::text_of(check("dns"), "what_to_do"), HasSubstr("when certificate and way in are well"));
  EXPECT_TRUE(tried.empty());
}

TEST_F(NamesTest, WhoAsksLearnsNothingOfWhatIsDrawn) {
  start_beside({});
  EXPECT_EQ(own_process(), crypto::public_draw(Rng(42).fork("reach")));
  EXPECT_NE(own_process(), fmt::format("{:016x}", Rng(42).fork("reach").next()));
}

TEST_F(NamesTest, AnotherNodeAtItsOwnAddressIsNotThisOne) {
  start_beside({"https://other.example"});
  EXPECT_TRUE(check("reachable").at("ok").as_bool());
  to_own = R"({"reached": true, "saw": "2001:db8:1::1", "process": "another"})";
  EXPECT_FALSE(check("reachable").at("ok").as_bool());
  EXPECT_THAT(json::text_of(check("reachable"), "what_to_do"), HasSubstr("is not the node"));
}

TEST_F(DoctorTest, AProxyThatWritesAnotherHostHasWhatIsSignedRefused) {
  const auto come = [this](const char* host, const char* field) {
    HttpRequest request;
    request.target = "/tagring/v1/reach";
    request.headers.set("Host", host);
    if (field != nullptr) request.headers.add(field, "…");
    return ask(std::move(request)).body;
  };
  EXPECT_THAT(come("127.0.0.1:8443", nullptr), HasSubstr(R"("host":"127.0.0.1:8443")"));
  EXPECT_TRUE(check("proxy").at("ok").as_bool()) << "who looks after the machine signs nothing";
  come("127.0.0.1:8443", "Signature");
  EXPECT_THAT(detail(check("proxy")), HasSubstr("come with Host: 127.0.0.1:8443, and are refused"));
  EXPECT_THAT(json::text_of(check("proxy"), "what_to_do"), HasSubstr("ProxyPreserveHost On"));
  come("tags.home.example", "Signature");
  EXPECT_TRUE(check("proxy").at("ok").as_bool());
  come("127.0.0.1:8443", "Signature");
  EXPECT_TRUE(check("proxy").at("ok").as_bool()) << "it is not the proxy that wrote this one";
  settle(std::chrono::hours(24));
  EXPECT_THAT(come("tagring", "Signature"), HasSubstr("Host is not a name of this node"));
  EXPECT_THAT(detail(check("proxy")), HasSubstr("come with Host: tagring, and are refused"))
      << "it was changed";
  settle(std::chrono::hours(24));
  EXPECT_TRUE(check("proxy").at("ok").as_bool()) << "a stranger may have written that one";
}

TEST_F(DoctorTest, WhatHidesVisitorsIsNotTrustedUnlessItSaysWhoTheyAre) {
  config::Config other = config();
  other.bootstrap = {"https://other.example"};
  start(std::move(other));
  internet.answers["https://other.example" + std::string(health::Reach::kPath)] =
      [](const HttpCall& call) -> Result<HttpResponse> {
    return with_status(200,
                       call.method == "GET" ? R"({"now": 1})" : R"({"reached": true, "saw": "10.0.2.2"})");
  };
  const json::object found = check("proxy");
  EXPECT_THAT(detail(found), HasSubstr("seem to come from 10.0.2.2"));
  const auto name_nothing = HasSubstr("a router that rewrites the source, name nothing, and have it keep");
  EXPECT_THAT(json::text_of(found, "what_to_do"), name_nothing);
  come_through("10.0.2.2");
  EXPECT_THAT(detail(check("proxy")), HasSubstr("a proxy at 10.0.2.2"));
  EXPECT_THAT(json::text_of(check("proxy"), "what_to_do"), name_nothing) << "a visitor may have written it";
}

TEST_F(DoctorTest, WhoRefusesToTryDoesNotBlameTheWayIn) {
  start_beside_one_that_answers(403, R"({"error": "denied", "message": "the signature is of tomorrow"})");
  const json::object refused = check("reachable");
  EXPECT_FALSE(refused.at("ok").as_bool());
  EXPECT_THAT(detail(refused), HasSubstr("the signature is of tomorrow"));
  EXPECT_THAT(json::text_of(refused, "what_to_do"), HasSubstr("a clock that is wrong"));
}

TEST_F(DoctorTest, WhatIsAmissIsLookedAtAgainSoon) {
  start_on_machine();
  const auto problems = [this] { return status().at("problems").as_array().size(); };
  settle(std::chrono::minutes(1));
  const std::size_t before = problems();
  come_through("127.0.0.5");
  settle(std::chrono::hours(1));
  EXPECT_EQ(problems(), before + 1);
  config::Config trusting = config();
  trusting.trusted_proxies = {*proxies::Network::parse("127.0.0.0/8")};
  node->adopt(trusting);
  settle(std::chrono::minutes(6));
  EXPECT_EQ(problems(), before);
}

TEST_F(DoctorTest, NobodyIsInvitedWhoWasDeniedOrIsBlocked) {
  const auto named = [this] {
    std::string names;
    const json::object report = *json::parse_object(control("/doctor").body);
    for (const json::value& one : report.at("checks").as_array())
      names += json::text_of(one.as_object(), "name") + "\n";
    return names;
  };
  const auto permit = [this](const char* host, bool may) {
    const json::object wish = {{"host", host}, {"publishes", may}, {"receives", false}};
    ASSERT_EQ(control("/instances/permit", json::serialize(wish)).status, 200);
  };
  for (const char* host : {"friend.example", "never.example", "spam.example"}) permit(host, true);
  EXPECT_THAT(named(), HasSubstr("instance never.example"));
  permit("never.example", false);
  control("/blocks/add", R"({"kind": "domain", "what": "spam.example"})");
  EXPECT_THAT(named(), HasSubstr("instance friend.example"));
  EXPECT_THAT(named(), Not(HasSubstr("never.example")));
  EXPECT_THAT(named(), Not(HasSubstr("spam.example")));
}

// It had gone from the list without a word, and all was said to be well.
TEST_F(DoctorTest, AnInstanceOfItsOwnThatIsBlockedIsBad) {
  const std::string own = config().instances.front();
  const auto change = [&](const char* path) {
    const json::object wish = {{"kind", "domain"}, {"what", own}};
    return *json::parse_object(control(path, json::serialize(wish)).body);
  };
  EXPECT_EQ(change("/blocks/add").at("own"),
            json::value(json::array{own + " is an instance of this node's own"}));
  const json::object found = check("instance " + own);
  EXPECT_FALSE(found.at("ok").as_bool());
  EXPECT_THAT(json::text_of(found, "what_to_do"), HasSubstr("tagring block remove domain " + own));
  change("/blocks/remove");
  EXPECT_THAT(control("/doctor").body, Not(HasSubstr("is blocked")));
}

TEST_F(DoctorTest, AnInstanceIsConnectedByItsServerBelowIt) {
  const std::string own = config().instances.front();
  EXPECT_THAT(detail(check("instance " + own)), HasSubstr("does not yet"));
  const Author server = make_author("https://social." + own + "/actor");
  EXPECT_EQ(post_signed(follow_text(server, {"https://www.w3.org/ns/activitystreams#Public"}), server).status,
            202);
  settle();
  EXPECT_EQ(detail(check("instance " + own)), "is connected as social." + own);
}

TEST_F(DoctorTest, AnInstanceThatHasLeftIsNotSaidToBeConnected) {
  const Author server = make_author("https://home.example/actor");
  const Author alice = make_author("https://home.example/users/alice");
  EXPECT_EQ(post_signed(follow_text(server, {kEverybody}), server).status, 202);
  settle();
  EXPECT_EQ(
      post_signed(create_text({.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats"}}),
                  alice)
          .status,
      202);
  settle();
  EXPECT_THAT(detail(check("instance home.example")), HasSubstr("is connected; owners took a post of it at"));
  EXPECT_EQ(post_signed(undo_follow_text(server, {kEverybody}), server).status, 202);
  settle();
  const json::object left = check("instance home.example");
  EXPECT_THAT(detail(left), HasSubstr("does not use this node as a relay now; owners took a post of it at"));
  EXPECT_THAT(json::text_of(left, "what_to_do"), HasSubstr("adds the relay https://tags.home.example/inbox"));
}

class InstanceCheckTest : public DoctorTest {
 protected:
  json::object found() { return check("instance home.example"); }
  bool is_well() { return found().at("ok").as_bool(); }
  std::string what_to_do() { return json::text_of(found(), "what_to_do"); }
  void take_with(const std::string& inbox, int status) {
    internet.answers[inbox] = [status](const HttpCall&) { return with_status(status); };
  }
  void say(const std::string& text, const Author& author) {
    EXPECT_EQ(post_signed(text, author).status, 202);
    settle();
  }
  void follow(const Author& with) { say(follow_text(with, {kEverybody}), with); }
  // Written now.
  void publish(const std::string& name) {
    std::string text =
        create_text({.uri = "https://home.example/notes/" + name, .author = alice.id, .tags = {"cats"}});
    boost::replace_all(text, kWritten, to_rfc3339(clock.wall_now()));
    say(text, alice);
  }
  void allow(const std::string& host, bool publishes) {
    const json::object wish = {{"host", host}, {"publishes", publishes}, {"receives", true}};
    ASSERT_EQ(control("/instances/permit", json::serialize(wish)).status, 200);
  }

  const std::string kWritten = "2025-12-31T12:00:00Z";  // by the fixture: the day before the start
  const Author server = make_author("https://home.example/actor");
  const Author alice = make_author("https://home.example/users/alice");
};

// Mastodon keeps the relay at "waiting", and sends nothing.
TEST_F(InstanceCheckTest, WhoDoesNotTakeTheAcceptIsNotConnectedUntilItDoes) {
  internet.delays[server.inbox] = std::chrono::seconds(10);
  take_with(server.inbox, 500);
  follow(server);
  EXPECT_EQ(detail(found()), "is allowed, and is being told so");
  settle(std::chrono::minutes(1));
  EXPECT_FALSE(is_well());
  EXPECT_EQ(detail(found()), "has not taken the Accept: HTTP status 500");
  EXPECT_THAT(what_to_do(), HasSubstr("see that home.example lets this node in"));
  EXPECT_THAT(control("/instances").body, HasSubstr(R"("accepted":true,"untaken":"HTTP status 500")"));
  take_with(server.inbox, 202);
  settle(std::chrono::minutes(10));
  EXPECT_TRUE(is_well());
  EXPECT_EQ(detail(found()), "is connected; no post of it has come yet");
  EXPECT_THAT(control("/instances").body, Not(HasSubstr("untaken")));
}

TEST_F(InstanceCheckTest, WhoRefusesTheAcceptHasToAskAgain) {
  for (const int status : {403, 404}) {
    take_with(server.inbox, status);
    follow(server);
    if (status == 404) settle(std::chrono::days(8));  // it is sent again for a week
    EXPECT_FALSE(is_well()) << "it is sent no more";
    EXPECT_EQ(detail(found()), fmt::format("has not taken the Accept: HTTP status {}", status));
    say(undo_follow_text(server, {kEverybody}), server);
    take_with(server.inbox, 202);
    follow(server);
    EXPECT_TRUE(is_well()) << detail(found());
    say(undo_follow_text(server, {kEverybody}), server);
  }
}

TEST_F(InstanceCheckTest, OnlyAPostOfTodayIsOne) {
  follow(server);
  EXPECT_THAT(what_to_do(), HasSubstr("write a public post with a hashtag there"));
  const Author old = make_author("https://home.example/users/old");
  say(create_text({.uri = "https://home.example/notes/old", .author = old.id, .tags = {"cats"}}), old);
  EXPECT_THAT(detail(found()), HasSubstr("is connected; owners took a post of it at 2026-01-01T02:00:"));
  EXPECT_EQ(what_to_do(), "") << "it was written in the last 24 hours, but yesterday";
  settle(std::chrono::hours(13));
  EXPECT_THAT(detail(found()), HasSubstr(", written at " + kWritten));
  EXPECT_THAT(what_to_do(), HasSubstr("look again"));
  publish("new");
  EXPECT_THAT(detail(found()),
              HasSubstr("is connected; owners took a post of it today, at 2026-01-01T15:00:"));
  EXPECT_EQ(what_to_do(), "");
  settle(std::chrono::hours(23));
  EXPECT_THAT(detail(found()), Not(HasSubstr("today")));
  EXPECT_EQ(what_to_do(), "");
  settle(std::chrono::days(1));
  EXPECT_TRUE(is_well()) << "nobody may have written anything";
  EXPECT_THAT(detail(found()), HasSubstr("owners took a post of it at 2026-01-01T15:00:"));
  EXPECT_THAT(what_to_do(), HasSubstr("look again"));
}

TEST_F(InstanceCheckTest, APostOfTodayIsKnownAfterARestart) {
  follow(server);
  publish("new");
  const std::string before = detail(found());
  EXPECT_THAT(before, HasSubstr("owners took a post of it today"));
  run([](Node* stopping) -> Task<bool> {
    co_await stopping->stop();
    co_return true;
  }(node.get()));
  start(config());
  EXPECT_EQ(detail(found()), before);
  EXPECT_EQ(what_to_do(), "");
}

TEST_F(InstanceCheckTest, ACrashForgetsNoMoreThanTheLastMinutes) {
  follow(server);
  publish("new");
  settle(health::SeenPosts::kSaveEvery);
  start(config());
  EXPECT_THAT(detail(found()), HasSubstr("owners took a post of it today"));
}

TEST_F(InstanceCheckTest, WhoTakesNothingAnyMoreIsNotWell) {
  const Author far = make_author("https://far.example/actor");
  allow("far.example", /*publishes=*/false);
  follow(far);
  ASSERT_EQ(control("/instances/subscribe", R"({"host": "far.example", "tags": ["cats"]})").status, 200);
  const auto found_far = [&] { return check("instance far.example"); };
  const json::object receives = found_far();
  EXPECT_EQ(detail(receives), "is connected; no post of it has come yet");
  EXPECT_EQ(json::text_of(receives, "what_to_do"), "") << "its posts are not taken";
  take_with(far.inbox, 503);
  for (const char* post : {"1", "2", "3"}) publish(post);
  settle(std::chrono::minutes(4));
  EXPECT_TRUE(found_far().at("ok").as_bool()) << "it may be starting";
  settle(std::chrono::minutes(2));
  EXPECT_FALSE(found_far().at("ok").as_bool());
  EXPECT_THAT(detail(found_far()),
              AllOf(HasSubstr("has taken nothing since 2026-01-01T02:0"), HasSubstr("HTTP status 503")));
  EXPECT_THAT(control("/instances").body, HasSubstr(R"("fails":"HTTP status 503")"));
  take_with(far.inbox, 202);
  settle(std::chrono::minutes(20));
  EXPECT_TRUE(found_far().at("ok").as_bool());
}

TEST(ChangedSettings, KnowADatabaseByMoreThanItsHost) {
  config::Config before;
  before.mastodon_database_host = "social.example";
  before.mastodon_database_dsn = "host=/run/postgresql";
  config::Config after = before;
  EXPECT_TRUE(admin::changed_settings(before, after).empty());
  after.mastodon_database_dsn = "host=127.0.0.1";
  EXPECT_EQ(admin::changed_settings(before, after), std::vector<std::string>{"publish.mastodon_database"});
  EXPECT_FALSE(admin::counts_at_once("publish.mastodon_database"));
  after.postgres = "password=new";
  after.mastodon_database_dsn = before.mastodon_database_dsn;
  EXPECT_EQ(admin::changed_settings(before, after), std::vector<std::string>{"database.postgres"});
  before.postgres = "password=old";
  EXPECT_EQ(admin::changed_settings(before, after), std::vector<std::string>{"database.postgres"});
  before = after;
  after.mastodon_database_host = "other.example";
  EXPECT_EQ(admin::changed_settings(before, after), std::vector<std::string>{"publish.mastodon_database"});
}

}  // namespace
}  // namespace tagring::node
