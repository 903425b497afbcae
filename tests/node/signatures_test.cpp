// Signatures between a node and servers of every kind: knocking, keys, and who may be asked without one.
#include <algorithm>
#include <fmt/format.h>
#include <ranges>

#include "federation/signed_client.hpp"
#include "fediverse/documents.hpp"
#include "node/fixture.hpp"
#include "signatures/signature.hpp"

namespace tagring::node {
namespace {

using signatures::SignatureForm;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// --- knocking ----------------------------------------------------------------------------------------------

class Knocking : public NodeTest {
 protected:
  // What a server takes, by the names below; other requests get `refusal`.
  void serve(const std::string& url, std::vector<std::string> takes, int refusal = 401, int success = 200) {
    internet.answers[url] = [this, url, takes, refusal, success](const HttpCall& call) {
      const std::string form = form_of(call);
      knocks.push_back(form);
      deadlines.push_back(call.deadline);
      if (std::ranges::find(takes, form) == takes.end()) return with_status(refusal);
      HttpResponse response = with_status(success, "{}");
      response.headers.add("Content-Type", "application/activity+json");
      return response;
    };
  }

  // Looks at a request as its receiver would.
  std::string form_of(const HttpCall& call) {
    HttpRequest request{.method = call.method,
                        .target = call.url.target,
                        .headers = call.headers,
                        .body = call.body,
                        .peer = {}};
    request.headers.add("Host", call.url.authority());
    signatures::SignaturePolicy policy;
    policy.authorities = {call.url.authority()};
    const auto claims = signatures::read_signatures(request, loop.wall_now(), policy);
    if (!claims) return claims.error().message;
    if (claims->size() != 1) return "several signatures";
    const signatures::SignatureClaim& claim = claims->front();
    const bool message = claim.covers("@method");
    for (std::size_t i = 0; i < claim.signing_strings.size(); ++i) {
      if (!identity.key.public_key().verify(claim.signing_strings[i], claim.signature)) continue;
      if (call.headers.find(message ? "Digest" : "Content-Digest")) return "two digests";
      return message ? "message" : i == 0 ? "cavage" : "path only";
    }
    return "not genuine";
  }

  std::string fetch(const std::string& url) {
    knocks.clear();
    deadlines.clear();
    const Result<std::string> body = run(courier.fetch_body(url));
    return body ? *body : to_string(body.error().code);
  }
  int deliver(const std::string& url) {
    knocks.clear();
    deadlines.clear();
    const Result<HttpResponse> response = run(courier.deliver(url, R"({"type":"Create"})"));
    return response ? response->status : -1;
  }

  federation::Identity identity{origin, crypto::PrivateKey::ed25519_from_seed(std::string(32, 'k'))};
  federation::SignedClient courier{identity, internet, runtime};
  std::vector<std::string> knocks;
  std::vector<Instant> deadlines;
  const std::string inbox = "https://peer.example/inbox";
  const std::string document = "https://peer.example/notes/1";
  const std::string query = document + "?page=2";
};

TEST_F(Knocking, WhoReadsTheCommonFormIsAskedOnce) {
  serve(inbox, {"cavage"});
  serve(document, {"cavage"});
  EXPECT_EQ(deliver(inbox), 200);
  EXPECT_THAT(knocks, ElementsAre("cavage"));
  EXPECT_EQ(fetch(query), "{}");
  EXPECT_THAT(knocks, ElementsAre("cavage"));
}

TEST_F(Knocking, WhoReadsOnlyRfc9421GetsItAfterA401OrA400AndFromThenOn) {
  for (const int refusal : {401, 400}) {
    const std::string origin = fmt::format("https://refuses-with-{}.example", refusal);
    serve(origin + "/inbox", {"message"}, refusal, 202);
    serve(origin + "/note", {"message"}, refusal);
    EXPECT_EQ(deliver(origin + "/inbox"), 202);
    EXPECT_THAT(knocks, ElementsAre("cavage", "message"));
    EXPECT_EQ(deliver(origin + "/inbox"), 202);
    EXPECT_THAT(knocks, ElementsAre("message"));
    EXPECT_EQ(fetch(origin + "/note?page=2"), "{}");
    EXPECT_THAT(knocks, ElementsAre("message"));
  }
  serve(inbox, {"cavage"});
  EXPECT_EQ(deliver(inbox), 200);
  EXPECT_THAT(knocks, ElementsAre("cavage")) << "another server";
}

TEST_F(Knocking, WhoLeavesTheQueryOutGetsItSoAfterA401AndFromThenOn) {
  serve(document, {"path only"});
  EXPECT_EQ(fetch(query), "{}");
  EXPECT_THAT(knocks, ElementsAre("cavage", "path only"));
  EXPECT_EQ(fetch(query), "{}");
  EXPECT_THAT(knocks, ElementsAre("path only"));
  serve(inbox, {"cavage"});
  EXPECT_EQ(deliver(inbox), 200);
  EXPECT_THAT(knocks, ElementsAre("cavage")) << "without a query it is the same";
  EXPECT_EQ(fetch(query), "{}");
  EXPECT_THAT(knocks, ElementsAre("path only")) << "and that is no reason to forget";
}

TEST_F(Knocking, RfcComesLastForAQuery) {
  serve(document, {"message"});
  EXPECT_EQ(fetch(query), "{}");
  EXPECT_THAT(knocks, ElementsAre("cavage", "path only", "message"));
  EXPECT_EQ(fetch(document), "{}");
  EXPECT_THAT(knocks, ElementsAre("message"));
}

TEST_F(Knocking, WhoRefusesAllIsAskedOncePerFormAndTheFirstAnswerCounts) {
  internet.answers[inbox] = [this](const HttpCall& call) {
    knocks.push_back(form_of(call));
    return with_status(knocks.size() == 1 ? 401 : 400);
  };
  EXPECT_EQ(deliver(inbox), 401) << "400 would end the delivery";
  EXPECT_THAT(knocks, ElementsAre("cavage", "message"));
  EXPECT_EQ(deliver(inbox), 401);
  EXPECT_THAT(knocks, ElementsAre("cavage", "message")) << "nothing was learnt";
  serve(document, {});
  EXPECT_EQ(fetch(query), "denied");
  EXPECT_THAT(knocks, ElementsAre("cavage", "path only", "message"));
}

TEST_F(Knocking, OtherAnswersAreNotAboutTheSignature) {
  for (const int status : {202, 301, 403, 404, 410, 413, 429, 500, 503}) {
    serve(inbox, {}, status);
    EXPECT_EQ(deliver(inbox), status);
    EXPECT_THAT(knocks, ElementsAre("cavage")) << status;
  }
}

TEST_F(Knocking, AServerThatGoesBackToTheCommonFormIsFollowed) {
  serve(inbox, {"message"});
  EXPECT_EQ(deliver(inbox), 200);
  serve(inbox, {"cavage"});
  EXPECT_EQ(deliver(inbox), 200);
  EXPECT_THAT(knocks, ElementsAre("message", "cavage"));
  EXPECT_EQ(deliver(inbox), 200);
  EXPECT_THAT(knocks, ElementsAre("cavage"));
}

TEST_F(Knocking, ARefusalInAnotherFormTeachesNothing) {
  internet.answers[inbox] = [this](const HttpCall& call) {
    knocks.push_back(form_of(call));
    return with_status(knocks.size() == 1 ? 401 : 403);
  };
  EXPECT_EQ(deliver(inbox), 403);
  EXPECT_EQ(deliver(inbox), 403);
  EXPECT_THAT(knocks, ElementsAre("cavage", "message"));
}

TEST_F(Knocking, WhatWasLearntIsForgottenAfterADay) {
  serve(inbox, {"message"});
  EXPECT_EQ(deliver(inbox), 200);
  settle(federation::SignatureFormCache::kLifetime - std::chrono::minutes(1));
  EXPECT_EQ(deliver(inbox), 200);
  EXPECT_THAT(knocks, ElementsAre("message"));
  settle(std::chrono::minutes(1));
  EXPECT_EQ(deliver(inbox), 200);
  EXPECT_THAT(knocks, ElementsAre("cavage", "message"));
}

TEST_F(Knocking, AllKnocksShareTheTimeForOne) {
  serve(document, {"message"});
  EXPECT_EQ(fetch(query), "{}");
  ASSERT_EQ(deadlines.size(), 3U);
  EXPECT_EQ(deadlines[0], deadlines[1]);
  EXPECT_EQ(deadlines[0], deadlines[2]);
}

TEST_F(Knocking, ALaterKnockThatDoesNotGetThroughIsAFailureToReach) {
  internet.answers[inbox] = [this](const HttpCall& call) -> Result<HttpResponse> {
    knocks.push_back(form_of(call));
    if (knocks.size() == 1) return with_status(401);
    return fail(ErrorCode::kUnavailable, "reset");
  };
  EXPECT_EQ(deliver(inbox), -1);
}

TEST_F(Knocking, RedirectsAreSignedAnewInEveryForm) {
  internet.answers["https://peer.example/short"] = [](const HttpCall&) {
    return HttpResponse{.status = 302, .headers = {{"Location", "/notes/1"}}, .body = {}};
  };
  serve(document, {"message"});
  EXPECT_EQ(fetch("https://peer.example/short"), "{}");
  EXPECT_THAT(knocks, ElementsAre("cavage", "message"));
}

// Fedify: "doubleKnock() detects redirect loops".
TEST_F(Knocking, RedirectsInACircleEnd) {
  internet.answers[document] = [this](const HttpCall& call) {
    knocks.push_back(form_of(call));
    return HttpResponse{.status = 302, .headers = {{"Location", "/notes/1"}}, .body = {}};
  };
  EXPECT_EQ(fetch(document), "invalid");
  EXPECT_EQ(knocks.size(), 4U);
}

TEST_F(Knocking, WhatIsLearntIsBounded) {
  federation::SignatureFormCache memory(clock);
  constexpr std::size_t kMax = federation::SignatureFormCache::kSizeMax;
  const auto server = [](std::size_t number) { return fmt::format("https://{}.example", number); };
  const auto is_known = [&](std::size_t number) {
    return memory.forms(server(number), false).front() == SignatureForm::kMessage;
  };
  const auto known = [&] { return std::ranges::count_if(std::views::iota(0UZ, 2 * kMax), is_known); };
  for (std::size_t i = 0; i < kMax; ++i) memory.accepted(server(i), SignatureForm::kMessage);
  EXPECT_EQ(known(), kMax);
  memory.accepted(server(kMax), SignatureForm::kMessage);
  EXPECT_TRUE(is_known(kMax));
  EXPECT_LE(known(), kMax);
  EXPECT_GE(known(), kMax / 8 * 7) << "most of what was learnt stays";
  for (std::size_t i = kMax + 1; i < 2 * kMax; ++i) memory.accepted(server(i), SignatureForm::kMessage);
  EXPECT_LE(known(), kMax);
  EXPECT_GE(known(), kMax / 8 * 7);
}

// --- keys --------------------------------------------------------------------------------------------------

class Keys : public NodeTest {
 protected:
  Author alice = make_author("https://home.example/users/alice");
  int posts = 0;

  std::string next_post() {
    return create_text({.uri = fmt::format("https://home.example/notes/{}", ++posts),
                        .author = alice.id,
                        .tags = {"caturday"}});
  }
  HttpRequest request(const std::string& key_id, const crypto::PrivateKey& key,
                      SignatureForm form = SignatureForm::kCavage) {
    HttpCall call("POST", Url::parse(origin + "/inbox").value(), loop.now());
    call.body = next_post();
    signatures::sign_call(call, key, key_id, loop.wall_now(), form);
    HttpRequest made{
        .method = "POST", .target = "/inbox", .headers = call.headers, .body = call.body, .peer = {}};
    made.headers.add("Host", call.url.authority());
    return made;
  }
  int status_of(HttpRequest made) { return ask(std::move(made)).status; }

  // The actor's document with another member in place of its publicKey.
  void publish(const std::string& property, json::value value) {
    json::object document = json::parse_object(alice.document()).value();
    document.erase("publicKey");
    document[property] = std::move(value);
    internet.serve(alice.id, json::serialize(document));
  }
};

// Mastodon: "with a known account whose stored key is stale".
TEST_F(Keys, ARotatedKeyIsFetchedAgainAndAtMostOnceAMinute) {
  EXPECT_EQ(status_of(request(alice.key_id(), alice.key)), 202);
  EXPECT_EQ(status_of(request(alice.key_id(), alice.key)), 202);
  EXPECT_EQ(internet.sent_to(alice.id).size(), 1U);
  const crypto::PrivateKey old = alice.key;
  alice.key = crypto::PrivateKey::ed25519_from_seed(std::string(32, 'r'));
  internet.serve(alice);
  settle(std::chrono::seconds(90));
  EXPECT_EQ(status_of(request(alice.key_id(), alice.key)), 202);
  EXPECT_EQ(internet.sent_to(alice.id).size(), 2U);
  EXPECT_EQ(status_of(request(alice.key_id(), old)), 401);
  EXPECT_EQ(status_of(request(alice.key_id(), old)), 401);
  EXPECT_EQ(internet.sent_to(alice.id).size(), 2U);
}

TEST_F(Keys, AKeyThatChangesJustAfterItWasFetchedIsFetchedAgain) {
  EXPECT_EQ(status_of(request(alice.key_id(), alice.key)), 202);
  alice.key = crypto::PrivateKey::ed25519_from_seed(std::string(32, 'r'));
  internet.serve(alice);
  EXPECT_EQ(status_of(request(alice.key_id(), alice.key)), 202);
  EXPECT_EQ(internet.sent_to(alice.id).size(), 2U);
}

// Mastodon, FetchRemoteKeyService: "when the key and actor are separate documents".
TEST_F(Keys, OfADocumentOfItsOwnIsTakenIfItsOwnerListsIt) {
  const std::string key_id = "https://home.example/keys/1";
  internet.serve(key_id,
                 json::serialize(json::object{
                     {"id", key_id}, {"owner", alice.id}, {"publicKeyPem", alice.key.public_key().pem()}}));
  publish("publicKey", json::value(key_id));
  EXPECT_EQ(status_of(request(key_id, alice.key)), 202);
}

// GoToSocial: the key id is a path, which leads to a stub of the actor.
TEST_F(Keys, OfAStubIsTakenIfItsOwnerListsIt) {
  const std::string key_id = alice.id + "/main-key";
  const json::object key = {
      {"id", key_id}, {"owner", alice.id}, {"publicKeyPem", alice.key.public_key().pem()}};
  internet.serve(key_id,
                 json::serialize(json::object{{"id", alice.id}, {"type", "Person"}, {"publicKey", key}}));
  publish("publicKey", key);
  EXPECT_EQ(status_of(request(key_id, alice.key)), 202);
}

// Mastodon, FetchRemoteKeyService: "with several keys, one of which is missing".
TEST_F(Keys, OfSeveralOneMayBeMissing) {
  const std::string key_id = "https://home.example/keys/1";
  internet.serve(key_id,
                 json::serialize(json::object{
                     {"id", key_id}, {"owner", alice.id}, {"publicKeyPem", alice.key.public_key().pem()}}));
  publish("publicKey", json::array{"https://home.example/keys/missing", key_id});
  EXPECT_EQ(status_of(request(key_id, alice.key)), 202);
  expect_refused(request("https://home.example/keys/missing", alice.key), 401, "not_found",
                 "cannot fetch the key");
}

// Ed25519, seed of 32 "m"; public key and multibase made with Python.
constexpr const char* kMultibase = "z6MkopQ6w7ro5qp75i9QoKuaVKeNCZNYKJKTgEhoE3v313RT";

// FEP-521a; Mastodon, FetchRemoteKeyService: the same "with a Multikey".
TEST_F(Keys, MultikeysOfTheActorAndOfADocumentOfTheirOwnAreTaken) {
  const crypto::PrivateKey key = crypto::PrivateKey::ed25519_from_seed(std::string(32, 'm'));
  const auto multikey = [&](const std::string& id) {
    return json::object{
        {"id", id}, {"type", "Multikey"}, {"controller", alice.id}, {"publicKeyMultibase", kMultibase}};
  };
  const std::string alone = "https://home.example/keys/1";
  internet.serve(alone, json::serialize(multikey(alone)));
  publish("assertionMethod", json::array{multikey(alice.id + "#ed25519"), alone});
  for (const SignatureForm form : {SignatureForm::kCavage, SignatureForm::kMessage}) {
    EXPECT_EQ(status_of(request(alice.id + "#ed25519", key, form)), 202);
    EXPECT_EQ(status_of(request(alone, key, form)), 202);
    EXPECT_EQ(status_of(request(alice.id + "#ed25519", alice.key, form)), 401);
  }
}

// Unfathomably: "rejects a stale signature before fetching the key".
TEST_F(Keys, OfStaleRequestsAreNotFetched) {
  for (const SignatureForm form : {SignatureForm::kCavage, SignatureForm::kMessage}) {
    const HttpRequest stale = request(alice.key_id(), alice.key, form);
    settle(std::chrono::minutes(61));
    expect_refused(stale, 401, "denied", "too old");
  }
  EXPECT_THAT(internet.sent_to(alice.id), IsEmpty());
}

// --- both schemes ------------------------------------------------------------------------------------------

TEST_F(Keys, Rfc9421IsTakenOnce) {
  const HttpRequest message = request(alice.key_id(), alice.key, SignatureForm::kMessage);
  EXPECT_EQ(status_of(message), 202);
  expect_repetition(message);
}

TEST_F(Keys, OfTwoSignaturesOneGenuineOneIsEnoughAndNeitherIsTakenAgain) {
  HttpCall call("POST", Url::parse(origin + "/inbox").value(), loop.now());
  call.body = next_post();
  HttpCall in_rfc9421 = call;
  const crypto::PrivateKey other = crypto::PrivateKey::ed25519_from_seed(std::string(32, 'o'));
  signatures::sign_call(call, alice.key, alice.key_id(), loop.wall_now());
  signatures::sign_call(in_rfc9421, other, alice.key_id(), loop.wall_now(), SignatureForm::kMessage);
  HttpRequest both{
      .method = "POST", .target = "/inbox", .headers = call.headers, .body = call.body, .peer = {}};
  both.headers.add("Host", call.url.authority());
  HttpRequest cavage_only = both;
  for (const char* name : {"Content-Digest", "Signature-Input", "Signature"})
    both.headers.add(name, *in_rfc9421.headers.find(name));
  EXPECT_EQ(status_of(both), 202);
  expect_repetition(both);
  expect_refused(cavage_only, 401, "denied", "received before");
}

// Else whoever has seen a signature could have the request refused whose it is.
TEST_F(Keys, WhatIsNoSignatureOfTheRequestIsNotRemembered) {
  int number = 0;
  for (const bool is_known : {false, true}) {
    for (const std::string host : {"home.example", "evil.example"}) {
      if (is_known) EXPECT_EQ(status_of(request(alice.key_id(), alice.key)), 202);
      const HttpRequest genuine = request(alice.key_id(), alice.key);
      const Author mallory = make_author(fmt::format("https://{}/users/{}", host, ++number));
      HttpCall call("POST", Url::parse(origin + "/inbox").value(), loop.now());
      call.body = create_text(
          {.uri = fmt::format("{}/notes/1", mallory.id), .author = mallory.id, .tags = {"caturday"}});
      HttpCall in_rfc9421 = call;
      signatures::sign_call(call, mallory.key, mallory.key_id(), loop.wall_now());
      signatures::sign_call(in_rfc9421, mallory.key, mallory.key_id(), loop.wall_now(),
                            SignatureForm::kMessage);
      call.headers.set("Signature", std::string(*genuine.headers.find("Signature")));
      for (const char* name : {"Content-Digest", "Signature-Input", "Signature"})
        call.headers.add(name, *in_rfc9421.headers.find(name));
      HttpRequest made{
          .method = "POST", .target = "/inbox", .headers = call.headers, .body = call.body, .peer = {}};
      made.headers.add("Host", call.url.authority());
      EXPECT_NE(status_of(made), 401);
      EXPECT_EQ(status_of(genuine), 202) << host << is_known;
      expect_repetition(genuine);
    }
  }
}

TEST_F(Keys, AnotherDomainsGenuineSignatureIsRememberedToo) {
  const Author bob = make_author("https://other.example/users/bob");
  EXPECT_EQ(status_of(request(alice.key_id(), alice.key)), 202);
  EXPECT_NE(status_of(request(bob.key_id(), bob.key)), 401) << "the key is known now";
  HttpCall call("POST", Url::parse(origin + "/inbox").value(), loop.now());
  call.body = next_post();
  HttpCall in_rfc9421 = call;
  signatures::sign_call(call, bob.key, bob.key_id(), loop.wall_now());
  signatures::sign_call(in_rfc9421, alice.key, alice.key_id(), loop.wall_now(), SignatureForm::kMessage);
  HttpRequest both{
      .method = "POST", .target = "/inbox", .headers = call.headers, .body = call.body, .peer = {}};
  both.headers.add("Host", call.url.authority());
  const HttpRequest bobs_only = both;
  for (const char* name : {"Content-Digest", "Signature-Input", "Signature"})
    both.headers.add(name, *in_rfc9421.headers.find(name));
  EXPECT_EQ(status_of(both), 202);
  expect_refused(bobs_only, 401, "denied", "received before");
}

// --- what is served unsigned -------------------------------------------------------------------------------

// Else two servers that sign all their fetches would ask each other for the key for ever.
TEST_F(Keys, OwnActorsAreServedToAnybody) {
  for (const std::string path : {"/actor", "/tag/caturday"}) {
    const HttpResponse response = get(path);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.headers.find("Content-Type"), "application/activity+json");
    const std::string id = origin + path;
    const auto key = fediverse::parse_key_document(response.body, fediverse::key_id_of(id));
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_TRUE(fediverse::parse_actor(response.body, id)->lists(*key));
  }
  EXPECT_THAT(internet.calls, IsEmpty());
}

// --- clocks ------------------------------------------------------------------------------------------------

class WrongClock : public NodeTest {
 protected:
  [[nodiscard]] HttpRequest next_post(WallTime signed_on) {
    const std::string uri = author.id + "/" + std::to_string(++posts);
    return signed_at(signed_on, author, create_text({uri, author.id, {"caturday"}}));
  }
  [[nodiscard]] int status_of(WallTime signed_on) { return ask(next_post(signed_on)).status; }

  Author author = make_author("https://home.example/users/alice");
  std::size_t posts = 0;
};

TEST_F(WrongClock, WhoStartsWithAFastOneHearsOthersAsSoonAsItIsSet) {
  clock.set_skew(std::chrono::hours(1));
  start(config());
  settle();
  EXPECT_EQ(status_of(loop.wall_now()), 401);
  clock.set_skew(Duration::zero());
  EXPECT_EQ(status_of(loop.wall_now()), 202);
}

TEST_F(WrongClock, WhatWasSignedBeforeTheStartStaysOutWhenASlowOneIsSet) {
  const WallTime before = loop.wall_now();
  settle();
  clock.set_skew(-std::chrono::hours(1));
  start(config());
  clock.set_skew(Duration::zero());
  settle();
  const HttpRequest early = next_post(before);
  expect_refused(early, 503, "busy", "before this node started");
  EXPECT_EQ(ask(early).headers.find("Retry-After"), "1") << "whoever sent it is to sign again";
  expect_refused(early, 503, "busy", "before this node started");
  EXPECT_THAT(history("caturday"), IsEmpty());
  EXPECT_EQ(status_of(loop.wall_now()), 202);
}

}  // namespace
}  // namespace tagring::node
