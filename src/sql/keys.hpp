// Keys and ring segments, as ranges of BLOBs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ring_id.hpp"

namespace tagring::sql {

// Big endian, so that BLOBs sort like keys.
std::string key_bytes(const RingId& key);

// Keys k with `after` < k <= `through`. The empty string is less than all keys.
struct KeyRange {
  std::string after;
  std::string through;
};

// The segment, or what is left of it clockwise after `place`, as ranges in clockwise order: two if it crosses
// zero, as the whole ring does. Nothing if `place` is not in the segment.
std::vector<KeyRange> key_ranges(const Segment& segment, const std::optional<RingId>& place);

}  // namespace tagring::sql
