#include "delivery/owner_places.hpp"

#include <algorithm>

#include "redundancy/relay_place.hpp"
#include "redundancy/storage_place.hpp"

namespace tagring::delivery {

unsigned OwnerPlaces::copies(Ring ring) const {
  return ring == Ring::kRelay ? relays_.copies() : storage_.copies();
}

std::vector<unsigned> OwnerPlaces::partitions_of(const TagEvent& event) const {
  const redundancy::StorageSet set = storage_.known(event.tag);
  const bool is_add = event.op == Op::kAdd;
  std::vector<unsigned> partitions = redundancy::partitions_of_post(
      event.uri, storage_.copies(), storage_.at_rest(), is_add ? set.replicas : set.read_factor);
  if (is_add) std::ranges::reverse(partitions);
  return partitions;
}

std::size_t OwnerPlaces::steps(Ring ring, const TagEvent& event) const {
  return ring == Ring::kRelay || event.op == Op::kAdd ? 1 : partitions_of(event).size();
}

std::size_t OwnerPlaces::ways(Ring ring, const TagEvent& event) const {
  return ring == Ring::kRelay ? 1 : partitions_of(event).size();
}

RingId OwnerPlaces::key(Ring ring, const TagEvent& event, const RingId& tag_key, unsigned copy,
                        std::size_t step) const {
  if (ring == Ring::kStorage) {
    const std::vector<unsigned> partitions = partitions_of(event);
    const unsigned partition = partitions[std::min(step, partitions.size() - 1)];
    return replica_key(redundancy::partition_key(tag_key, partition), copy, storage_.copies());
  }
  const unsigned relays = relays_.of(event.tag);
  return replica_key(tag_key, redundancy::relay_of_post(event.uri, copy, relays_.copies(), relays), relays);
}

Task<Result<ring::Owner>> OwnerPlaces::find_owner(Ring ring, RingId key) {
  return rings_.of(ring).find_owner(key);
}

Task<Result<ring::Owner>> OwnerPlaces::find_owner_anew(Ring ring, RingId key) {
  rings_.of(ring).forget_route(key);
  return rings_.of(ring).find_owner(key);
}

void OwnerPlaces::read_answer(Ring ring, const json::object& answer, const std::set<Tag>& tags,
                              const std::string& owner) {
  if (ring == Ring::kRelay) {
    relays_.read_answer(answer, tags);
  } else {
    storage_.read_answer(answer, tags, owner);
  }
}

void OwnerPlaces::doubt(Ring ring, const Tag& tag) {
  if (ring == Ring::kStorage) storage_.doubt(tag);
}

}  // namespace tagring::delivery
