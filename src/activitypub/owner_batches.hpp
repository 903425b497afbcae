// Batches of events that other nodes bring to this one as an owner, on either ring, and the answer to them:
// what was not taken, the receipt for the rest (docs/audit.md), and what there is to know of who else owns
// the hashtags.
#pragma once

#include <string>
#include <vector>

#include "audit/receipt_issuer.hpp"
#include "delivery/wire.hpp"
#include "http/message.hpp"
#include "redundancy/relay_hints.hpp"
#include "relay/relay_owner.hpp"
#include "relay/relay_redundancy.hpp"
#include "storage/kept_partitions.hpp"
#include "storage/storage_owner.hpp"

namespace tagring::activitypub {

class OwnerBatches {
 public:
  OwnerBatches(relay::RelayOwner& relay, relay::RelayRedundancy& relays, storage::StorageOwner& storage,
               const storage::KeptPartitions& stores, audit::ReceiptIssuer& receipts)
      : relay_(relay), relays_(relays), storage_(storage), stores_(stores), receipts_(receipts) {}

  // `sender` is an origin. What the answer says was taken is on disk.
  [[nodiscard]] Task<HttpResponse> take_as_relay(std::vector<delivery::TagEvent> events, std::string sender,
                                                 delivery::RelayNews news);
  [[nodiscard]] Task<HttpResponse> take_as_storage(std::vector<delivery::TagEvent> events, std::string sender,
                                                   redundancy::RelayClaims claims);

 private:
  relay::RelayOwner& relay_;
  relay::RelayRedundancy& relays_;
  storage::StorageOwner& storage_;
  const storage::KeptPartitions& stores_;
  audit::ReceiptIssuer& receipts_;
};

}  // namespace tagring::activitypub
