#include "net/gzip.hpp"

#include <algorithm>
#include <array>
#include <boost/beast/zlib/deflate_stream.hpp>
#include <boost/crc.hpp>
#include <cstdint>

#include "base/assert.hpp"
#include "base/bytes.hpp"

namespace tagring::net {
namespace {

namespace zlib = boost::beast::zlib;

constexpr std::size_t kWorthWhile = 1024;  // octets; less is one packet anyway
constexpr int kLevel = 6;
constexpr int kWindowBits = 15;
constexpr int kMemory = 8;

void append_number(std::string& out, std::uint32_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift & 0xFFU));
}

std::string_view trim(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(" \t") + 1 - start);
}

}  // namespace

std::string gzip(std::string_view text) {
  // Deflate, no name, no time, from an unknown system.
  constexpr std::array<unsigned char, 10> kHead = {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF};
  std::string out(kHead.begin(), kHead.end());
  zlib::deflate_stream stream;
  stream.reset(kLevel, kWindowBits, kMemory, zlib::Strategy::normal);
  out.resize(kHead.size() + stream.upper_bound(text.size()));
  zlib::z_params params;
  params.next_in = text.data();
  params.avail_in = text.size();
  params.next_out = out.data() + kHead.size();
  params.avail_out = out.size() - kHead.size();
  boost::system::error_code error;
  stream.write(params, zlib::Flush::finish, error);
  TR_ASSERT(error == zlib::error::end_of_stream && params.avail_in == 0);
  out.resize(kHead.size() + params.total_out);
  boost::crc_32_type crc;
  crc.process_bytes(text.data(), text.size());
  append_number(out, crc.checksum());
  append_number(out, static_cast<std::uint32_t>(text.size()));
  return out;
}

bool accepts_gzip(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    const std::size_t end = std::min(accept_encoding.find(','), accept_encoding.size());
    const std::string_view item = accept_encoding.substr(0, end);
    accept_encoding.remove_prefix(std::min(end + 1, accept_encoding.size()));
    const std::size_t name_end = std::min(item.find(';'), item.size());
    if (!ascii_iequals(trim(item.substr(0, name_end)), "gzip")) continue;
    const std::string_view quality = trim(item.substr(std::min(name_end + 1, item.size())));
    return quality.empty() || quality.find_first_of("123456789") != std::string_view::npos;
  }
  return false;
}

bool is_compressible(const HttpResponse& response) {
  if (response.body.size() < kWorthWhile || response.headers.find("Content-Encoding")) return false;
  const std::string type = response.headers.find("Content-Type").value_or("");
  return type.starts_with("text/") || type.starts_with("application/json") || type.contains("+json") ||
         type.contains("+xml");
}

void compress(HttpResponse& response) {
  response.body = gzip(response.body);
  response.headers.add("Content-Encoding", "gzip");
  response.headers.add("Vary", "Accept-Encoding");
}

}  // namespace tagring::net
