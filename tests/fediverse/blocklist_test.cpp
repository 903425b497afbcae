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

TEST(Blocklist, ReadsTheListsOfMastodonsAndGoToSocialsApis) {
  EXPECT_THAT(domains(R"([{"domain":"a.example","digest":"x","severity":"suspend","comment":"why"},
                          {"domain":"b.example","severity":"silence"},
                          {"domain":"c.example","suspended_at":"2026-01-01","public_comment":"p"},"d.example",7])"),
              ElementsAre("a.example", "c.example", "d.example"));
}

TEST(Blocklist, AQuoteThatIsLeftOpenMakesNoDomainOfTheRestOfTheLine) {
  const Result<Blocklist> list = parse_blocklist("domain\n\"open.example,suspend\nb.example\n");
  ASSERT_TRUE(list);
  EXPECT_THAT(list->domains, ElementsAre(BlockedDomain{"b.example", ""}));
  EXPECT_THAT(list->skipped, ElementsAre("open.example,suspend: no domain"));
}

TEST(Blocklist, RefusesWhatIsNoList) {
  EXPECT_FALSE(parse_blocklist(""));
  EXPECT_FALSE(parse_blocklist("[]"));
  EXPECT_FALSE(parse_blocklist("[{]"));
  std::string endless;
  for (std::size_t i = 0; i <= kBlocklistMax; ++i) endless += "h" + std::to_string(i) + ".example\n";
  EXPECT_EQ(parse_blocklist(endless).error().code, ErrorCode::kTooLarge);
}

TEST(Blocklist, WritesWhatItReads) {
  const std::vector<BlockedDomain> list = {{"a.example", "says \"no\", twice"}, {"b.example", ""}};
  EXPECT_EQ(parse_blocklist(format_blocklist(list))->domains, list);
}

}  // namespace
}  // namespace tagring::fediverse
