#include "server/gzip.hpp"

#define ZLIB_CONST
#include <gtest/gtest.h>
#include <zlib.h>

namespace tagring::net {
namespace {

std::string unpack(std::string_view packed, std::size_t size) {
  std::string out(size, '\0');
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<const Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

TEST(Gzip, GivesBackWhatItWasGiven) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i * 7919 % 10'007) + "猫";
  for (const std::string_view part :
       {std::string_view(text), std::string_view(text).substr(0, 1), std::string_view()}) {
    const std::string packed = server::gzip(part);
    EXPECT_EQ(unpack(packed, part.size() + 1), part);
  }
  EXPECT_LT(server::gzip(text).size(), text.size() / 2);
}

// As `printf hello | gzip -n | xxd` has its end: CRC 0x3610a686, five bytes.
TEST(Gzip, EndsWithChecksumAndSize) {
  const std::string packed = server::gzip("hello");
  EXPECT_EQ(packed.substr(packed.size() - 8), std::string("\x86\xa6\x10\x36\x05\0\0\0", 8));
}

TEST(Gzip, IsUsedForThoseWhoAskForIt) {
  for (const char* yes : {"gzip", "deflate, gzip, br", "GZIP;q=0.5", "br;q=1.0,gzip ; q=0.8"})
    EXPECT_TRUE(server::accepts_gzip(yes)) << yes;
  for (const char* no : {"", "br", "gzip;q=0", "gzip;q=0.0", "xgzip", "identity"})
    EXPECT_FALSE(server::accepts_gzip(no)) << no;
}

TEST(Gzip, IsWorthWhileForLongTextsOnly) {
  HttpResponse response{.status = 200,
                        .headers = {{"Content-Type", "text/html; charset=utf-8"}},
                        .body = std::string(5000, 'x')};
  EXPECT_TRUE(server::is_compressible(response));
  server::compress(response);
  EXPECT_FALSE(server::is_compressible(response));
  HttpResponse brief{.status = 200, .headers = {{"Content-Type", "text/html"}}, .body = "short"};
  EXPECT_TRUE(server::is_compressible(brief)) << "so that caches are told the same of every answer";
  server::compress(brief);
  EXPECT_EQ(brief.body, "short");
  EXPECT_FALSE(server::is_compressible(
      {.status = 200, .headers = {{"Content-Type", "image/png"}}, .body = std::string(5000, 'x')}));
}

}  // namespace
}  // namespace tagring::net
