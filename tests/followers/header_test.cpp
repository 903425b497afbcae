#include "followers/header.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace tagring::followers {
namespace {

const std::string kHex = "c33f48cd341ef046a206b8a72ec97af65079f9a3a9b90eef79c5920dce45c61f";
const std::string kActor = "https://example.org/users/1";
const std::string kCollection = "https://example.org/users/1/followers";
const std::string kUrl = "https://example.org/users/1/followers_synchronization";
const std::string kFepExample =
    R"(collectionId="https://example.org/users/1/followers", )"
    R"(url="https://example.org/users/1/followers_synchronization", )"
    R"(digest="c33f48cd341ef046a206b8a72ec97af65079f9a3a9b90eef79c5920dce45c61f")";
const Authority kOwn = *Authority::of("https://testing.example.org");

Header header() { return {kCollection, kUrl, *Digest::from_hex(kHex)}; }

std::string with_digest(const std::string& digest) {
  return R"(collectionId=")" + kCollection + R"(", url=")" + kUrl + R"(", digest=")" + digest + '"';
}

// The reason as text, or "ok".
std::string reason(std::string_view value) {
  const auto parsed = parse_header(value);
  return parsed ? "ok" : std::string(to_string(parsed.error()));
}
std::string judgement(const Header& h, const Delivery& delivery, Policy policy = {}) {
  const auto checked = check_header(h, delivery, kOwn, policy);
  return checked ? "ok" : std::string(to_string(checked.error()));
}

TEST(SyncHeader, OfFepExampleIsWrittenAndReadToTheByte) {
  EXPECT_EQ(format_header(header()), kFepExample);
  ASSERT_EQ(reason(kFepExample), "ok");
  EXPECT_EQ(*parse_header(kFepExample), header());
}

TEST(SyncHeader, OfFedifyCollectionTestIsWrittenAndReadToTheByte) {
  const std::string fedify =
      R"(collectionId="https://testing.example.org/users/1/followers", )"
      R"(url="https://testing.example.org/users/1/followers?base-url=https%3A%2F%2Ftesting.example.org%2F", )"
      R"(digest="c33f48cd341ef046a206b8a72ec97af65079f9a3a9b90eef79c5920dce45c61f")";
  const auto parsed = parse_header(fedify);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->url,
            "https://testing.example.org/users/1/followers?base-url=https%3A%2F%2Ftesting.example.org%2F");
  const std::vector<std::string> followers = {"https://testing.example.org/users/2",
                                              "https://testing.example.org/users/1"};
  EXPECT_EQ(format_header({parsed->collection_id, parsed->url, Digest::of(followers)}), fedify);
}

TEST(SyncHeader, OfMastodonHasTheDigestBeforeTheUrl) {
  const std::string mastodon =
      R"(collectionId=")" + kCollection + R"(", digest=")" + kHex + R"(", url=")" + kUrl + '"';
  ASSERT_EQ(reason(mastodon), "ok");
  EXPECT_EQ(*parse_header(mastodon), header());
}

TEST(SyncHeader, OfMastodonNumericAccountsHasAnotherPathInTheUrl) {
  const auto parsed =
      parse_header(R"(collectionId="https://example.org/ap/users/7/followers", digest=")" + kHex +
                   R"(", url="https://example.org/users/u/followers_synchronization")");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(judgement(*parsed,
                      {"https://example.org/ap/users/7", "https://example.org/ap/users/7/followers", true}),
            "ok");
}

TEST(SyncHeader, OfCSharpBotServerHasNoSpaces) {
  const auto parsed =
      parse_header(R"(collectionId=")" + kCollection +
                   R"(",url="https://example.org/f?after=0&domain=a.test",digest=")" + kHex + '"');
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->url, "https://example.org/f?after=0&domain=a.test");
}

TEST(SyncHeader, OfMastodonSignatureParserMayHaveBlanksAroundEqualsAndComma) {
  const auto parsed = parse_header("  collectionId = \"" + kCollection + "\" ,\turl=  \"" + kUrl +
                                   "\" , digest=\"" + kHex + "\"  ");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, header());
}

TEST(SyncHeader, MayHaveACommaInAQuotedUrl) {
  const auto parsed = parse_header(R"(collectionId="https://example.org/a,b=c", url=")" + kUrl +
                                   R"(", digest=")" + kHex + '"');
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->collection_id, "https://example.org/a,b=c");
}

TEST(SyncHeader, ReadsUpperCaseDigestsAsLowerCase) {
  const auto parsed =
      parse_header(with_digest("C33F48CD341EF046A206B8A72EC97AF65079F9A3A9B90EEF79C5920DCE45C61F"));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->digest.hex(), kHex);
}

TEST(SyncHeader, SkipsParametersItDoesNotKnow) {
  EXPECT_EQ(reason(kFepExample + R"(, version="2")"), "ok");
  EXPECT_EQ(reason(kFepExample + ", v=1"), "ok");
  EXPECT_EQ(reason("v=1.0-beta,w = x, " + kFepExample), "ok");
}

// As in the parsers of Mastodon and others, which read it as they read Signature.
TEST(SyncHeader, AValueMayBeAToken) {
  const auto parsed =
      parse_header(R"(collectionId=")" + kCollection + R"(", url=")" + kUrl + R"(", digest=)" + kHex);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, header());
  EXPECT_EQ(reason(kFepExample + ", v=a b"), "malformed");
  EXPECT_EQ(reason(kFepExample + ", v=a\"b\""), "malformed");
  EXPECT_EQ(reason("digest=abc"), "missing_parameter");
  EXPECT_EQ(reason("collectionId=c, url=u, digest=d"), "bad_digest");
}

TEST(SyncHeader, OfFieldworkWithABase64DigestIsIgnored) {
  EXPECT_EQ(reason(with_digest("sha-256=wz9IzTQe8EaiBrinLsl69lB5+aOpuQ7vecWSDc5Fxh8=")), "bad_digest");
  EXPECT_EQ(reason(with_digest("sha-256=:wz9IzTQe8EaiBrinLsl69lB5+aOpuQ7vecWSDc5Fxh8=:")), "bad_digest");
}

TEST(SyncHeader, OfSprezzWithAnEmptyDigestForNobodyIsIgnored) {
  EXPECT_EQ(reason(with_digest("")), "bad_digest");
}

TEST(SyncHeader, OfEpicyonWithPythonsNoneForNobodyIsIgnored) {
  EXPECT_EQ(reason(with_digest("None")), "bad_digest");
}

TEST(SyncHeader, OfMastodonSynchronizeServiceSpecWithAShortDigestIsIgnored) {
  EXPECT_EQ(reason(with_digest("123456789")), "bad_digest");
  EXPECT_EQ(reason(with_digest(kHex + "00")), "bad_digest");
}

TEST(SyncHeader, OfFieldworkMayNameTheWholeCollectionAsUrl) {
  const auto parsed = parse_header(R"(collectionId=")" + kCollection + R"(", url=")" + kCollection +
                                   R"(", digest=")" + kHex + '"');
  ASSERT_TRUE(parsed);
  EXPECT_EQ(judgement(*parsed, {kActor, kCollection, true}), "ok");
}

TEST(SyncHeader, OfSukhiFediMayHaveAFragmentInTheUrl) {
  const auto parsed = parse_header(R"(collectionId=")" + kCollection + R"(", url=")" + kCollection +
                                   R"(#digest", digest=")" + kHex + '"');
  ASSERT_TRUE(parsed);
  EXPECT_EQ(judgement(*parsed, {kActor, kCollection, true}), "ok");
}

TEST(SyncHeader, WithARepeatedParameterIsIgnored) {
  EXPECT_EQ(reason(kFepExample + ", digest=\"" + kHex + '"'), "duplicate_parameter");
  EXPECT_EQ(reason(kFepExample + ", " + kFepExample), "duplicate_parameter");
  EXPECT_EQ(reason(R"(x="1", x="2", )" + kFepExample), "duplicate_parameter");
}

TEST(SyncHeader, WithoutOneOfTheThreeParametersIsIgnored) {
  EXPECT_EQ(reason(R"(collectionId="c", url="u")"), "missing_parameter");
  EXPECT_EQ(reason(R"(collectionId="c", digest=")" + kHex + '"'), "missing_parameter");
  EXPECT_EQ(reason(R"(url="u", digest=")" + kHex + '"'), "missing_parameter");
  EXPECT_EQ(reason(R"(collectionid="c", url="u", digest=")" + kHex + '"'), "missing_parameter");
  EXPECT_EQ(reason(R"(collectionId="", url="u", digest=")" + kHex + '"'), "missing_parameter");
}

TEST(SyncHeader, ThatIsNoListOfQuotedParametersIsIgnored) {
  for (const std::string bad : {"", " ", ",", "hello this is malformed!", "digest", "digest=", "digest=\"",
                                "=\"x\"", "digest=,", "a=\"1\" b=\"2\"", "a=\"1\",", "a=\"1\",,b=\"2\"",
                                "a=\"1\"x", "a=\"\\\"\"", "a=\"\r\nX: y\"", "a;b=\"1\""}) {
    EXPECT_EQ(reason(bad), "malformed") << bad;
  }
  EXPECT_EQ(reason(std::string("a=\"\0\"", 5)), "malformed");
}

TEST(SyncHeader, OfPixelfedMayHave2048BytesAndNoMore) {
  std::string value = kFepExample + R"(, x=")";
  value += std::string(2047 - value.size(), 'a') + '"';
  ASSERT_EQ(value.size(), 2048U);
  EXPECT_EQ(reason(value), "ok");
  EXPECT_EQ(reason(value + ' '), "too_long");
}

TEST(SyncHeader, IsNotWrittenTooLongOrUnquotable) {
  Header h = header();
  h.url = "https://example.org/" + std::string(2048, 'a');
  EXPECT_EQ(format_header(h), std::nullopt);
  for (const std::string bad : {"\"", "\\", "\r\nX: y", "\x7F"}) {
    h = header();
    h.url += bad;
    EXPECT_EQ(format_header(h), std::nullopt);
    h = header();
    h.collection_id += bad;
    EXPECT_EQ(format_header(h), std::nullopt);
  }
}

TEST(SyncHeaderCheck, AcceptsFepExample) {
  EXPECT_EQ(judgement(header(), {kActor, kCollection, true}), "ok");
}

TEST(SyncHeaderCheck, OfPixelfedAndUnfathomablyRequiresTheSignatureToCoverTheHeader) {
  EXPECT_EQ(judgement(header(), {kActor, kCollection, false}), "not_signed");
}

TEST(SyncHeaderCheck, TakesTheUncoveredHeadersOfMastodonRfc9421FedifyAndTootikIfToldTo) {
  EXPECT_EQ(judgement(header(), {kActor, kCollection, false}, {.require_coverage = false}), "ok");
  EXPECT_EQ(judgement(header(), {kActor, kCollection, true}, {.require_coverage = false}), "ok");
}

TEST(SyncHeaderCheck, OfMastodonInboxesSpecIgnoresAnotherCollection) {
  EXPECT_EQ(
      judgement(header(), {"https://example.org/users/2", "https://example.org/users/2/followers", true}),
      "other_collection");
  EXPECT_EQ(judgement(header(), {kActor, "", true}), "other_collection");
}

TEST(SyncHeaderCheck, ComparesTheCollectionExactlyUnlikeWordPress) {
  EXPECT_EQ(judgement(header(), {kActor, kCollection + "/", true}), "other_collection");
}

TEST(SyncHeaderCheck, OfMastodonInboxesSpecIgnoresAUrlOnAnotherDomain) {
  Header h = header();
  h.url = "https://evil.com/users/1/followers_synchronization";
  EXPECT_EQ(judgement(h, {kActor, kCollection, true}), "other_server");
}

TEST(SyncHeaderCheck, ComparesSchemeAndPortUnlikeMastodonAndTootik) {
  for (const std::string url :
       {"http://example.org/f", "https://example.org:8443/f", "https://example.org.evil.com/f",
        "https://example.org@evil.com/f", "/f", "ftp://example.org/f"}) {
    Header h = header();
    h.url = url;
    EXPECT_EQ(judgement(h, {kActor, kCollection, true}), "other_server") << url;
  }
}

TEST(SyncHeaderCheck, OfPixelfedIgnoresACollectionOnAnotherServerThanItsActor) {
  Header h = header();
  h.collection_id = "https://victim.example/followers";
  EXPECT_EQ(judgement(h, {kActor, h.collection_id, true}), "other_server");
  EXPECT_EQ(judgement(header(), {"did:key:z6Mk", kCollection, true}), "other_server");
}

TEST(SyncHeaderCheck, OfPixelfedIgnoresAHeaderThatComesFromTheReceiverItself) {
  const Header h = {"https://testing.example.org/u/followers", "https://testing.example.org/u/sync", {}};
  EXPECT_EQ(judgement(h, {"https://testing.example.org/u", h.collection_id, true}), "own_server");
}

}  // namespace
}  // namespace tagring::followers
