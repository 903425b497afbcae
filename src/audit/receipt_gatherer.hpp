// What was promised of the posts of a hashtag: gathers the receipts that this node and the relays of the
// hashtag keep of its storage owners, and those of relays that this node has itself.
#pragma once

#include "audit/case.hpp"
#include "audit/notary.hpp"
#include "audit/receipts.hpp"
#include "base/time.hpp"
#include "hashtag/tag.hpp"
#include "overlay/ring_service.hpp"
#include "ring/contact.hpp"
#include "storage/history_service.hpp"

namespace tagring::audit {

class ReceiptGatherer {
 public:
  ReceiptGatherer(Receipts& receipts, storage::HistoryService& history, overlay::RingService& rings,
                  const Notary& notary, const Clock& clock)
      : receipts_(receipts), history_(history), rings_(rings), notary_(notary), clock_(clock) {}

  // Both outlive the task. Relays that do not answer are left out.
  [[nodiscard]] Task<void> gather(Tag tag, AuditedPosts* posts, Report* report);

 private:
  Task<Result<void>> gather_from(ring::Contact relay, Tag tag, AuditedPosts* posts);

  Receipts& receipts_;
  storage::HistoryService& history_;
  overlay::RingService& rings_;
  const Notary& notary_;
  const Clock& clock_;
};

}  // namespace tagring::audit
