#include "net/gzip.hpp"

#include <boost/beast/zlib/inflate_stream.hpp>
#include <gtest/gtest.h>

namespace tagring::net {
namespace {

std::string inflate(std::string_view packed, std::size_t size) {
  namespace zlib = boost::beast::zlib;
  std::string out(size, '\0');
  zlib::inflate_stream stream;
  zlib::z_params params;
  params.next_in = packed.data() + 10;
  params.avail_in = packed.size() - 18;
  params.next_out = out.data();
  params.avail_out = out.size();
  boost::system::error_code error;
  stream.write(params, zlib::Flush::finish, error);
  EXPECT_EQ(error, zlib::error::end_of_stream);
  out.resize(params.total_out);
  return out;
}

TEST(Gzip, GivesBackWhatItWasGiven) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i * 7919 % 10'007) + "猫";
  for (const std::string_view part :
       {std::string_view(text), std::string_view(text).substr(0, 1), std::string_view()}) {
    const std::string packed = gzip(part);
    EXPECT_EQ(inflate(packed, part.size() + 1), part);
  }
  EXPECT_LT(gzip(text).size(), text.size() / 2);
}

// As `printf hello | gzip -n | xxd` has its end: CRC 0x3610a686, five octets.
TEST(Gzip, EndsWithChecksumAndSize) {
  const std::string packed = gzip("hello");
  EXPECT_EQ(packed.substr(packed.size() - 8), std::string("\x86\xa6\x10\x36\x05\0\0\0", 8));
}

TEST(Gzip, IsUsedForThoseWhoAskForIt) {
  for (const char* yes : {"gzip", "deflate, gzip, br", "GZIP;q=0.5", "br;q=1.0,gzip ; q=0.8"})
    EXPECT_TRUE(accepts_gzip(yes)) << yes;
  for (const char* no : {"", "br", "gzip;q=0", "gzip;q=0.0", "xgzip", "identity"})
    EXPECT_FALSE(accepts_gzip(no)) << no;
}

TEST(Gzip, IsWorthWhileForLongTextsOnly) {
  HttpResponse response{.status = 200,
                        .headers = {{"Content-Type", "text/html; charset=utf-8"}},
                        .body = std::string(5000, 'x')};
  EXPECT_TRUE(is_compressible(response));
  compress(response);
  EXPECT_FALSE(is_compressible(response));
  EXPECT_FALSE(is_compressible({.status = 200, .headers = {{"Content-Type", "text/html"}}, .body = "short"}));
  EXPECT_FALSE(is_compressible(
      {.status = 200, .headers = {{"Content-Type", "image/png"}}, .body = std::string(5000, 'x')}));
}

}  // namespace
}  // namespace tagring::net
