#include "redundancy/storage_place.hpp"

#include "base/assert.hpp"

namespace tagring::redundancy {

unsigned slot_of_post(std::string_view uri, unsigned copies, unsigned replicas) {
  TR_ASSERT(copies >= 1 && copies <= replicas && is_relay_count(replicas));
  return interval_of_post(uri, replicas / copies) * (kSlots / replicas);
}

std::vector<unsigned> slots_of_post(std::string_view uri, unsigned copies, unsigned at_rest, unsigned reach) {
  std::vector<unsigned> slots;
  for (unsigned replicas = at_rest; replicas <= reach; replicas *= 2) {
    const unsigned slot = slot_of_post(uri, copies, replicas);
    if (slots.empty() || slots.back() != slot) slots.push_back(slot);
  }
  return slots;
}

std::vector<unsigned> slots_of_set(unsigned copies, unsigned replicas) {
  TR_ASSERT(copies >= 1 && copies <= replicas && is_relay_count(replicas));
  std::vector<unsigned> slots;
  for (unsigned part = 0; part < replicas / copies; ++part) slots.push_back(part * (kSlots / replicas));
  return slots;
}

}  // namespace tagring::redundancy
