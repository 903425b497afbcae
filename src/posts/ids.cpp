#include "posts/ids.hpp"

#include <algorithm>
#include <charconv>

#include "crypto/hash.hpp"

namespace tagring::posts {
namespace {

constexpr unsigned kHashBits = 20;
constexpr StatusId kTimeMax = (StatusId{1} << 43U) - 1;  // milliseconds; ids fit a signed number of 64 bits

}  // namespace

StatusId first_id_at(WallTime published) {
  const auto milliseconds = std::max<Duration::rep>(to_ms(published), 0);
  return std::min(static_cast<StatusId>(milliseconds), kTimeMax) << kHashBits;
}

StatusId status_id(WallTime published, std::string_view uri) {
  return first_id_at(published) | crypto::hash64(uri) >> (64U - kHashBits);
}

WallTime time_of(StatusId id) {
  return WallTime(Duration(static_cast<Duration::rep>(std::min(id >> kHashBits, kTimeMax))));
}

std::optional<StatusId> parse_status_id(std::string_view text) {
  StatusId id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return id;
}

std::string stable_id(std::string_view uri) {
  return std::to_string(crypto::hash64(uri) >> 1U);  // 63 bits: many clients have signed numbers only
}

std::string datetime(WallTime time) {
  std::string text = to_rfc3339(time);
  if (!text.contains('.')) text.insert(text.size() - 1, ".000");
  return text;
}

}  // namespace tagring::posts
