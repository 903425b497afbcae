#include "hashtag/uri.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include "base/json.hpp"
#include "tests/source_dir.hpp"

namespace tagring {
namespace {

json::object vectors() {
  std::ifstream file(source_dir() / "docs/vectors/hashtag_uris.json");
  std::stringstream text;
  text << file.rdbuf();
  Result<json::object> parsed = json::parse_object(text.str());
  return parsed ? *std::move(parsed) : json::object{};
}

std::string text(const json::value& row, std::string_view field) {
  return json::get_string(row.as_object(), field).value();
}

TEST(HashtagUri, PublishedOnesNameTheirHashtagInOneForm) {
  const json::object file = vectors();
  const json::value* rows = json::find(file, "uris");
  ASSERT_NE(rows, nullptr);
  ASSERT_GE(rows->as_array().size(), 15U);
  for (const json::value& row : rows->as_array()) {
    EXPECT_TRUE(is_hashtag_uri(text(row, "uri")));
    const Result<Tag> tag = parse_hashtag_uri(text(row, "uri"));
    ASSERT_TRUE(tag) << text(row, "note") << ": " << tag.error().message;
    EXPECT_EQ(tag->canonical(), text(row, "tag")) << text(row, "note");
    EXPECT_EQ(hashtag_uri(*tag), text(row, "canonical")) << text(row, "note");
    EXPECT_EQ(parse_hashtag_uri(hashtag_uri(*tag))->canonical(), tag->canonical()) << text(row, "note");
  }
}

TEST(HashtagUri, PublishedOtherTextsAreRefusedWithAReason) {
  const json::object file = vectors();
  const json::value* rows = json::find(file, "rejected");
  ASSERT_NE(rows, nullptr);
  ASSERT_GE(rows->as_array().size(), 15U);
  for (const json::value& row : rows->as_array()) {
    const Result<Tag> tag = parse_hashtag_uri(text(row, "uri"));
    ASSERT_FALSE(tag) << text(row, "note") << ": " << tag->canonical();
    EXPECT_EQ(tag.error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(tag.error().message.contains(text(row, "reason")))
        << text(row, "note") << ": " << tag.error().message;
  }
}

}  // namespace
}  // namespace tagring
