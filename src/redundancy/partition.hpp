// Shelves: a store keeps the history of a hashtag in one piece, or, where it was divided among more owners
// (paper §7.2), each part as a shelf of its own. A shelf has a key on the ring as a hashtag has, so what is
// done with the history of keys (moving, comparing, weighing) is done with parts as well.
//
// Shelf `slot` of a hashtag has the key of the hashtag + slot · 2^256 / 256. It is written as the canonical
// hashtag, and, unless slot is 0, "/" and the number: "caturday", "caturday/32". No hashtag has a "/".
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/ring_id.hpp"

namespace tagring::redundancy {

inline constexpr unsigned kSlots = 256;

struct Partition {
  std::string tag;  // canonical
  unsigned slot = 0;

  [[nodiscard]] std::string name() const;
  // kInvalid if the number is none from 1 to 255, without leading zeros. The tag is not looked at.
  static Result<Partition> parse(std::string_view name);
};

// `tag_key`: of the shelf's hashtag.
inline RingId partition_key(const RingId& tag_key, unsigned slot) {
  return replica_key(tag_key, slot, kSlots);
}

}  // namespace tagring::redundancy
