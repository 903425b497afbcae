// The receiver's end of FEP-8fcf, towards actors whom this node follows back. In brackets: whose tests or
// text a case comes from. (Towards other nodes: tests/sim.)
#include "instances/follower_sync.hpp"

#include <fmt/format.h>

#include "followers/digest.hpp"
#include "followers/documents.hpp"
#include "followers/header.hpp"
#include "node/fixture.hpp"
#include "ring/codec.hpp"
#include "signatures/signature.hpp"

namespace tagring::node {
namespace {

using followers::Digest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Strings = std::vector<std::string>;

constexpr Duration kCooldown = std::chrono::minutes(15);
constexpr const char* kOnlyCounts = R"({"type":"OrderedCollection","totalItems":5})";

// Dora is followed by actors of this node, as far as it knows.
class Synchronisation : public NodeTest {
 protected:
  Synchronisation() {
    internet.answers[list_url] = [this](const HttpCall& call) { return list(call); };
  }

  Author dora = make_author("https://far.example/users/dora");
  const std::string list_url = dora.id + "/followers_synchronization";
  const std::string alice = origin + "/tag/alice";
  const std::string bob = origin + "/tag/bob";
  const std::string eve = origin + "/actor";  // the only one that follows people
  const std::string mallory = origin + "/tag/mallory";

  // What her server shows; its pages if they are more.
  Strings listed;
  std::optional<HttpResponse> instead;
  Result<HttpResponse> list(const HttpCall& /*call*/) {
    if (instead) return *instead;
    HttpResponse response;
    response.headers.add("Content-Type", "application/activity+json");
    response.body = followers::make_documents(list_url, listed)->front().body;
    return response;
  }

  void know(const std::string& actor, bool accepted, const std::string& object,
            Duration age = std::chrono::hours(1)) {
    const instances::OwnFollow follow{
        actor, object, object + "/inbox", actor + "/follow", accepted, loop.wall_now() - age};
    EXPECT_TRUE(run(stores->instances.save_own_follow(follow)));
    // As somebody who uses the node, and does not ask to be followed back.
    const instances::Link link{.actor = object,
                               .relay = actor,
                               .host = host_of(object),
                               .inbox = object + "/inbox",
                               .delivery_inbox = object + "/inbox",
                               .follow = "{}",
                               .style = instances::Style::kMastodon,
                               .accepted = true,
                               .since = loop.wall_now()};
    EXPECT_TRUE(run(stores->instances.save_link(link)));
  }
  void know(const Strings& accepted, const Strings& pending = {}, Duration age = std::chrono::hours(1)) {
    for (const std::string& actor : accepted) know(actor, true, dora.id, age);
    for (const std::string& actor : pending) know(actor, false, dora.id, age);
    start(config());
    settle();
  }
  Strings known() { return rows("SELECT actor||' '||accepted FROM own_follows ORDER BY actor"); }

  static std::string hex_of(const Strings& ids) { return Digest::of(ids).hex(); }
  static std::string header_of(const Author& author, const std::string& digest) {
    return fmt::format(
        "collectionId=\"{0}/followers\", url=\"{0}/followers_synchronization\", digest=\"{1}\"", author.id,
        digest);
  }
  std::string header(const std::string& digest) const { return header_of(dora, digest); }
  // Something by somebody that this node ignores, with the headers.
  void deliver_by(const Author& author, const std::vector<std::string>& headers, bool is_signed = true) {
    send_by(author, headers, is_signed);
    settle(instances::FollowerSync::kDelayMax + std::chrono::seconds(5));
  }
  void send_by(const Author& author, const std::vector<std::string>& headers, bool is_signed = true) {
    const json::object like = {{"@context", "https://www.w3.org/ns/activitystreams"},
                               {"id", fmt::format("{}/likes/{}", author.id, ++likes_)},
                               {"type", "Like"},
                               {"actor", author.id},
                               {"object", origin + "/announces/1"}};
    HttpCall call("POST", Url::parse(origin + "/inbox").value(), loop.now());
    call.headers.add("Content-Type", "application/activity+json");
    call.body = json::serialize(like);
    const auto add = [&](Headers& to) {
      for (const std::string& value : headers) to.add("Collection-Synchronization", value);
    };
    if (is_signed) add(call.headers);
    signatures::sign_call(call, author.key, author.key_id(), loop.wall_now());
    if (!is_signed) add(call.headers);
    HttpRequest request{
        .method = "POST", .target = "/inbox", .headers = call.headers, .body = call.body, .peer = {}};
    request.headers.set("Host", call.url.authority());
    EXPECT_EQ(ask(std::move(request)).status, 202);
  }
  void deliver(const std::vector<std::string>& headers, bool is_signed = true) {
    deliver_by(dora, headers, is_signed);
  }
  void deliver(const std::string& value) { deliver(std::vector<std::string>{value}); }
  [[nodiscard]] std::size_t fetches() const { return internet.sent_to(list_url).size(); }
  [[nodiscard]] std::int64_t counter(const std::string& name) const {
    return status().at("followers_sync").at(name).to_number<std::int64_t>();
  }
  // "object actor" of each Undo{Follow} at her inbox.
  [[nodiscard]] Strings undone() const {
    Strings found;
    for (const json::object& sent : internet.posted_to(dora.inbox)) {
      if (json::id_of(sent, "type") != "Undo") continue;
      const json::object& follow = sent.at("object").as_object();
      EXPECT_EQ(json::id_of(follow, "type"), "Follow");
      EXPECT_EQ(json::id_of(follow, "object"), dora.id);
      EXPECT_EQ(json::id_of(follow, "actor"), json::id_of(sent, "actor"));
      found.push_back(json::id_of(sent, "actor"));
    }
    std::ranges::sort(found);
    return found;
  }

  // The list has more pages than are read, of 19 s each.
  void make_slow(const Author& slow) {
    const std::string url = slow.id + "/followers_synchronization";
    for (int page = 0; page < 20; ++page) {
      const std::string at = page == 0 ? url : fmt::format("{}/{}", url, page);
      internet.delays[at] = std::chrono::seconds(19);
      internet.answers[at] = [next = fmt::format("{}/{}", url, page + 1)](const HttpCall&) {
        HttpResponse response;
        response.headers.add("Content-Type", "application/activity+json");
        response.body = json::serialize(json::object{{"type", "OrderedCollectionPage"}, {"next", next}});
        return response;
      };
    }
  }
  // The node meets another on the ring, which then answers no more.
  void meet(const std::string& host, const std::string& address) {
    const ring::Contact self = node->rings().of(Ring::kRelay).vservers().front()->self();
    ring::Contact other;
    other.host = host;
    other.address = *IpAddress::parse(address);
    other.incarnation = 1;
    other.id = ring::make_node_id(ring::IdScheme::kSpread, other.address.prefix64(),
                                  *ring::registrable_domain(host), other.vserver);
    const std::string path(overlay::RingService::kPath);
    internet.answers[other.origin() + path] = [self](const HttpCall& call) {
      ring::Reply reply = ring::Done{};
      const ring::Envelope asked = ring::decode_envelope(call.body).value();
      if (std::holds_alternative<ring::GetNeighbours>(asked.request.body))
        reply = ring::Neighbours{self, {self}};
      HttpResponse answer = with_status(200, ring::encode(reply));
      answer.headers.set("Content-Type", "application/json");
      return answer;
    };
    const ring::Envelope envelope{"tagring", self.id, self.incarnation, {Ring::kRelay, ring::Notify{other}}};
    HttpRequest request;
    request.method = "POST";
    request.target = path;
    request.headers = {{"Host", "tags.home.example"}, {"Content-Type", "application/json"}};
    request.body = ring::encode(envelope);
    EXPECT_EQ(ask(std::move(request)).status, 200);
    settle(std::chrono::minutes(1));
    EXPECT_TRUE(node->rings().has_met(other.origin()));
    internet.answers[other.origin() + path] = [](const HttpCall&) -> Result<HttpResponse> {
      return fail(ErrorCode::kTimedOut, "no answer");
    };
    settle(std::chrono::minutes(2));
  }

 private:
  int likes_ = 0;
};

// --- the header --------------------------------------------------------------------------------------------

// [Mastodon, inboxes_spec: matching digest]
TEST_F(Synchronisation, AnEqualDigestCostsNoFetch) {
  know({alice, bob}, {mallory});
  deliver(header(hex_of({alice, bob})));
  EXPECT_EQ(fetches(), 0U);
  EXPECT_EQ(counter("equal"), 1);
}

// [Mastodon, inboxes_spec: mismatching digest; its order of parameters]
TEST_F(Synchronisation, AnotherDigestIsFollowedByASignedFetch) {
  know({alice});
  deliver(fmt::format("collectionId=\"{0}/followers\", digest=\"{1}\", url=\"{0}/followers_synchronization\"",
                      dora.id, hex_of({})));
  ASSERT_EQ(fetches(), 1U);
  const HttpCall call = internet.sent_to(list_url).front();
  EXPECT_THAT(call.headers.find("Signature").value_or(""),
              HasSubstr("keyId=\"" + origin + "/actor#main-key\""));
}

// [FEP-8fcf, MUST; Mastodon, inboxes_spec; Pixelfed]
TEST_F(Synchronisation, AHeaderThatIsNotInOrderIsIgnoredAndTheDeliveryIsNot) {
  know({alice});
  const std::string hex = hex_of({});
  const std::string of_dora = "collectionId=\"" + dora.id + "/followers\", ";
  const std::string to_list = "url=\"" + list_url + "\", ";
  const std::string digest = "digest=\"" + hex + "\"";
  const Strings bad = {"collectionId=\"https://far.example/users/other/followers\", " + to_list + digest,
                       "collectionId=\"https://FAR.example/users/dora/followers\", " + to_list + digest,
                       of_dora + "url=\"https://evil.example/list\", " + digest,
                       of_dora + "url=\"https://far.example.evil.com/list\", " + digest,
                       of_dora + "url=\"https://far.example@evil.com/list\", " + digest,
                       of_dora + "url=\"https://far.example:8443/list\", " + digest,
                       of_dora + "url=\"http://far.example/list\", " + digest,
                       of_dora + "url=\"" + origin + "/actor/followers_synchronization\", " + digest,
                       of_dora + to_list + "digest=\"\"",
                       of_dora + to_list + "digest=\"sha-256=" + hex + "\"",
                       of_dora + to_list + "digest=\"" + hex + "00\"",
                       of_dora + digest,
                       to_list + digest,
                       of_dora + to_list + digest + ", " + digest,
                       "garbage",
                       ""};
  for (const std::string& value : bad) deliver(value);
  deliver({header(hex), header(hex)}, /*is_signed=*/false);
  for (const HttpCall& call : internet.calls)
    EXPECT_NE(call.method + call.url.target, "GET" + Url::parse(list_url)->target);
  EXPECT_EQ(counter("headers_ignored"), static_cast<std::int64_t>(bad.size()) + 1);
  EXPECT_THAT(known(), ElementsAre(alice + " 1"));
}

// [FEP-8fcf: "signed Collection-Synchronization header"; Pixelfed: header not covered]
TEST_F(Synchronisation, AHeaderThatIsNotSignedCountsOnlyIfAllowed) {
  know({alice});
  deliver({header(hex_of({}))}, /*is_signed=*/false);
  EXPECT_EQ(fetches(), 0U);
  config::Config lenient = config();
  lenient.followers_require_coverage = false;
  start(lenient);
  settle();
  deliver({header(hex_of({}))}, /*is_signed=*/false);
  EXPECT_EQ(fetches(), 1U);
}

TEST_F(Synchronisation, TurnedOffNothingIsCompared) {
  know({alice});
  config::Config off = config();
  off.followers_sync = false;
  start(off);
  settle();
  deliver(header(hex_of({})));
  EXPECT_EQ(fetches(), 0U);
}

TEST_F(Synchronisation, AServerThatIsDeniedCausesNothing) {
  know({alice});
  EXPECT_EQ(
      control("/instances/permit", R"({"host":"far.example","publishes":false,"receives":false})").status,
      200);
  listed = {eve};
  deliver(header(hex_of(listed)));
  EXPECT_EQ(fetches(), 0U);
  for (const char* name : {"equal", "different", "headers_ignored"}) EXPECT_EQ(counter(name), 0) << name;
  EXPECT_EQ(control("/instances/permit", R"({"host":"far.example","publishes":true,"receives":true})").status,
            200);
  deliver(header(hex_of(listed)));
  EXPECT_EQ(fetches(), 1U) << "it was the decision that kept it out";
}

// [Pixelfed: the same header twice in the cooldown; mastodon: replay of a recorded request]
TEST_F(Synchronisation, OneActorCausesOneFetchInACooldown) {
  know({alice});
  for (int i = 0; i < 5; ++i) deliver(header(fmt::format("{:064}", i)));
  EXPECT_EQ(fetches(), 1U);
  EXPECT_EQ(counter("throttled"), 4);
  settle(kCooldown);
  deliver(header(fmt::format("{:064}", 9)));
  EXPECT_EQ(fetches(), 2U);
}

// Hosts of one domain cost nothing, and a list may take as long to read as its server likes.
TEST_F(Synchronisation, AServerOfManyNamesThatAnswersSlowlyHoldsOneSlot) {
  know({alice});
  for (const char* host : {"a", "b", "c", "d"}) {
    const Author slow = make_author(fmt::format("https://{}.evil.example/users/slow", host));
    make_slow(slow);
    deliver_by(slow, {header_of(slow, hex_of({bob}))});
  }
  deliver(header(hex_of({})));
  EXPECT_EQ(fetches(), 1U);
  EXPECT_THAT(known(), IsEmpty());
}

TEST_F(Synchronisation, ActorsOfOneDomainLeaveRoomInLineToOthers) {
  know({alice});
  std::vector<Author> flood;
  for (std::size_t i = 0; i < instances::FollowerSync::kWaitingMax; ++i) {
    flood.push_back(make_author(fmt::format("https://n{}.evil.example/users/u", i)));
    send_by(flood.back(), {});  // so that its key is known
    settle(std::chrono::seconds(3));
  }
  for (const Author& author : flood) send_by(author, {header_of(author, hex_of({bob}))});
  deliver(header(hex_of({})));
  EXPECT_EQ(fetches(), 1U);
  EXPECT_THAT(known(), IsEmpty());
}

TEST_F(Synchronisation, AListThatTakesTooLongIsNotReadToItsEnd) {
  const Author slow = make_author("https://evil.example/users/slow");
  make_slow(slow);
  deliver_by(slow, {header_of(slow, hex_of({bob}))});
  settle(std::chrono::minutes(5));
  EXPECT_EQ(std::ranges::count_if(internet.calls,
                                  [&](const HttpCall& call) {
                                    return call.url.text().starts_with(slow.id + "/followers_sync");
                                  }),
            4);
  EXPECT_EQ(counter("doubts"), 1);
}

TEST_F(Synchronisation, AHeaderIsNotActedOnAtOnce) {
  know({alice});
  const Instant before = loop.now();
  deliver(header(hex_of({})));
  EXPECT_GE(internet.sent_to(list_url).at(0).deadline - before, instances::FollowerSync::kDelayMin);
}

// --- the repair --------------------------------------------------------------------------------------------

// [Mastodon, synchronize_followers_service_spec: alice and bob follow, mallory asked, the list has alice, eve
// and mallory]
TEST_F(Synchronisation, WhoIsNotListedIsForgottenWhoWaitsIsAcceptedWhoIsUnknownIsUndone) {
  know({alice, bob}, {mallory});
  listed = {alice, eve, mallory};
  deliver(header(hex_of(listed)));
  EXPECT_THAT(known(), ElementsAre(alice + " 1", mallory + " 1"));
  EXPECT_THAT(undone(), ElementsAre(eve));
  EXPECT_EQ(counter("removed"), 1);
  EXPECT_EQ(counter("accepted"), 1);
  EXPECT_EQ(counter("undone"), 1);
  // What is repaired stays so after a restart, and is equal.
  start(config());
  settle();
  deliver(header(hex_of({alice, mallory})));
  EXPECT_EQ(counter("equal"), 1);
}

// [Mastodon: Collection, items of a single embedded first page, second page a bare string]
TEST_F(Synchronisation, EveryShapeOfListIsRead) {
  const auto as_json = [](json::object object) {
    object["@context"] = "https://www.w3.org/ns/activitystreams";
    HttpResponse response;
    response.headers.add("Content-Type", "application/activity+json; charset=utf-8");
    response.body = json::serialize(object);
    return response;
  };
  const json::array both = {alice, mallory};
  const std::vector<json::object> roots = {
      {{"id", "https://far.example/followers?domain=x"}, {"type", "Collection"}, {"items", both}},
      {{"type", "OrderedCollection"}, {"orderedItems", both}},
      {{"type", "Collection"},
       {"first", json::object{{"type", "CollectionPage"}, {"partOf", list_url}, {"items", both}}}},
      {{"type", "Collection"},
       {"first", json::object{{"type", "CollectionPage"},
                              {"items", json::array{alice}},
                              {"next", "https://far.example/page2"}}}}};
  internet.answers["https://far.example/page2"] = [&](const HttpCall&) {
    return as_json({{"type", "CollectionPage"}, {"items", mallory}});
  };
  for (const json::object& root : roots) {
    know({alice, bob}, {mallory});
    instead = as_json(root);
    deliver(header(hex_of({alice, mallory})));
    EXPECT_THAT(known(), ElementsAre(alice + " 1", mallory + " 1")) << json::serialize(root);
  }
}

// [Fedify: no orderedItems for nobody]
// They are as many as this one has met, and their operator may have one domain.
TEST_F(Synchronisation, NodesOfOneDomainAreComparedAtOnce) {
  meet("a.other.example", "2001:db8:2::1");
  meet("b.other.example", "2001:db8:3::1");
  const Author slow = make_node_author("https://a.other.example");
  make_slow(slow);
  const Author other = make_node_author("https://b.other.example");
  for (const Author& author : {slow, other}) deliver_by(author, {header_of(author, hex_of({alice}))});
  EXPECT_EQ(counter("throttled"), 0);
  EXPECT_THAT(internet.sent_to(other.id + "/followers_synchronization"), SizeIs(1));
}

TEST_F(Synchronisation, NobodyIsListedAsNothing) {
  // [Fedify with a counter, which counts the followers of all servers]
  for (const char* document : {R"({"type":"OrderedCollection"})", kOnlyCounts}) {
    know({alice});
    instead = with_status(200, document);
    instead->headers.add("Content-Type", "application/activity+json");
    deliver(header(hex_of({})));
    EXPECT_THAT(known(), IsEmpty()) << document;
  }
}

TEST_F(Synchronisation, WithoutADigestOfNobodyACountIsNoEmptyList) {
  know({alice});
  instead = with_status(200, kOnlyCounts);
  instead->headers.add("Content-Type", "application/activity+json");
  const std::string body = json::serialize(json::object{{"actor", dora.id}, {"apply", true}});
  EXPECT_THAT(control("/followers/check", body).body, HasSubstr("items are not shown"));
  deliver(header(hex_of({bob})));
  EXPECT_THAT(control("/followers/check", body).body, HasSubstr("items are not shown"));
  EXPECT_THAT(known(), ElementsAre(alice + " 1"));
}

// [Mastodon: page 2 is 404; Pixelfed: HTTP 500 with the digest of nobody; tootik: an absent list]
TEST_F(Synchronisation, AListThatCannotBeReadChangesNothing) {
  HttpResponse page = with_status(200, json::serialize(json::object{{"type", "OrderedCollection"},
                                                                    {"orderedItems", json::array{}},
                                                                    {"next", "https://far.example/page2"}}));
  page.headers.add("Content-Type", "application/activity+json");
  HttpResponse html = with_status(200, "<p>nobody</p>");
  html.headers.add("Content-Type", "text/html");
  HttpResponse elsewhere = with_status(302);
  elsewhere.headers.add("Location", "https://evil.example/list");
  HttpResponse foreign_page = page;
  foreign_page.body =
      json::serialize(json::object{{"type", "OrderedCollection"}, {"first", "https://evil.example/page1"}});
  for (const HttpResponse& answer :
       {with_status(500), with_status(404), with_status(401), page, html, elsewhere, foreign_page}) {
    know({alice}, {mallory});
    instead = answer;
    deliver(header(hex_of({})));
    EXPECT_THAT(known(), ElementsAre(alice + " 1", mallory + " 0")) << answer.status << answer.body;
    EXPECT_THAT(undone(), IsEmpty());
  }
  EXPECT_THAT(internet.sent_to("https://evil.example/list"), IsEmpty());
  EXPECT_THAT(internet.sent_to("https://evil.example/page1"), IsEmpty());
}

// [mastodon#34273; Pixelfed: list not hashing to the signed digest]
TEST_F(Synchronisation, AListWithAnotherDigestThanTheSignedOneRemovesNobody) {
  know({alice}, {mallory});
  listed = {eve, mallory};
  deliver(header(hex_of({eve})));
  EXPECT_THAT(known(), ElementsAre(alice + " 1", mallory + " 1"));
  EXPECT_THAT(undone(), ElementsAre(eve));
  EXPECT_EQ(counter("doubts"), 1);
}

// [Pixelfed: listed as something that is no id of a local actor]
TEST_F(Synchronisation, AListWithStrangersOrOtherSpellingsRemovesNobody) {
  for (const std::string& odd : {origin + "/@bob", std::string("https://elsewhere.example/users/x"),
                                 origin + "/tag/BOB", origin + "/tag/bob/", origin + "/tag/b%6fb"}) {
    know({alice, bob});
    listed = {odd};
    deliver(header(hex_of(listed)));
    EXPECT_THAT(known(), ElementsAre(alice + " 1", bob + " 1")) << odd;
    EXPECT_THAT(undone(), IsEmpty()) << odd;
  }
}

// Any hashtag can be made up, so that a list of a thousand would be a thousand letters.
TEST_F(Synchronisation, HashtagsThatAreMadeUpAreNotUndone) {
  know({alice});
  listed = {alice, eve};
  for (int i = 0; i < 300; ++i) listed.push_back(fmt::format("{}/tag/stranger{}", origin, i));
  deliver(header(hex_of(listed)));
  settle(std::chrono::minutes(1));
  EXPECT_THAT(undone(), ElementsAre(eve));
  EXPECT_EQ(counter("doubts"), 1);
}

// Anybody can write the mark of a node into a document, and list hashtags by the thousand.
TEST_F(Synchronisation, WhoOnlySaysToBeANodeIsAStranger) {
  const Author evil = make_node_author("https://evil.example");
  internet.answers[evil.id + "/followers_synchronization"] = [&](const HttpCall& call) { return list(call); };
  for (int i = 0; i < 300; ++i) listed.push_back(fmt::format("{}/tag/stranger{}", origin, i));
  deliver_by(evil, {header_of(evil, hex_of(listed))});
  settle(std::chrono::minutes(1));
  EXPECT_EQ(counter("doubts"), 1);
  EXPECT_EQ(counter("undone"), 0);
  EXPECT_THAT(internet.posted_to(evil.inbox), IsEmpty());
}

// An administrator there has removed the node from Dora's followers; her own link here stands.
TEST_F(Synchronisation, WhoForgetsTheNodeIsFollowedBackOnceMore) {
  config::Config people = config();
  people.people = true;
  start(people);
  settle();
  const auto followed = [&] {
    return std::ranges::count_if(internet.posted_to(dora.inbox), [](const json::object& sent) {
      return json::id_of(sent, "type") == "Follow";
    });
  };
  const auto accept = [&] {
    const json::object accept = {{"@context", "https://www.w3.org/ns/activitystreams"},
                                 {"id", fmt::format("{}/accepts/{}", dora.id, followed())},
                                 {"type", "Accept"},
                                 {"actor", dora.id},
                                 {"object", internet.posted_to(dora.inbox).back()}};
    EXPECT_EQ(post_signed(json::serialize(accept), dora).status, 202);
    settle(std::chrono::minutes(20));
  };
  EXPECT_EQ(post_signed(follow_text(dora, {eve}), dora).status, 202);
  settle();
  ASSERT_EQ(followed(), 1);
  accept();
  EXPECT_THAT(known(), ElementsAre(eve + " 1"));
  deliver(header(hex_of({})));
  EXPECT_EQ(followed(), 2);
  EXPECT_THAT(known(), ElementsAre(eve + " 0"));
  EXPECT_THAT(control("/instances").body, HasSubstr(R"("followed_back":"waits")"));
  accept();
  deliver(header(hex_of({})));
  EXPECT_EQ(followed(), 2);
  EXPECT_THAT(known(), IsEmpty());
}

// An administrator has ordered it: nobody else would ever follow it again.
TEST_F(Synchronisation, AGroupThatForgetsTheNodeIsFollowedOnceMoreAndThenStillShown) {
  EXPECT_TRUE(
      run(stores->instances.save_own_follow({alice, dora.id, dora.inbox, alice + "/follow",
                                             /*accepted=*/true, loop.wall_now() - std::chrono::hours(1)})));
  start(config());
  settle();
  const auto followed = [&] {
    return std::ranges::count_if(internet.posted_to(dora.inbox), [](const json::object& sent) {
      return json::id_of(sent, "type") == "Follow";
    });
  };
  deliver(header(hex_of({})));
  ASSERT_EQ(followed(), 1);
  EXPECT_THAT(known(), ElementsAre(alice + " 0"));
  const json::object accept = {{"@context", "https://www.w3.org/ns/activitystreams"},
                               {"id", dora.id + "/accepts/1"},
                               {"type", "Accept"},
                               {"actor", dora.id},
                               {"object", internet.posted_to(dora.inbox).back()}};
  EXPECT_EQ(post_signed(json::serialize(accept), dora).status, 202);
  settle(std::chrono::minutes(20));
  EXPECT_THAT(known(), ElementsAre(alice + " 1"));
  deliver(header(hex_of({})));
  EXPECT_EQ(followed(), 1);
  EXPECT_THAT(known(), ElementsAre(alice + " 0"));
  EXPECT_THAT(control("/instances").body,
              HasSubstr(R"("style":"group","accepted":true,"followed_back":"waits")"));
}

// [FEP-8fcf: the id of a Follow that nobody knows; Mastodon makes one up]
TEST_F(Synchronisation, AnUndoThatIsMadeUpHasIdsOfOurOwn) {
  know({alice});
  listed = {alice, eve};
  deliver(header(hex_of(listed)));
  const json::object undo = internet.posted_to(dora.inbox).back();
  EXPECT_TRUE(json::id_of(undo).starts_with(origin + "/"));
  EXPECT_TRUE(json::id_of(undo.at("object")).starts_with(origin + "/"));
  EXPECT_EQ(internet.sent_to(dora.inbox).back().headers.find("Collection-Synchronization"), std::nullopt);
}

// --- for the administrator ---------------------------------------------------------------------------------

TEST_F(Synchronisation, ACheckSaysWhatDiffersAndChangesNothing) {
  know({alice, bob}, {mallory});
  listed = {alice, eve, mallory};
  deliver({header(hex_of({}))}, /*is_signed=*/false);
  const std::string before = state();
  const json::object body = {{"actor", dora.id}, {"apply", false}};
  const HttpResponse response = control("/followers/check", json::serialize(body));
  settle();
  ASSERT_EQ(response.status, 200) << response.body;
  const json::object report = json::parse_object(response.body).value();
  EXPECT_EQ(report.at("agree"), json::value(false));
  EXPECT_EQ(report.at("remove"), json::value(json::array{bob}));
  EXPECT_EQ(report.at("accept"), json::value(json::array{mallory}));
  EXPECT_EQ(report.at("undo"), json::value(json::array{eve}));
  EXPECT_EQ(report.at("header").at("ignored"), json::value("not_signed"));
  EXPECT_EQ(report.at("known").at("digest"), json::value(hex_of({alice, bob})));
  EXPECT_EQ(state(), before);
  EXPECT_THAT(undone(), IsEmpty());
}

TEST_F(Synchronisation, ACheckThatIsToldToRepairsAtOnce) {
  know({alice, bob}, {mallory});
  listed = {alice, eve, mallory};
  const json::object body = {{"actor", dora.id}, {"apply", true}};
  EXPECT_EQ(control("/followers/check", json::serialize(body)).status, 200);
  settle();
  EXPECT_THAT(known(), ElementsAre(alice + " 1", mallory + " 1"));
  EXPECT_THAT(undone(), ElementsAre(eve));
}

// Its server may show half of the list, or what it likes.
TEST_F(Synchronisation, ACheckForgetsNothingByAListThatWasSignedOtherwise) {
  know({alice, bob});
  deliver(header(hex_of({alice, bob})));
  listed = {alice};
  const std::string body = json::serialize(json::object{{"actor", dora.id}, {"apply", true}});
  EXPECT_THAT(control("/followers/check", body).body, HasSubstr(R"("doubt":"other_digest")"));
  EXPECT_THAT(known(), ElementsAre(alice + " 1", bob + " 1"));
  settle(instances::FollowerSync::kHeaderCounts);
  EXPECT_THAT(control("/followers/check", body).body, HasSubstr(R"("repaired":true)"));
  EXPECT_THAT(known(), ElementsAre(alice + " 1"));
}

TEST_F(Synchronisation, ACheckSaysWhyTheListCannotBeRead) {
  know({alice});
  const std::map<int, std::string> reasons = {{401, "answered 401"}, {500, "answered 500"}, {404, "is gone"}};
  for (const auto& [status, reason] : reasons) {
    instead = with_status(status);
    const HttpResponse response =
        control("/followers/check", json::serialize(json::object{{"actor", dora.id}, {"apply", true}}));
    EXPECT_THAT(response.body, HasSubstr(reason));
  }
  EXPECT_THAT(known(), ElementsAre(alice + " 1"));
  const json::object nobody = {{"actor", "https://far.example/users/nobody"}};
  EXPECT_EQ(control("/followers/check", json::serialize(nobody)).status, 404);
}

TEST_F(Synchronisation, TheDigestsOfFollowersAreVerifiedOnDemand) {
  EXPECT_EQ(post_signed(follow_text(dora, {alice}), dora).status, 202);
  EXPECT_EQ(control("/followers/verify", "{}").body, R"({"followers":1,"repaired":[]})");
  run(stores->database->write([](sql::Connection& db) -> Result<void> {
    TRY_VOID(db.run("DELETE FROM partials"));
    return {};
  })).value();
  EXPECT_EQ(control("/followers/verify", "{}").body,
            R"({"followers":1,"repaired":[{"tag":"alice","server":"https://far.example"}]})");
}

// --- races -------------------------------------------------------------------------------------------------

// [race A] The sender's list is newer than its header: nobody is removed on its word.
TEST_F(Synchronisation, RaceAFollowAcceptedAfterTheHeaderWasMade) {
  know({alice, bob});
  listed = {alice, bob, mallory};
  know({}, {mallory});
  deliver(header(hex_of({alice})));
  EXPECT_THAT(known(), ElementsAre(alice + " 1", bob + " 1", mallory + " 1"));
  EXPECT_THAT(undone(), IsEmpty());
}

// [race B; Pixelfed: a follow of one minute ago is kept] A list that was cached before a follow.
TEST_F(Synchronisation, RaceBFollowYoungerThanACachedList) {
  know({alice}, {}, std::chrono::minutes(9));
  listed = {};
  deliver(header(hex_of({})));
  EXPECT_THAT(known(), ElementsAre(alice + " 1"));
  settle(kCooldown);
  deliver(header(hex_of({})));
  EXPECT_THAT(known(), IsEmpty());
}

// [race C] Unknown when the header came, and followed while the list is read: no Undo may end that.
TEST_F(Synchronisation, RaceCFollowedWhileTheListIsRead) {
  config::Config people = config();
  people.people = true;
  start(people);
  settle();
  listed = {origin + "/actor"};
  internet.answers[list_url] = [&](const HttpCall& call) {
    // She follows the node, which then follows her.
    const std::string follow = follow_text(dora, {origin + "/actor"});
    boost::asio::co_spawn(loop.executor(kOwner), node->answer(signed_request(dora, follow)),
                          [](std::exception_ptr, const HttpResponse&) {});
    return list(call);
  };
  deliver(header(hex_of(listed)));
  Strings types;
  for (const json::object& sent : internet.posted_to(dora.inbox)) types.push_back(json::id_of(sent, "type"));
  ASSERT_FALSE(types.empty());
  EXPECT_EQ(types.back(), "Follow");
  EXPECT_THAT(known(), SizeIs(1));
}

// [race D] Our Follow was accepted, and the Accept is on its way or lost.
TEST_F(Synchronisation, RaceDTheAcceptWasLost) {
  know({}, {alice});
  listed = {alice};
  deliver(header(hex_of(listed)));
  EXPECT_THAT(known(), ElementsAre(alice + " 1"));
  EXPECT_THAT(undone(), IsEmpty());
}

// [race E; Fedify] A header that was made when the delivery was queued, hours ago.
TEST_F(Synchronisation, RaceEAHeaderOfYesterday) {
  know({alice, bob});
  listed = {alice, bob};
  deliver(header(hex_of({alice})));
  EXPECT_THAT(known(), ElementsAre(alice + " 1", bob + " 1"));
  EXPECT_THAT(undone(), IsEmpty());
  EXPECT_EQ(counter("doubts"), 1);
}

// Most differences are something on its way: after the delay there is none.
TEST_F(Synchronisation, WhatSettlesByItselfCostsNoFetch) {
  know({alice}, {mallory});
  const json::object accept = {{"@context", "https://www.w3.org/ns/activitystreams"},
                               {"id", dora.id + "/accepts/1"},
                               {"type", "Accept"},
                               {"actor", dora.id},
                               {"object", mallory + "/follow"}};
  loop.at(loop.now() + std::chrono::seconds(1), kOwner, [&] {
    boost::asio::co_spawn(loop.executor(kOwner), node->answer(signed_request(dora, json::serialize(accept))),
                          [](std::exception_ptr, const HttpResponse&) {});
  });
  deliver(header(hex_of({alice, mallory})));
  EXPECT_EQ(fetches(), 0U);
  EXPECT_EQ(counter("settled"), 1);
}

}  // namespace
}  // namespace tagring::node
