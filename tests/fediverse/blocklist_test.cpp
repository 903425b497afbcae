#include "fediverse/blocklist.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tagring::fediverse {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> domains(std::string_view text) {
  const Result<Blocklist> list = parse_blocklist(text);
  EXPECT_TRUE(list) << list.error().message;
  std::vector<std::string> names;
  if (list) {
    for (const BlockedDomain& blocked : list->domains) names.push_back(blocked.domain);
  }
  return names;
}

TEST(Blocklist, ReadsMastodonsCsv) {
  const Result<Blocklist> list = parse_blocklist(
      "#domain,#severity,#reject_media,#reject_reports,#public_comment,#obfuscate\r\n"
      "Bad.Example,suspend,true,true,\"spam, \"\"and\"\" worse\",false\r\n"
      "loud.example,silence,false,false,,false\r\n"
      "mas*ed.example,suspend,false,false,,true\r\n"
      "not a domain,suspend,false,false,,false\r\n");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_THAT(list->domains, ElementsAre(BlockedDomain{"bad.example", "spam, \"and\" worse"}));
  EXPECT_THAT(list->skipped,
              ElementsAre("loud.example: severity is silence", "mas*ed.example: the name is obfuscated",
                          "not a domain: no domain"));
}

TEST(Blocklist, ReadsPlainTextWithOneDomainALine) {
  EXPECT_THAT(domains("\xEF\xBB\xBF# my list\nb.example\n\n a.example \nb.example\n"),
              ElementsAre("a.example", "b.example"));
}

TEST(Blocklist, ReadsStarsForAllThatIsBelowAndCommentsBesideADomain) {
  EXPECT_THAT(domains("*.a.example\nb.example # why, and more\nc.example\t# why\n*.com\n"),
              ElementsAre("a.example", "b.example", "c.example"));
}

TEST(Blocklist, ReadsTheListsOfMastodonsAndGoToSocialsApis) {
  EXPECT_THAT(domains(R"([{"domain":"a.example","digest":"x","severity":"suspend","comment":"why"},
                          {"domain":"b.example","severity":"silence"},
                          {"domain":"c.example","suspended_at":"2026-01-01","public_comment":"p"},"d.example",7])"),
              ElementsAre("a.example", "c.example", "d.example"));
}

TEST(Blocklist, ALineOfACommentIsNoDomain) {
  const Result<Blocklist> list = parse_blocklist(
      "#domain,#severity,#public_comment,#obfuscate\r\n"
      "a.example,suspend,\"one\r\ninnocent.example\r\n\r\n\"\"three\"\"\",false\r\n"
      "\"b.example\",\"suspend\",\"\",false\n"
      "c.example,suspend,it's 5\" long,false");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_THAT(list->domains,
              ElementsAre(BlockedDomain{"a.example", "one\r\ninnocent.example\r\n\r\n\"three\""},
                          BlockedDomain{"b.example", ""}, BlockedDomain{"c.example", "it's 5\" long"}));
  EXPECT_THAT(list->skipped, ElementsAre());
}

TEST(Blocklist, AQuoteThatIsLeftOpenIsAnError) {
  for (const char* text :
       {"domain\n\"open.example,suspend\nb.example\n",
        "#domain,#severity,#public_comment\na.example,suspend,\"cut o", "\"", "a.example\n\"\"\""}) {
    const Result<Blocklist> list = parse_blocklist(text);
    ASSERT_FALSE(list) << text;
    EXPECT_EQ(list.error().message, "a quote is not closed; the list may be cut off");
  }
}

TEST(Blocklist, ALineOfACommentIsNoDomainThoughABlankStandsBeforeTheQuote) {
  EXPECT_THAT(
      domains("#domain,#severity,#public_comment\nff-a.example,suspend, \"one\nmasto.example\nthree\"\n"),
      ElementsAre("ff-a.example"));
}

TEST(Blocklist, WhatDoesNotSayItsSeverityWhereOthersDoIsPassedOver) {
  for (const char* text :
       {"domain,severity\nquiet.example\nbad.example,suspend\n",
        R"([{"domain":"quiet.example","severity":7},{"domain":"bad.example","severity":"suspend"}])",
        R"([{"domain":"quiet.example","severity":null},{"domain":"bad.example"}])"}) {
    const Result<Blocklist> list = parse_blocklist(text);
    ASSERT_TRUE(list) << text;
    EXPECT_THAT(list->domains, ElementsAre(BlockedDomain{"bad.example", ""})) << text;
    EXPECT_THAT(list->skipped, ElementsAre(testing::StartsWith("quiet.example: its severity"))) << text;
  }
}

TEST(Blocklist, ReadsDomainsHoweverTheyAreWritten) {
  EXPECT_THAT(
      domains(
          "UPPER.Example.\nhttps://url.example/\nB\u00fccher.example\n\"quoted.example\"\n# \"no.example"),
      ElementsAre("quoted.example", "upper.example", "url.example", "xn--bcher-kva.example"));
  EXPECT_THAT(domains("a.example/path\nhttps://b.example/path\nxn--\u00fc.example\n.example\ngood.example"),
              ElementsAre("good.example"));
}

TEST(Blocklist, ReadsOtherSeparatorsAndSeveritiesInCapitals) {
  for (const char* text :
       {"domain;severity;public_comment\na.example;Suspend;x,y\nb.example;SILENCE;\n",
        "#domain\t#severity\t#public_comment\na.example\tSUSPEND\tx,y\nb.example\tsilence\t\n"}) {
    const Result<Blocklist> list = parse_blocklist(text);
    ASSERT_TRUE(list) << list.error().message;
    EXPECT_THAT(list->domains, ElementsAre(BlockedDomain{"a.example", "x,y"})) << text;
    EXPECT_EQ(list->skipped.size(), 1U);
  }
}

TEST(Blocklist, ASilenceIsNoSuspensionWhateverStandsAboveIt) {
  for (const char* above :
       {"# my list\n#domain,#severity,#public_comment\n", "\n# a\n\n# b, c\n\"domain\",\"severity\"\n",
        "\"#domain\",\"#severity\"\n", "# domain, severity\n", "# mine\n", ""}) {
    const Result<Blocklist> list =
        parse_blocklist(above + std::string("bad.example,suspend\nloud.example,silence\n"));
    ASSERT_TRUE(list) << above;
    EXPECT_THAT(list->domains, ElementsAre(BlockedDomain{"bad.example", ""})) << above;
    EXPECT_THAT(list->skipped, ElementsAre("loud.example: severity is silence")) << above;
  }
  EXPECT_THAT(domains("domain,public_comment\na.example,silence\n"), ElementsAre("a.example"));
}

TEST(Blocklist, RefusesWhatIsNoList) {
  EXPECT_FALSE(parse_blocklist(""));
  EXPECT_FALSE(parse_blocklist("[]"));
  EXPECT_FALSE(parse_blocklist("[{]"));
  std::string endless;
  for (std::size_t i = 0; i <= kBlocklistMax; ++i) endless += "h" + std::to_string(i) + ".example\n";
  EXPECT_EQ(parse_blocklist(endless).error().code, ErrorCode::kTooLarge);
}

// Or what was on the list would be unblocked.
TEST(Blocklist, APageInPlaceOfAListIsNoList) {
  for (const char* text : {"<html>not found</html>", R"({"error":"The access token is invalid"})",
                           "<html>\n<meta content=\"width=1, initial-scale=1\">\n/* a.b, c */\n<a "
                           "href=\"https://a.example/x\">\n</html>",
                           R"([{"error":"x"}])", "Service Unavailable\n"})
    EXPECT_FALSE(parse_blocklist(text)) << text;
  // It is one that has no suspensions any more.
  EXPECT_TRUE(parse_blocklist("#domain,#severity\nloud.example,silence\n"));
  EXPECT_TRUE(parse_blocklist("ma*k.example\n"));
}

TEST(Blocklist, ReasonsMayHaveQuotesAndLinesInThem) {
  const std::vector<BlockedDomain> list = {{"a.example", "says \"no\", twice\nand again"}, {"b.example", ""}};
  EXPECT_EQ(parse_blocklist("#domain,#severity,#public_comment\n"
                            "a.example,suspend,\"says \"\"no\"\", twice\nand again\"\n"
                            "b.example,suspend,\"\"\n")
                ->domains,
            list);
}

}  // namespace
}  // namespace tagring::fediverse
