#include "fediverse/actor.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.hpp"
#include "fediverse/documents.hpp"

namespace tagring::fediverse {
namespace {

constexpr std::string_view kUrl = "https://a.example/users/u";

std::string actor(std::string_view members) {
  return fmt::format(
      R"({{"id":"https://a.example/users/u","type":"Person","inbox":"https://a.example/users/u/inbox"{}}})",
      members);
}

std::string refusal(const std::string& body, std::string_view url = kUrl) {
  const Result<RemoteActor> result = parse_actor(body, url);
  return result ? "accepted" : result.error().message;
}

std::string key(std::string_view id, std::string_view owner, std::string_view pem = "PEM") {
  return fmt::format(R"({{"id":"{}","owner":"{}","publicKeyPem":"{}"}})", id, owner, pem);
}

TEST(Actor, IsReadWithEverythingOptional) {
  const RemoteActor full =
      parse_actor(
          actor(
              R"(,"endpoints":{"sharedInbox":"https://a.example/inbox"},"followers":"https://a.example/users/u/followers",
      "preferredUsername":"u","summary":"<p>#nobot</p>","manuallyApprovesFollowers":true,"indexable":false,
      "publicKey":)" +
              key("https://a.example/users/u#main-key", kUrl)),
          kUrl)
          .value();
  EXPECT_EQ(full.id, kUrl);
  EXPECT_EQ(full.type, "Person");
  EXPECT_EQ(full.inbox, "https://a.example/users/u/inbox");
  EXPECT_EQ(full.delivery_inbox(), "https://a.example/inbox");
  EXPECT_EQ(full.followers, "https://a.example/users/u/followers");
  EXPECT_EQ(full.preferred_username, "u");
  EXPECT_TRUE(full.refuses);
  EXPECT_EQ(full.indexable, false);
  ASSERT_EQ(full.keys.size(), 1U);
  EXPECT_EQ(full.keys[0].pem, "PEM");
  const RemoteActor bare = parse_actor(actor(""), kUrl).value();
  EXPECT_EQ(bare.delivery_inbox(), "https://a.example/users/u/inbox");
  EXPECT_FALSE(bare.indexable);
  EXPECT_TRUE(bare.keys.empty());
}

// Tens of thousands of actors are remembered, of anybody who signs.
TEST(Actor, NothingIsKeptThatMayBeAsLongAsADocument) {
  const std::string much(500'000, 'x');
  const RemoteActor read = parse_actor(actor(R"(,"preferredUsername":")" + much + R"(","name":")" + much +
                                             R"(","summary":")" + much + "\""),
                                       kUrl)
                               .value();
  EXPECT_EQ(read.preferred_username, "");
}

// [Misskey: seconds since 1970, or below zero an age; null and false are in all of its profiles]
TEST(Actor, HidesFromTheWebAsGoToSocialAndMisskeySayIt) {
  const auto hides = [](std::string_view members) {
    const std::string body = actor(members);
    const bool is_hidden = parse_actor(body, kUrl).value().hides_from_web;
    EXPECT_NE(is_for_everybody(json::parse_object(body).value()), is_hidden) << members;
    return is_hidden;
  };
  EXPECT_TRUE(hides(R"(,"hidesToPublicFromUnauthedWeb":true)"));
  EXPECT_TRUE(hides(R"(,"_misskey_requireSigninToViewContents":true)"));
  for (const char* time : {"1729486255", "-604800", "0"}) {
    EXPECT_TRUE(hides(fmt::format(R"(,"_misskey_makeNotesHiddenBefore":{})", time)));
    EXPECT_TRUE(hides(fmt::format(R"(,"_misskey_makeNotesFollowersOnlyBefore":{})", time)));
  }
  EXPECT_FALSE(hides(R"(,"hidesToPublicFromUnauthedWeb":false,"_misskey_requireSigninToViewContents":false,
               "_misskey_makeNotesHiddenBefore":null,"_misskey_makeNotesFollowersOnlyBefore":null)"));
}

TEST(Actor, MustBeWhereItCameFrom) {
  EXPECT_EQ(refusal(actor(""), "https://a.example/users/other"), "id is not where the document came from");
  EXPECT_EQ(refusal(actor(""), "https://evil.example/users/u"), "id is not where the document came from");
  EXPECT_EQ(refusal(actor(""), "https://a.example/users/u#main-key"), "accepted");
}

TEST(Actor, RefusesIncompleteAndOtherDocuments) {
  EXPECT_EQ(refusal("{}"), "id is missing");
  EXPECT_EQ(refusal(R"({"id":"https://a.example/users/u","type":"Note"})"), "type is not that of an actor");
  EXPECT_EQ(refusal(R"({"id":"https://a.example/users/u","type":"Person"})"), "inbox is missing");
  EXPECT_EQ(refusal(actor(R"(,"inbox":"https://victim.example/inbox")")), "inbox is on another server");
  EXPECT_EQ(refusal(actor(R"(,"inbox":[])")), "inbox is missing");
}

TEST(Actor, DropsCollectionsAndSharedInboxesOfOtherServers) {
  const RemoteActor result =
      parse_actor(
          actor(
              R"(,"endpoints":{"sharedInbox":"https://b.example/inbox"},"followers":"https://b.example/f")"),
          kUrl)
          .value();
  EXPECT_EQ(result.shared_inbox, "");
  EXPECT_EQ(result.followers, "");
}

TEST(Actor, KeysMustBeItsOwn) {
  EXPECT_EQ(refusal(actor(R"(,"publicKey":)" +
                          key("https://a.example/users/u#main-key", "https://a.example/users/x"))),
            "public key belongs to another actor");
  EXPECT_EQ(refusal(actor(R"(,"publicKey":)" + key("https://b.example/key", kUrl))),
            "public key is on another server than its owner");
  EXPECT_EQ(refusal(actor(R"(,"publicKey":)" + key("https://a.example/k", kUrl, ""))),
            "public key has no publicKeyPem of ordinary size");
  EXPECT_EQ(refusal(actor(R"(,"publicKey":)" + key("https://a.example/k", kUrl, std::string(10'000, 'x')))),
            "public key has no publicKeyPem of ordinary size");
}

TEST(Actor, KeysComeOneOrSeveralWholeOrById) {
  const RemoteActor result =
      parse_actor(actor(R"(,"publicKey":[)" + key("https://a.example/users/u#k1", kUrl) +
                        R"(,"https://a.example/k2","https://b.example/k3",7])"),
                  kUrl)
          .value();
  ASSERT_EQ(result.keys.size(), 1U);
  EXPECT_EQ(result.key_ids, std::vector<std::string>{"https://a.example/k2"});
  const std::string owner(kUrl);
  EXPECT_TRUE(result.lists({"https://a.example/users/u#k1", owner, "PEM"}));
  EXPECT_FALSE(result.lists({"https://a.example/users/u#k1", owner, "OTHER"}));
  EXPECT_TRUE(result.lists({"https://a.example/k2", owner, "ANY"}));
  EXPECT_FALSE(result.lists({"https://a.example/k2", "https://a.example/users/x", "ANY"}));
  EXPECT_FALSE(result.lists({"https://a.example/k4", owner, "PEM"}));
}

TEST(Actor, TakesTenKeysAtMost) {
  std::string keys;
  for (int i = 0; i < 50; ++i) keys += fmt::format(R"({}"https://a.example/k{}")", i == 0 ? "" : ",", i);
  EXPECT_EQ(parse_actor(actor(R"(,"publicKey":[)" + keys + "]"), kUrl)->key_ids.size(), 10U);
}

TEST(KeyDocument, IsReadFromActorsStubsAndByItself) {
  const std::string id = "https://a.example/users/u/main-key";
  const KeyDocument alone = parse_key_document(key(id, kUrl), id).value();
  EXPECT_EQ(alone.owner, kUrl);
  EXPECT_EQ(alone.pem, "PEM");
  const std::string stub =
      R"({"id":"https://a.example/users/u","type":"Person","publicKey":)" + key(id, kUrl) + "}";
  EXPECT_EQ(parse_key_document(stub, id)->owner, kUrl);
  const std::string without_owner =
      R"({"id":"https://a.example/users/u","publicKey":[{"id":")" + id + R"(","publicKeyPem":"PEM"}]})";
  EXPECT_EQ(parse_key_document(without_owner, id)->owner, kUrl);
}

TEST(KeyDocument, RefusesOtherKeysAndForeignOwners) {
  const std::string id = "https://a.example/k";
  EXPECT_EQ(parse_key_document(key("https://a.example/other", kUrl), id).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(parse_key_document(actor(""), id).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(parse_key_document(key(id, "https://b.example/u"), id).error().message,
            "public key is on another server than its owner");
  EXPECT_EQ(parse_key_document(R"({"id":"https://a.example/k","publicKeyPem":"PEM"})", id).error().message,
            "public key names no owner");
}

std::string multikey(std::string_view id, std::string_view controller, std::string_view multibase) {
  return fmt::format(R"({{"id":"{}","type":"Multikey","controller":"{}","publicKeyMultibase":"{}"}})", id,
                     controller, multibase);
}
constexpr std::string_view kMultibase = "z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";

// FEP-521a.
TEST(Actor, MultikeysComeWholeOrByIdBesideThePublicKey) {
  const std::string id = "https://a.example/users/u#ed25519";
  const std::string body =
      actor(R"(,"publicKey":)" + key("https://a.example/users/u#main-key", kUrl) + R"(,"assertionMethod":[)" +
            multikey(id, kUrl, kMultibase) + R"(,"https://a.example/k2","https://b.example/k3"])");
  const RemoteActor result = parse_actor(body, kUrl).value();
  ASSERT_EQ(result.keys.size(), 2U);
  EXPECT_EQ(result.keys[1].multibase, kMultibase);
  EXPECT_EQ(result.key_ids, std::vector<std::string>{"https://a.example/k2"});
  const KeyDocument found = parse_key_document(body, id).value();
  EXPECT_TRUE(result.lists(found));
  EXPECT_EQ(read_key(found)->type(), crypto::KeyType::kEd25519);
  EXPECT_FALSE(result.lists({id, std::string(kUrl), "", "z6MkOther"}));
  EXPECT_FALSE(result.lists({id, std::string(kUrl), "PEM"}));
}

TEST(Actor, MultikeysThatAreNotInOrderArePassedOver) {
  const RemoteActor result =
      parse_actor(actor(R"(,"assertionMethod":[)" + multikey("https://b.example/k", kUrl, kMultibase) + "," +
                        multikey("https://a.example/k", "https://a.example/users/x", kMultibase) + "," +
                        multikey("https://a.example/k", kUrl, std::string(3000, 'z')) + "," +
                        multikey("https://a.example/k4", kUrl, "unknown") + ",{}]"),
                  kUrl)
          .value();
  ASSERT_EQ(result.keys.size(), 1U);
  EXPECT_EQ(result.keys[0].id, "https://a.example/k4");
  EXPECT_FALSE(read_key(result.keys[0]));
}

// PeerTube before 7.1 signs as its actor, whose key has a name of its own.
TEST(KeyDocument, IsTheOnlyKeyOfAnActorThatIsNamedInsteadOfIt) {
  const std::string name = std::string(kUrl) + "#main-key";
  const std::string body = actor(R"(,"publicKey":)" + key(name, kUrl));
  const KeyDocument found = parse_key_document(body, kUrl).value();
  EXPECT_EQ(found.id, name);
  EXPECT_TRUE(parse_actor(body, kUrl)->lists(found));
  const std::string two = actor(R"(,"publicKey":[)" + key(name, kUrl) + "," + key(name + "2", kUrl) + "]");
  EXPECT_FALSE(parse_key_document(two, kUrl)) << "which of them, nobody can tell";
}

TEST(KeyDocument, IsReadFromAMultikeyByItself) {
  const std::string id = "https://a.example/k";
  const KeyDocument alone = parse_key_document(multikey(id, kUrl, kMultibase), id).value();
  EXPECT_EQ(alone.owner, kUrl);
  EXPECT_EQ(alone.multibase, kMultibase);
  EXPECT_TRUE(alone.pem.empty());
  EXPECT_EQ(parse_key_document(multikey(id, "https://b.example/u", kMultibase), id).error().message,
            "public key is on another server than its owner");
}

TEST(Actor, OwnDocumentsAreReadable) {
  const NodeUrls urls("https://n.example");
  const Tag tag = Tag::parse("日本").value();
  for (const json::object& own : {make_node_actor(urls, "PEM"), make_tag_actor(urls, tag, "PEM")}) {
    const std::string id(own.at("id").as_string());
    const RemoteActor result = parse_actor(json::serialize(own), id).value();
    EXPECT_EQ(result.delivery_inbox(), "https://n.example/inbox");
    EXPECT_EQ(result.followers, id + "/followers");
    EXPECT_TRUE(result.lists(parse_key_document(json::serialize(own), key_id_of(id)).value()));
  }
}

}  // namespace
}  // namespace tagring::fediverse
