// The relay role (paper §5.5): takes posts of the hashtags whose keys this node owns on the relay ring, once
// each, and passes them on to subscribers and to the storage owners.
#pragma once

#include <string>
#include <vector>

#include "belief/post_checker.hpp"
#include "delivery/feed.hpp"
#include "overlay/ring_service.hpp"
#include "redundancy/overload_token.hpp"
#include "redundancy/storage_hints.hpp"
#include "relay/relay_redundancy.hpp"

namespace tagring::relay {

class RelayOwner final : public belief::PostChecker::Owner {
 public:
  RelayOwner(overlay::RingService& rings, RelayRedundancy& redundancy, const redundancy::RelayHints& relays,
             const redundancy::StorageHints& storage, belief::PostChecker& checker, delivery::Feed& feed)
      : rings_(rings),
        redundancy_(redundancy),
        relays_(relays),
        storage_(storage),
        checker_(checker),
        feed_(feed) {}

  // Takes events of tags this node serves, from the node with that origin, who is believed about posts of its
  // own host; others are checked at their origin. `tokens` that the sender shows may make this node a relay
  // before. kUnavailable for what is too much. What was not refused is on disk.
  [[nodiscard]] Task<Result<std::vector<delivery::Refusal>>> take(
      std::vector<delivery::TagEvent> events, std::string sender,
      std::vector<redundancy::OverloadToken> tokens);
  // kNotOwner or kBusy unless this node serves a replica of the tag.
  [[nodiscard]] Result<void> check_serving(const Tag& tag) const;
  // Copies that are owed to storage owners of what is relayed here.
  [[nodiscard]] unsigned stored_copies() const { return storage_.copies(); }
  [[nodiscard]] std::uint64_t relayed() const { return relayed_; }  // events, first time

  // --- belief::PostChecker::Owner ---
  [[nodiscard]] Result<void> check_place(const delivery::TagEvent& event) const override;
  [[nodiscard]] Task<redundancy::RelayHalves> witness(Tag tag, std::string sender,
                                                      std::optional<redundancy::RelayClaim> claim) override;
  void mistaken_for_owner(const Tag& tag, const std::string& host) override { redundancy_.doubt(tag, host); }
  [[nodiscard]] bool samples() const override { return true; }
  [[nodiscard]] bool is_archive() const override { return false; }

 private:
  overlay::RingService& rings_;
  RelayRedundancy& redundancy_;
  const redundancy::RelayHints& relays_;
  const redundancy::StorageHints& storage_;
  belief::PostChecker& checker_;
  delivery::Feed& feed_;
  std::uint64_t relayed_ = 0;
};

}  // namespace tagring::relay
