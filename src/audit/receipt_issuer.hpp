// Signs, as an owner, what this node takes from others (docs/audit.md). Nothing that is acknowledged depends
// on it.
#pragma once

#include <vector>

#include "audit/notary.hpp"
#include "audit/receipt_store.hpp"
#include "base/json.hpp"
#include "base/ring_id.hpp"
#include "delivery/results.hpp"
#include "delivery/store.hpp"
#include "storage/history.hpp"
#include "storage/kept_partitions.hpp"

namespace tagring::audit {

// What of a batch was taken, in the order of the tree.
std::vector<storage::TakenItem> taken_items(const std::vector<delivery::TagEvent>& events,
                                            const std::vector<delivery::Refusal>& refusals);

class ReceiptIssuer {
 public:
  ReceiptIssuer(storage::HistoryStore& history, const storage::KeptPartitions& redundancy, Notary& notary)
      : history_(history), redundancy_(redundancy), notary_(notary) {}

  // For the answer to a batch, of which `refusals` were not taken: the receipt for the others, which are on
  // disk. Empty if there are none.
  [[nodiscard]] Task<json::object> issue(Ring ring, std::vector<delivery::TagEvent> events,
                                         std::vector<delivery::Refusal> refusals);
  [[nodiscard]] std::uint64_t issued() const { return issued_; }

 private:
  using Items = std::vector<storage::TakenItem>;
  Task<Result<Items>> as_kept(Items items, json::array* differs);
  [[nodiscard]] std::vector<unsigned> partitions_of(const storage::TakenItem& item) const;

  storage::HistoryStore& history_;
  const storage::KeptPartitions& redundancy_;
  Notary& notary_;
  std::uint64_t issued_ = 0;
};

}  // namespace tagring::audit
