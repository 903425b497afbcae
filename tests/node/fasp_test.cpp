// The node as a FASP: registration, provider information, activation, and who is believed.
#include "base/bytes.hpp"
#include "crypto/hash.hpp"
#include "node/fasp_fixture.hpp"

namespace tagring::node {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FaspBase : public FaspTest {
 protected:
  json::object listed() {
    const json::object answer = json::parse_object(control("/fasp").body).value();
    return answer.at("servers").as_array().empty() ? json::object()
                                                   : answer.at("servers").as_array().front().as_object();
  }
};

TEST_F(FaspBase, RegistersWithAServerAndShowsTheFingerprintOfItsKey) {
  const FaspPeer& peer = enroll("social.example");
  const json::object server = listed();
  EXPECT_EQ(json::get_string(server, "host"), "social.example");
  EXPECT_EQ(json::get_string(server, "base_url"), "https://social.example/api/fasp");
  EXPECT_EQ(json::get_string(server, "fasp_id"), peer.fasp_id);
  EXPECT_EQ(json::get_string(server, "completion_url"), "https://social.example/admin/fasp/providers/7");
  const auto hash = crypto::sha256(peer.node_key);
  EXPECT_EQ(json::get_string(server, "fingerprint"),
            to_base64(std::string_view(reinterpret_cast<const char*>(hash.data()), hash.size())));
  EXPECT_THAT(json::serialize(server), Not(HasSubstr("PRIVATE")));
  EXPECT_THAT(log_lines, Contains(HasSubstr("does=/fasp/register")));
}

TEST_F(FaspBase, FindsTheInterfaceThatAServerNamesInItsNodeInfo) {
  internet.serve("https://fedi.example/.well-known/nodeinfo",
                 R"({"links":[{"rel":"http://nodeinfo.diaspora.software/ns/schema/2.0",
                     "href":"https://fedi.example/nodeinfo/2.0"}]})");
  internet.serve("https://fedi.example/nodeinfo/2.0",
                 R"({"metadata":{"faspBaseUrl":"https://fedi.example/fasp/"}})");
  control("/fasp/register", R"({"server":"fedi.example"})");
  EXPECT_THAT(internet.sent_to("https://fedi.example/fasp/registration"), SizeIs(1));
  internet.serve("https://fedi.example/nodeinfo/2.0",
                 R"({"metadata":{"faspBaseUrl":"https://other.example/fasp"}})");
  EXPECT_EQ(control("/fasp/register", R"({"server":"fedi.example"})").status, 403);
}

TEST_F(FaspBase, KeepsNothingOfARegistrationThatFails) {
  const std::string url = "https://social.example/api/fasp/registration";
  const std::string before = state();
  for (const HttpResponse& bad :
       {with_status(404), with_status(500), with_status(201, "{}"), with_status(201, "no JSON"),
        with_status(201,
                    R"({"faspId":"1","publicKey":"AAAA","registrationCompletionUri":"https://a.example/"})"),
        with_status(201, R"({"faspId":"1","publicKey":"KvVQVgD4/WcdgbUDWH7EVaYX9W7Jz5fGWt+Wg8h+YvI=",)"
                         R"("registrationCompletionUri":"javascript:x"})")}) {
    internet.answers[url] = [bad](const HttpCall&) { return bad; };
    EXPECT_NE(control("/fasp/register", R"({"server":"social.example"})").status, 200) << bad.body;
  }
  for (const char* server : {"", "social.example/x", "ftp://social.example", "https://social.example/?a=b"}) {
    const std::string body = json::serialize(json::object{{"server", server}});
    EXPECT_EQ(control("/fasp/register", body).status, 400) << server;
  }
  EXPECT_EQ(state(), before);
}

TEST_F(FaspBase, DoesNotRegisterTwiceNorWithABlockedServer) {
  enroll("social.example");
  EXPECT_EQ(control("/fasp/register", R"({"server":"social.example"})").status, 409);
  control("/blocks/add", R"({"kind":"domain","what":"bad.example"})");
  EXPECT_EQ(control("/fasp/register", R"({"server":"https://bad.example/api/fasp"})").status, 403);
  EXPECT_THAT(internet.sent_to("https://bad.example/api/fasp/registration"), IsEmpty());
}

TEST_F(FaspBase, TellsWhatItOffersInASignedAnswer) {
  const FaspPeer& peer = enroll("social.example");
  const HttpResponse response = ask_as(peer, "GET", "/provider_info");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.find("Content-Type"), "application/json");
  const json::object info = json::parse_object(response.body).value();
  EXPECT_EQ(json::get_string(info, "name"), "tagring on tags.home.example");
  EXPECT_TRUE(info.at("privacyPolicy").is_array());
  EXPECT_THAT(json::serialize(info.at("capabilities")),
              HasSubstr(R"({"id":"data_sharing","version":"0.1"})"));
}

TEST_F(FaspBase, ActivatesAndDeactivatesACapabilityForThatServerAlone) {
  FaspPeer& peer = enroll("social.example");
  enroll("other.example");
  activate(peer, "data_sharing");
  EXPECT_THAT(rows("SELECT host||' '||shares FROM fasp_servers"),
              ElementsAre("other.example 0", "social.example 1"));
  EXPECT_EQ(ask_as(peer, "POST", "/capabilities/data_sharing/0.1/activation").status, 204);
  EXPECT_EQ(ask_as(peer, "DELETE", "/capabilities/data_sharing/0/activation").status, 204);
  EXPECT_THAT(rows("SELECT shares FROM fasp_servers"), ElementsAre("0", "0"));
}

TEST_F(FaspBase, KnowsNoOtherCapabilityVersionOrPath) {
  const FaspPeer& peer = enroll("social.example");
  for (const char* path : {"/capabilities/trends/0/activation", "/capabilities/data_sharing/1/activation",
                           "/capabilities/data_sharing/activation", "/capabilities//activation",
                           "/capabilities/activation", "/nothing", "/"})
    expect_unchanged(peer, request(peer, "POST", path), 404);
}

// [Mastodon: a unique index on base_url, and no request that would delete the provider]
TEST_F(FaspBase, CanBeRegisteredAnewWhereItWasRemoved) {
  FaspPeer& peer = enroll("social.example");
  EXPECT_EQ(peer.node_base, origin + "/fasp");
  for (int times = 0; times < 2; ++times) {
    EXPECT_EQ(control("/fasp/remove", R"({"host":"social.example"})").status, 200);
    settle();
    const HttpResponse again = control("/fasp/register", R"({"server":" https://Social.Example/"})");
    EXPECT_EQ(again.status, 200);
    EXPECT_THAT(again.body, testing::HasSubstr(R"("had_it_before":true)"));
    EXPECT_EQ(peer.node_base, origin + "/fasp/" + peer.server_id);
    EXPECT_EQ(ask_as(peer, "GET", "/provider_info").status, 200);
    activate(peer, "data_sharing");
  }
  EXPECT_EQ(ask(request(peer, "GET", "/0123/provider_info")).status, 404);
}

TEST_F(FaspBase, StaysRegisteredAfterARestart) {
  FaspPeer& peer = enroll("social.example");
  activate(peer, "data_sharing");
  start(config());
  settle();
  EXPECT_EQ(ask_as(peer, "GET", "/provider_info").status, 200);
  EXPECT_THAT(rows("SELECT shares FROM fasp_servers"), ElementsAre("1"));
}

// --- who is believed ---------------------------------------------------------------------------------------

TEST_F(FaspBase, RefusesWhatIsNotSigned) {
  const FaspPeer& peer = enroll("social.example");
  const std::string path = "/capabilities/data_sharing/0/activation";
  for (const char* header : {"Signature", "Signature-Input", "Content-Digest", "Host"}) {
    HttpRequest asked = request(peer, "POST", path);
    Headers rest;
    for (const auto& [name, value] : asked.headers) {
      if (name != header) rest.add(name, value);
    }
    asked.headers = rest;
    SCOPED_TRACE(header);
    expect_unchanged(peer, asked, 401);
  }
  HttpRequest get;
  get.target = "/fasp/provider_info";
  expect_unchanged(peer, get, 401);
  const HttpResponse refused = ask(get);
  EXPECT_EQ(refused.headers.find("WWW-Authenticate"), R"(HTTP-Message-Signatures realm="FASP")");
  EXPECT_EQ(refused.headers.find("Accept-Signature"),
            R"(sig1=("@method" "@target-uri" "content-digest");created)");
}

TEST_F(FaspBase, RefusesOtherKeysAndUnknownServers) {
  const FaspPeer& peer = enroll("social.example");
  const FaspPeer& other = enroll("other.example");
  const std::string path = "/capabilities/data_sharing/0/activation";
  expect_unchanged(peer, request(peer, "POST", path, "", {.key = &other.key}), 401);
  expect_unchanged(peer, request(peer, "POST", path, "", {.key_id = other.server_id}), 401);
  expect_unchanged(peer, request(peer, "POST", path, "", {.key_id = "nobody"}), 401);
  expect_unchanged(peer, request(peer, "POST", path, "", {.key_id = peer.fasp_id}), 401);
}

TEST_F(FaspBase, RefusesWhatWasChangedOnTheWay) {
  const FaspPeer& peer = enroll("social.example");
  const std::string path = "/capabilities/data_sharing/0/activation";
  expect_unchanged(peer, request(peer, "DELETE", path, "", {.target = "/fasp/provider_info"}), 401);
  HttpRequest method = request(peer, "DELETE", path);
  method.method = "POST";
  expect_unchanged(peer, method, 401);
  HttpRequest body = request(peer, "POST", path);
  body.body = "x";
  expect_unchanged(peer, body, 401);
  HttpRequest digest = request(peer, "POST", path);
  digest.headers.set("Content-Digest", "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFA=:");
  expect_unchanged(peer, digest, 401);
}

TEST_F(FaspBase, RefusesSignaturesThatAreOldFromTheFutureOrSeenBefore) {
  const FaspPeer& peer = enroll("social.example");
  const std::string path = "/capabilities/data_sharing/0/activation";
  settle(std::chrono::minutes(20));  // or the start of the node would be what refuses
  const WallTime now = loop.wall_now();
  expect_unchanged(peer, request(peer, "POST", path, "", {.created = now - std::chrono::minutes(6)}), 401);
  expect_unchanged(peer, request(peer, "POST", path, "", {.created = now + std::chrono::minutes(10)}), 401);
  const HttpRequest once = request(peer, "POST", path);
  EXPECT_EQ(ask(once).status, 204);
  EXPECT_EQ(ask_as(peer, "DELETE", path).status, 204);
  settle();
  expect_unchanged(peer, once, 401);
}

TEST_F(FaspBase, RefusesSignaturesThatLeaveSomethingOut) {
  const FaspPeer& peer = enroll("social.example");
  for (const char* part : {"\"@method\" ", "\"@target-uri\" ", " \"content-digest\"", ";created="}) {
    HttpRequest asked = request(peer, "GET", "/provider_info");
    std::string input = asked.headers.find("Signature-Input").value();
    const std::size_t at = input.find(part);
    ASSERT_NE(at, std::string::npos);
    input.replace(at, std::string_view(part).size(), part[0] == ';' ? ";x=" : "");
    asked.headers.set("Signature-Input", input);
    SCOPED_TRACE(part);
    expect_unchanged(peer, asked, 401);
  }
}

TEST_F(FaspBase, RefusesAServerThatWasRemovedOrIsBlocked) {
  const FaspPeer& peer = enroll("social.example");
  control("/blocks/add", R"({"kind":"domain","what":"social.example"})");
  settle();
  expect_unchanged(peer, request(peer, "POST", "/capabilities/data_sharing/0/activation"), 403);
  EXPECT_EQ(control("/fasp/remove", R"({"host":"Social.Example"})").status, 200);
  EXPECT_THAT(rows("SELECT host FROM fasp_servers"), IsEmpty());
  settle();
  expect_unchanged(peer, request(peer, "GET", "/provider_info"), 401);
  EXPECT_EQ(control("/fasp/remove", R"({"host":"social.example"})").status, 404);
}

}  // namespace
}  // namespace tagring::node
