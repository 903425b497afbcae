// Receipts of owners for what this node sent them (docs/audit.md): durable, for a time, and at most so many
// bytes. And the last audits of this node, which held them against what the owners have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/task.hpp"
#include "crypto/hash.hpp"
#include "storage/statements.hpp"

namespace tagring::audit {

// Of a tree that has these items, in order.
std::vector<crypto::Hash256> leaves_of(const std::vector<storage::TakenItem>& items);

// A batch that was taken. Its items make the tree, so no paths are kept.
struct KeptReceipt {
  std::uint64_t id = 0;  // greater for later ones
  storage::Receipt receipt;
  std::string key;                        // PEM: what it was checked with
  std::vector<storage::TakenItem> items;  // sorted; all of the batch

  [[nodiscard]] std::vector<crypto::Hash256> leaves() const { return leaves_of(items); }
};

class ReceiptStore {
 public:
  virtual ~ReceiptStore() = default;
  struct Limits {
    WallTime kept_after;      // older ones are forgotten
    std::uint64_t bytes = 0;  // the oldest are forgotten beyond that
  };
  // Durable when it completes. Forgets what is beyond the limits, some of it at a time.
  virtual Task<Result<void>> keep(KeptReceipt receipt, WallTime now, Limits limits) = 0;
  // Those with items under that tag and a greater id, oldest first.
  virtual Task<Result<std::vector<KeptReceipt>>> receipts(Tag tag, std::uint64_t after,
                                                          std::size_t limit) = 0;
  struct Totals {
    std::uint64_t batches = 0;
    std::uint64_t bytes = 0;
  };
  virtual Task<Result<Totals>> totals() = 0;
  // The latest batches, the latest first, until they have that many items.
  virtual Task<Result<std::vector<KeptReceipt>>> latest(std::size_t items) = 0;
  // The batch at that place of all, by their sizes, below kPlaces; nothing if there is none.
  static constexpr std::uint64_t kPlaces = 1U << 30U;
  virtual Task<Result<std::optional<KeptReceipt>>> at(std::uint64_t place) = 0;
  // Evidence of what a node did, as JSON text; `at` is when it was signed last. Of each the latest is kept,
  // and what is older than `kept_after` forgotten. Durable when it completes.
  struct Offence {
    std::string origin;
    WallTime at;
    std::string evidence;
  };
  virtual Task<Result<void>> keep_offence(Offence offence, WallTime kept_after) = 0;
  virtual Task<Result<std::vector<Offence>>> offences() = 0;
  // What audits found, as text: keeps one more, and of all the last `count`. Durable when it completes.
  virtual Task<Result<void>> keep_audit(std::string report, std::size_t count) = 0;
  // The latest first.
  virtual Task<Result<std::vector<std::string>>> audits() = 0;
};

}  // namespace tagring::audit
