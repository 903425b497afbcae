// Where on the storage ring the posts of a hashtag are kept (paper §7.2; docs/protocol.md, "Storage sets").
//
// A hashtag has R storage owners, at the R equidistant positions of its key; R is a power of two, and doubles
// when an owner cannot bear its part. Each post is kept by `copies` of them; so there are P = R / copies
// partitions, of which each has an interval of the hashes of the posts' URIs, and replica i has partition
// i mod P. A doubling splits every interval in the middle: the lower half stays where it was.
//
// The replicas of one partition are 2^256 / copies apart, as those of any key are. So a partition is a key of
// its own: that of partition p · 256 / R (redundancy/partition.hpp), at which it is found whatever R becomes.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "redundancy/partition.hpp"
#include "redundancy/relay_place.hpp"

namespace tagring::redundancy {

// Copies of each post, in a network with so many storage owners at rest: 1 for 1, 2 for 2, else 4. So
// P = max(1, R / 4) in networks that keep four or more.
inline unsigned copies_in_storage(unsigned at_rest) { return std::min(4U, at_rest); }

// The partition of a post when the hashtag has so many replicas.
unsigned partition_of_post(std::string_view uri, unsigned copies, unsigned replicas);

// All partitions in which it may be, since the hashtag had `at_rest` replicas, and up to `read_factor`:
// ascending.
std::vector<unsigned> partitions_of_post(std::string_view uri, unsigned copies, unsigned at_rest,
                                         unsigned read_factor);

// Whether it may be in that partition, whatever number of replicas the hashtag has or had.
bool may_be_in_partition(std::string_view uri, unsigned number, unsigned copies);

// The partitions of a set: ascending. Those of fewer replicas are among them.
std::vector<unsigned> partitions_of_set(unsigned copies, unsigned replicas);

// The partition that is taken up by that one when a set of twice so many replicas is halved, or that is split
// off when a set of so many is doubled.
inline unsigned sibling_of_partition(unsigned partition, unsigned replicas) {
  return partition + kPartitionsMax / (2 * replicas);
}

}  // namespace tagring::redundancy
