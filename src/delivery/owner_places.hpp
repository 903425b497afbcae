// Where on the rings the posts that are owed to owners belong: of how many owners a hashtag has this node
// knows by hints only, and it learns better from their answers (paper §5.5, §7).
//
// Nothing is kept here but what is in the hints and in the rings' own tables.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "delivery/store.hpp"
#include "hashtag/tag.hpp"
#include "overlay/ring_service.hpp"
#include "redundancy/relay_hints.hpp"
#include "redundancy/storage_hints.hpp"
#include "ring/vserver.hpp"

namespace tagring::delivery {

class OwnerPlaces {
 public:
  OwnerPlaces(overlay::RingService& rings, redundancy::RelayHints& relays, redundancy::StorageHints& storage)
      : rings_(rings), relays_(relays), storage_(storage) {}

  // How many owners get each post.
  [[nodiscard]] unsigned copies(Ring ring) const;
  // How many partitions of the history get it, one after the other: a post one, a removal all in which the
  // post may be. 1 on the relay ring.
  [[nodiscard]] std::size_t steps(Ring ring, const TagEvent& event) const;
  // How many partitions there are to go to, one after the other, as long as owners say that they keep no such
  // one: for a post that where it belongs, and those where it would have been put before; for a removal as
  // many as steps().
  [[nodiscard]] std::size_t ways(Ring ring, const TagEvent& event) const;
  // The key of that copy, in that partition of ways(), or in the last. `tag_key`: of the event's hashtag.
  [[nodiscard]] RingId key(Ring ring, const TagEvent& event, const RingId& tag_key, unsigned copy,
                           std::size_t step) const;

  // As ring::Membership::find_owner.
  [[nodiscard]] Task<Result<ring::Owner>> find_owner(Ring ring, RingId key);
  // The same after a new look-up: the owner that was known has not answered, or says that it is another.
  [[nodiscard]] Task<Result<ring::Owner>> find_owner_anew(Ring ring, RingId key);
  [[nodiscard]] bool is_blocked_at(const std::string& origin) const { return rings_.is_blocked_at(origin); }

  // What relays were told by others of these tags, to be shown to the next.
  [[nodiscard]] std::vector<redundancy::OverloadToken> tokens(const std::set<Tag>& tags) const {
    return relays_.tokens(tags);
  }
  // The owner at that origin has answered something about these tags.
  void read_answer(Ring ring, const json::object& answer, const std::set<Tag>& tags,
                   const std::string& owner);
  // An owner has refused what belongs there by what is known.
  void doubt(Ring ring, const Tag& tag);

 private:
  [[nodiscard]] std::vector<unsigned> partitions_of(const TagEvent& event) const;

  overlay::RingService& rings_;
  redundancy::RelayHints& relays_;
  redundancy::StorageHints& storage_;
};

}  // namespace tagring::delivery
