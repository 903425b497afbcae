// Partitions: a store keeps the history of a hashtag in one piece, or, where it was divided among more owners
// (paper §7.2), in parts. A partition has a key on the ring as a hashtag has, so what is done with the
// history of keys (moving, comparing, weighing) is done with partitions as well.
//
// Partition n of a hashtag has the key of the hashtag + n · 2^256 / 256. It is written as the canonical
// hashtag, and, unless n is 0, "/" and the number: "caturday", "caturday/32". No hashtag has a "/". On the
// wire a partition is a "shelf", and its number "slot".
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "base/ring_id.hpp"
#include "hashtag/tag.hpp"

namespace tagring::redundancy {

inline constexpr unsigned kPartitionsMax = 256;

// `tag_key`: of the partition's hashtag.
inline RingId partition_key(const RingId& tag_key, unsigned number) {
  return replica_key(tag_key, number, kPartitionsMax);
}

struct Partition {
  Tag tag;
  unsigned number = 0;

  // A hashtag is its own partition 0.
  Partition(Tag of_tag, unsigned part = 0) : tag(std::move(of_tag)), number(part) {}  // NOLINT

  [[nodiscard]] std::string name() const;
  [[nodiscard]] RingId key() const { return partition_key(tag.key(), number); }
  // kInvalid if the hashtag is not in canonical form, or the number none from 1 to 255 without leading zeros.
  static Result<Partition> parse(std::string_view name);
  // From what name() gave before, of this node's own database. Nothing is checked.
  static Partition from_name(std::string_view name);

  friend auto operator<=>(const Partition&, const Partition&) = default;
};

}  // namespace tagring::redundancy
