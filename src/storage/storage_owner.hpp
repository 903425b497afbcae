// The storage role (paper §5.5): keeps the history of the hashtags whose keys this node owns on the storage
// ring.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "belief/post_checker.hpp"
#include "delivery/results.hpp"
#include "delivery/store.hpp"
#include "redundancy/relay_hints.hpp"
#include "relay/relay_redundancy.hpp"
#include "storage/disputes.hpp"
#include "storage/history.hpp"
#include "storage/storage_redundancy.hpp"

namespace tagring::storage {

class StorageOwner final : public belief::PostChecker::Owner {
 public:
  StorageOwner(HistoryStore& history, KeptPartitions& kept, StorageRedundancy& redundancy, Disputes& disputes,
               relay::RelayRedundancy& relays, belief::PostChecker& checker)
      : history_(history),
        kept_(kept),
        redundancy_(redundancy),
        disputes_(disputes),
        relays_(relays),
        checker_(checker) {}

  // Takes events from two relay owners of their tags, from a node about posts of its own host, or after a
  // look at their origin. kDenied for posts whose authors do not wish to be found. What was not refused is on
  // disk.
  [[nodiscard]] Task<Result<std::vector<delivery::Refusal>>> take(std::vector<delivery::TagEvent> events,
                                                                  std::string sender,
                                                                  redundancy::RelayClaims claims);
  // kNotOwner or kBusy unless this node serves a part of the tag's history.
  [[nodiscard]] Result<void> check_serving(const Tag& tag) const { return kept_.check_serving(tag); }
  [[nodiscard]] std::uint64_t archived() const { return archived_; }  // entries, repetitions included

  // --- PostChecker::Owner ---
  [[nodiscard]] Result<void> check_place(const delivery::TagEvent& event) const override;
  [[nodiscard]] Task<redundancy::RelayHalves> witness(Tag tag, std::string sender,
                                                      std::optional<redundancy::RelayClaim> claim) override;
  [[nodiscard]] Task<std::set<const delivery::TagEvent*>> known(
      std::vector<const delivery::TagEvent*> events) override;
  void mistaken_for_owner(const Tag& /*tag*/, const std::string& /*host*/) override {}
  [[nodiscard]] bool samples() const override { return false; }
  [[nodiscard]] bool is_archive() const override { return true; }

 private:
  // Where it is kept here; nothing where it is not.
  [[nodiscard]] std::vector<HistoryEntry> places(const delivery::TagEvent& event) const;

  HistoryStore& history_;
  KeptPartitions& kept_;
  StorageRedundancy& redundancy_;
  Disputes& disputes_;
  relay::RelayRedundancy& relays_;
  belief::PostChecker& checker_;
  std::uint64_t archived_ = 0;
};

}  // namespace tagring::storage
