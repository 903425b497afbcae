#include "sql/keys.hpp"

namespace tagring::sql {

std::string key_bytes(const RingId& key) {
  const auto bytes = key.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<KeyRange> key_ranges(const Segment& segment, const std::optional<RingId>& place) {
  if (place && !segment.contains(*place)) return {};
  const std::string start = key_bytes(place.value_or(segment.from));
  const std::string end = key_bytes(segment.to);
  const bool crosses_zero = segment.from >= segment.to;
  // A place that is not above `from` lies behind zero already.
  if (!crosses_zero || (place && *place <= segment.from)) return {{start, end}};
  return {{start, std::string(32, '\xff')}, {"", end}};
}

}  // namespace tagring::sql
