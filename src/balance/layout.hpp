// How many copies of hashtags stand together, as far as one node knows the ring. The copies of a hashtag are
// equidistant (base/ring_id.hpp), so that two of them are on one node if and only if its segments, laid over
// each other at that distance, overlap.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ring_id.hpp"

namespace tagring::balance {

// Whose a vserver is: numbers that only tell whether two are the same.
struct Identity {
  std::uint64_t node = 0;
  std::uint64_t network = 0;  // /48
  std::uint64_t domain = 0;   // registered
};

struct Owned {
  Segment keys;
  Identity by;
};

struct Layout {
  unsigned copies = 1;  // of a hashtag
  Identity self;
  std::vector<Owned> known;  // vservers, this node's own among them

  // So many copies of a hashtag, on average over all hashtags, stand on this node beside another one of it.
  [[nodiscard]] double together_here() const;
  [[nodiscard]] std::size_t nodes() const;  // different ones

  // If this node gives up the vserver at `from` and takes a place at `to`.
  [[nodiscard]] Layout moved(const RingId& from, const RingId& to) const;
  struct Change {
    // So many fewer stand together on one node, whosever it is, and again in one network, and in one domain.
    double parted = 0;
    double carried = 0;  // of how many copies that takes
  };
  [[nodiscard]] Change change(const RingId& from, const RingId& to) const;
};

// The part of all hashtags of which a copy is in these keys; more than 1 if there are several of each.
double part_of_hashtags(const Segment& keys, unsigned copies);

}  // namespace tagring::balance
