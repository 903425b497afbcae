#include "db_history/history_codec.hpp"

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace tagring::db {
namespace {

const std::string kAuthor = "https://social.example/users/somebody";

void expect_round_trip(const std::string& uri, const std::string& author) {
  const db_history::SplitUri split = db_history::split_uri(uri, author);
  EXPECT_EQ(db_history::join_uri(author, split.form, split.tail), uri) << author;
}

TEST(HistoryCodec, KeepsWhatServersHaveInCommonOnce) {
  const db_history::SplitUri mastodon =
      db_history::split_uri(kAuthor + "/statuses/113512345678901234", kAuthor);
  EXPECT_EQ(mastodon.form, "=/statuses/");
  EXPECT_EQ(std::get<std::int64_t>(mastodon.tail), 113512345678901234);

  const db_history::SplitUri pleroma =
      db_history::split_uri("https://social.example/objects/0a1b2c3d-4e5f-4000-8000-0123456789ab", kAuthor);
  EXPECT_EQ(pleroma.form, "@/objects/");
  EXPECT_EQ(std::get<db_history::Uuid>(pleroma.tail).bytes.size(), 16U);

  const db_history::SplitUri misskey = db_history::split_uri("https://social.example/notes/9x8y7z", kAuthor);
  EXPECT_EQ(misskey.form, "@/notes/");
  EXPECT_EQ(std::get<std::string>(misskey.tail), "9x8y7z");

  EXPECT_EQ(db_history::split_uri("https://other.example/p/1", kAuthor).form, "!https://other.example/p/");
}

TEST(HistoryCodec, NumbersAndUuidsInAnotherSpellingStayText) {
  for (const std::string tail :
       {"007", "-0", "+1", "9223372036854775808", "1e3", " 1", "", "0A1B2C3D-4e5f-4000-8000-0123456789ab",
        "0a1b2c3d+4e5f-4000-8000-0123456789ab"}) {
    const std::string uri = kAuthor + "/statuses/" + tail;
    EXPECT_TRUE(std::holds_alternative<std::string>(db_history::split_uri(uri, kAuthor).tail)) << tail;
    expect_round_trip(uri, kAuthor);
  }
  for (const std::string tail : {"0", "9223372036854775807", "-5"})
    expect_round_trip(kAuthor + "/" + tail, kAuthor);
}

TEST(HistoryCodec, AnyPairOfTextsRoundTrips) {
  Rng rng(5);
  constexpr std::string_view kPieces[] = {"https://",
                                          "a.example",
                                          "/",
                                          ":",
                                          "users",
                                          "12",
                                          "0",
                                          "-",
                                          "@",
                                          "=",
                                          "!",
                                          "\xc3\xa9",
                                          "0a1b2c3d-4e5f-4000-8000-0123456789ab",
                                          "//"};
  const auto text = [&] {
    std::string made = rng.chance(0.5) ? "https://a.example" : "";
    for (std::uint64_t i = rng.below(8); i > 0; --i) made += kPieces[rng.below(std::size(kPieces))];
    return made;
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::string author = text();
    expect_round_trip(rng.chance(0.5) ? author + text() : text(), author);
  }
  expect_round_trip("https://a.example/" + std::string(2000, 'x') + "/1", "https://a.example/u");
}

}  // namespace
}  // namespace tagring::db
