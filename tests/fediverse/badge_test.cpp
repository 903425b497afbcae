#include "fediverse/badge.hpp"

#include <gtest/gtest.h>
#define ZLIB_CONST
#include <set>
#include <string_view>
#include <zlib.h>

#include "hashtag/tag.hpp"

namespace tagring::fediverse {
namespace {

unsigned number(std::string_view text) {
  unsigned value = 0;
  for (const char c : text.substr(0, 4)) value = value << 8U | static_cast<unsigned char>(c);
  return value;
}

// The pixels, as places in the palette, or empty if the file is not sound.
std::string pixels(std::string_view png, unsigned width, unsigned height) {
  EXPECT_EQ(png.substr(0, 8), std::string_view("\x89PNG\r\n\x1a\n"));
  png.remove_prefix(8);
  std::string packed;
  std::string order;
  while (png.size() >= 12) {
    const unsigned size = number(png);
    const std::string_view named = png.substr(4, size + 4);
    EXPECT_EQ(number(png.substr(8 + size)), crc32(0, reinterpret_cast<const Bytef*>(named.data()), size + 4));
    order += std::string(named.substr(0, 4)) + " ";
    if (named.starts_with("IHDR")) {
      EXPECT_EQ(number(named.substr(4)), width);
      EXPECT_EQ(number(named.substr(8)), height);
    }
    if (named.starts_with("IDAT")) packed += named.substr(4);
    png.remove_prefix(size + 12);
  }
  EXPECT_EQ(order, "IHDR PLTE IDAT IEND ");
  EXPECT_TRUE(png.empty());
  std::string rows((width + 1) * height, '\0');
  uLongf length = rows.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(rows.data()), &length,
                       reinterpret_cast<const Bytef*>(packed.data()), packed.size()),
            Z_OK);
  EXPECT_EQ(length, rows.size());
  std::string found;
  for (unsigned y = 0; y < height; ++y) {
    EXPECT_EQ(rows[y * (width + 1)], 0);
    found += rows.substr(y * (width + 1) + 1, width);
  }
  return found;
}

TEST(Badge, IsAHashSignInWhite) {
  const std::string icon = pixels(make_icon(0), 256, 256);
  const auto at = [&](unsigned x, unsigned y) { return static_cast<int>(icon.at(y * 256 + x)); };
  EXPECT_EQ(at(2, 2), 0) << "the corner is background";
  EXPECT_EQ(at(128, 128), 0) << "and so is the middle";
  EXPECT_EQ(at(128, 102), 15) << "the upper bar";
  EXPECT_EQ(at(128, 154), 15) << "the lower bar";
  EXPECT_EQ(at(102, 128), 15);
  EXPECT_EQ(at(154, 128), 15);
  EXPECT_LT(make_icon(0).size(), 8'000U);
}

TEST(Badge, HeaderIsThreeTimesAsWideAsHigh) {
  const std::string header = pixels(make_header(1), 1200, 400);
  std::set<char> shades(header.begin(), header.end());
  EXPECT_GT(shades.size(), 1U);
  EXPECT_LT(*shades.rbegin(), 4) << "faint";
}

TEST(Badge, HashtagsHaveColoursOfTheirOwn) {
  std::set<std::string> icons;
  for (std::size_t i = 0; i < kColours; ++i) icons.insert(make_icon(i));
  EXPECT_EQ(icons.size(), kColours);
  std::set<std::size_t> colours;
  for (const char* tag : {"cats", "dogs", "birds", "owl", "hedgehog", "caturday", "silentsunday",
                          "photography", "music", "art"}) {
    const std::size_t colour = colour_of(Tag::parse(tag)->key());
    EXPECT_EQ(colour, colour_of(Tag::parse(std::string("#") + tag)->key()));
    EXPECT_LT(colour, kColours);
    colours.insert(colour);
  }
  EXPECT_GT(colours.size(), 2U);
}

}  // namespace
}  // namespace tagring::fediverse
