#include "redundancy/storage_place.hpp"

#include "base/assert.hpp"

namespace tagring::redundancy {

unsigned partition_of_post(std::string_view uri, unsigned copies, unsigned replicas) {
  TR_ASSERT(copies >= 1 && copies <= replicas && is_relay_count(replicas));
  return interval_of_post(uri, replicas / copies) * (kPartitionsMax / replicas);
}

std::vector<unsigned> partitions_of_post(std::string_view uri, unsigned copies, unsigned at_rest,
                                         unsigned read_factor) {
  std::vector<unsigned> partitions;
  for (unsigned replicas = at_rest; replicas <= read_factor; replicas *= 2) {
    const unsigned number = partition_of_post(uri, copies, replicas);
    if (partitions.empty() || partitions.back() != number) partitions.push_back(number);
  }
  return partitions;
}

bool may_be_in_partition(std::string_view uri, unsigned number, unsigned copies) {
  if (number == 0) return true;
  return std::ranges::binary_search(partitions_of_post(uri, copies, copies, kPartitionsMax), number);
}

std::vector<unsigned> partitions_of_set(unsigned copies, unsigned replicas) {
  TR_ASSERT(copies >= 1 && copies <= replicas && is_relay_count(replicas));
  std::vector<unsigned> partitions;
  for (unsigned part = 0; part < replicas / copies; ++part)
    partitions.push_back(part * (kPartitionsMax / replicas));
  return partitions;
}

}  // namespace tagring::redundancy
