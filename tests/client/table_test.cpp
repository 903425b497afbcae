#include "client/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/terminal.hpp"

namespace tagring::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const json::array kRows = {
    {{"host", "social.example"}, {"posts", 7}, {"note", "ﬁrst of all, the café is closed"}},
    {{"host", "a.example"}, {"posts", 1234}, {"note", nullptr}}};

TEST(Table, IsWholeWhereNoWidthIsGiven) {
  EXPECT_EQ(table_of(kRows, std::nullopt),
            "host            posts  note\n"
            "social.example      7  ﬁrst of all, the café is closed\n"
            "a.example        1234\n");
  EXPECT_EQ(table_of({}, 80), "");
}

TEST(Table, GoesOnBelow) {
  EXPECT_EQ(table_of(kRows, 36),
            "host            posts  note\n"
            "social.example      7  ﬁrst of all,\n"
            "                       the café is\n"
            "                       closed\n"
            "a.example        1234\n");
}

TEST(Table, LeavesWordsWholeWhereTheyHaveJustRoom) {
  EXPECT_EQ(table_of(kRows, 29),
            "host            posts  note\n"
            "social.example      7  ﬁrst\n"
            "                       of\n"
            "                       all,\n"
            "                       the\n"
            "                       café\n"
            "                       is\n"
            "                       closed\n"
            "a.example        1234\n");
}

TEST(Table, HasRowsApartWhereTheirWordsHaveNoRoomBesideEachOther) {
  EXPECT_EQ(table_of(kRows, 28),
            "host   social.example\n"
            "posts  7\n"
            "note   ﬁrst of all, the café\n"
            "       is closed\n"
            "\n"
            "host   a.example\n"
            "posts  1234\n");
  EXPECT_EQ(table_of({{{"host", "very.long.example"}, {"posts", 7}}}, 19),
            "host\n"
            "  very.long.example\n"
            "posts  7\n")
      << "a word that has no room behind the name";
}

TEST(Table, ObeysNothingThatIsInIt) {
  EXPECT_THAT(table_of({{{"note", "a\nb\x1B[2J"}}}, std::nullopt), Not(HasSubstr("\x1B")));
  EXPECT_EQ(table_of({{{"note", "a\nb"}}}, 80), "note\na b\n");
}

TEST(Wrapped, KeepsItsDistanceFromTheEdge) {
  EXPECT_EQ(cli::wrapped("ab cd ef", 3, 8), "ab cd\n   ef");
  EXPECT_EQ(cli::wrapped("äb çd ef", 3, 8), "äb çd\n   ef");
  EXPECT_EQ(cli::wrapped("ab cd", 3, 8), "ab cd");
  EXPECT_EQ(cli::wrapped("ab cd ef", 3, std::nullopt), "ab cd ef");
}

TEST(Wrapped, LeavesWordsWhole) {
  EXPECT_EQ(cli::wrapped("see https://a.example/1 or", 2, 10), "see\n  https://a.example/1\n  or");
  EXPECT_EQ(cli::wrapped("https://a.example/1", 0, 4), "https://a.example/1");
  EXPECT_EQ(cli::wrapped("a b", 9, 4), "a\n         b");
}

}  // namespace
}  // namespace tagring::client
