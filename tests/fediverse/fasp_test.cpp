#include "fediverse/fasp.hpp"

#include <gtest/gtest.h>

#include "signatures/fasp_signature.hpp"

namespace tagring::fediverse {
namespace {

const std::string kAnnouncement = R"({"source":{"subscription":{"id":"58152"}},"category":"content",
  "eventType":"new","objectUris":["https://a.example/1","https://a.example/2","https://a.example/1"]})";

// The text with one part replaced.
std::string with(std::string text, const std::string& part, const std::string& by) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), by);
}

TEST(FaspAnnouncement, NamesEachObjectOnce) {
  const auto said = parse_fasp_announcement(kAnnouncement, 3);
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(said->subscription, "58152");
  EXPECT_EQ(said->event, FaspEvent::kNew);
  EXPECT_EQ(said->uris, (std::vector<std::string>{"https://a.example/1", "https://a.example/2"}));
}

TEST(FaspAnnouncement, AnAnswerToABackfillRequestSaysWhetherThereIsMore) {
  std::string text =
      with(kAnnouncement, R"("subscription":{"id":"58152"})", R"("backfillRequest":{"id":672})");
  auto said = parse_fasp_announcement(text, 3);
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(said->backfill_request, "672");
  EXPECT_FALSE(said->more);
  text = with(text, R"("eventType":"new")", R"("moreObjectsAvailable":true)");
  EXPECT_TRUE(parse_fasp_announcement(text, 3)->more);
}

TEST(FaspAnnouncement, RefusesWhatIsIncompleteUnknownOrTooMuch) {
  EXPECT_EQ(parse_fasp_announcement(kAnnouncement, 2).error().code, ErrorCode::kTooLarge);
  for (const auto& [part, by] : std::vector<std::pair<std::string, std::string>>{
           {R"("58152")", R"("")"},
           {R"("58152")", "[]"},
           {R"({"subscription":{"id":"58152"}})", "{}"},
           {R"({"id":"58152"})", R"({"id":"1"},"backfillRequest":{"id":"2"})"},
           {R"("content")", R"("poems")"},
           {R"("new")", R"("trending")"},
           {R"("eventType")", R"("x")"},
           {R"("https://a.example/1")", "1"},
           {R"("https://a.example/1")", R"("acct:a@a.example")"},
           {R"("objectUris")", R"("uris")"}}) {
    const auto said = parse_fasp_announcement(with(kAnnouncement, part, by), 3);
    ASSERT_FALSE(said) << by;
    EXPECT_EQ(said.error().code, ErrorCode::kInvalid) << by;
  }
}

class FaspAnswer : public testing::Test {
 protected:
  FaspAnswer() { signatures::sign_fasp_response(answer, key, "b2ks6vm8p23w", now); }
  bool genuine() {
    return signatures::check_fasp_response(answer, key.public_key(), now, std::chrono::minutes(5))
        .has_value();
  }

  const WallTime now{std::chrono::days(20'000)};
  const crypto::PrivateKey key = crypto::PrivateKey::ed25519_from_seed(std::string(32, 'k'));
  HttpResponse answer{.status = 201, .headers = {}, .body = "{}"};
};

TEST_F(FaspAnswer, IsGenuineAsItWasSigned) {
  EXPECT_TRUE(genuine());
  EXPECT_EQ(crypto::PublicKey::from_ed25519(key.public_key().ed25519())->pem(), key.public_key().pem());
}

TEST_F(FaspAnswer, IsRefusedOnceItWasChanged) {
  answer.status = 200;
  EXPECT_FALSE(genuine());
  answer.status = 201;
  answer.body = "{ }";
  EXPECT_FALSE(genuine());
}

TEST_F(FaspAnswer, IsRefusedIfUnsignedOldOrBySomebodyElse) {
  const auto other = crypto::PrivateKey::ed25519_from_seed(std::string(32, 'o')).public_key();
  EXPECT_FALSE(signatures::check_fasp_response(answer, other, now, std::chrono::minutes(5)));
  EXPECT_FALSE(signatures::check_fasp_response(answer, key.public_key(), now + std::chrono::minutes(6),
                                               std::chrono::minutes(5)));
  EXPECT_FALSE(signatures::check_fasp_response({.status = 201, .headers = {}, .body = "{}"}, key.public_key(),
                                               now, std::chrono::minutes(5)));
}

TEST_F(FaspAnswer, MustCoverStatusAndDigest) {
  for (const char* part : {"\"@status\" ", " \"content-digest\""}) {
    HttpResponse less = answer;
    less.headers.set("Signature-Input", with(*answer.headers.find("Signature-Input"), part, ""));
    EXPECT_FALSE(signatures::check_fasp_response(less, key.public_key(), now, std::chrono::minutes(5)));
  }
}

}  // namespace
}  // namespace tagring::fediverse
