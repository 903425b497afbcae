#include "server/gzip.hpp"

#define ZLIB_CONST
#include <algorithm>
#include <zlib.h>

#include "base/assert.hpp"
#include "base/bytes.hpp"

namespace tagring::server {
namespace {

constexpr std::size_t kWorthWhile = 1024;  // bytes; less is one packet anyway
constexpr int kLevel = 6;
constexpr int kGzipWindow = 15 + 16;  // 16: the format of gzip around it
constexpr int kMemory = 8;

std::string_view trim(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(" \t") + 1 - start);
}

}  // namespace

std::string gzip(std::string_view text) {
  z_stream stream{};
  TR_ASSERT(deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<const Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  TR_ASSERT(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
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
  if (response.headers.find("Content-Encoding")) return false;
  const std::string type = response.headers.find("Content-Type").value_or("");
  return type.starts_with("text/") || type.starts_with("application/json") || type.contains("+json") ||
         type.contains("+xml");
}

void compress(HttpResponse& response) {
  if (response.body.size() < kWorthWhile) return;
  response.body = gzip(response.body);
  response.headers.add("Content-Encoding", "gzip");
}

}  // namespace tagring::server
