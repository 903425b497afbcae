// Text forms of bytes, addresses, positions and times: what is read is written, and read again, as the same.
#include <chrono>

#include "base/bytes.hpp"
#include "base/ring_id.hpp"
#include "fuzz/target.hpp"
#include "http/ip.hpp"
#include "http/url.hpp"

namespace tagring::fuzzing {
namespace {

void check_bytes(std::string_view text) {
  TR_ASSERT(from_hex(to_hex(text)) == text);
  TR_ASSERT(from_base64(to_base64(text)) == text);
  TR_ASSERT(percent_decode(percent_encode(text)) == text);
  if (const auto bytes = from_hex(text)) TR_ASSERT(to_hex(*bytes) == ascii_lower(text));
  if (const auto bytes = from_base64(text)) TR_ASSERT(from_base64(to_base64(*bytes)) == bytes);
  TR_ASSERT(query_value("x=1&y=" + percent_encode(text) + "&z=2", "y") == text);
}

void check_address(std::string_view text) {
  const std::optional<IpAddress> address = IpAddress::parse(text);
  if (!address) return;
  TR_ASSERT(text.find('\0') == std::string_view::npos);
  TR_ASSERT(IpAddress::parse(address->text()) == address);
}

void check_times(std::string_view text) {
  // RFC 3339 has years of four digits; an offset may lead out of them.
  constexpr WallTime kFirst = std::chrono::sys_days(std::chrono::year(0) / 1 / 1);
  constexpr WallTime kEnd = std::chrono::sys_days(std::chrono::year(10'000) / 1 / 1);
  const std::optional<WallTime> time = from_rfc3339(text);
  if (time && *time >= kFirst && *time < kEnd) TR_ASSERT(from_rfc3339(to_rfc3339(*time)) == time);
  const std::optional<WallTime> date = from_http_date(text);
  if (date && *date < kEnd) TR_ASSERT(from_http_date(to_http_date(*date)) == date);
}

}  // namespace

void fuzz(std::string_view text) {
  check_bytes(text);
  check_address(text);
  check_times(text);
  if (const auto id = RingId::from_hex(text)) TR_ASSERT(id->hex() == ascii_lower(text));
}

}  // namespace tagring::fuzzing
