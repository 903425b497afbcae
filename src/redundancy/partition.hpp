// Partitions: a store keeps the history of a hashtag in one piece, or, where it was divided among more owners
// (paper §7.2), in parts. A partition has a key on the ring as a hashtag has, so what is done with the
// history of keys (moving, comparing, weighing) is done with partitions as well.
//
// Partition n of a hashtag has the key of the hashtag + n · 2^256 / 256. It is written as the canonical
// hashtag, and, unless n is 0, "/" and the number: "caturday", "caturday/32". No hashtag has a "/". On the
// wire its number is "slot".
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/ring_id.hpp"

namespace tagring::redundancy {

inline constexpr unsigned kPartitionsMax = 256;

struct Partition {
  std::string tag;  // canonical
  unsigned number = 0;

  [[nodiscard]] std::string name() const;
  // kInvalid if the number is none from 1 to 255, without leading zeros. The tag is not looked at.
  static Result<Partition> parse(std::string_view name);
};

// `tag_key`: of the partition's hashtag.
inline RingId partition_key(const RingId& tag_key, unsigned number) {
  return replica_key(tag_key, number, kPartitionsMax);
}

}  // namespace tagring::redundancy
