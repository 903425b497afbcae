// What the watch (watch.hpp) asks for: posts of this node's instances, by the receipts that it has, or
// sometimes one that was read here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/receipt_store.hpp"
#include "base/runtime.hpp"
#include "hashtag/tag.hpp"
#include "redundancy/storage_hints.hpp"
#include "storage/history_service.hpp"

namespace tagring::audit {

// Posts of one hashtag, published in one hour, which are on these partitions.
struct Sample {
  Tag tag;
  std::int64_t hour = 0;
  std::vector<std::string> uris;
  std::vector<unsigned> partitions;
  bool own = false;
};

class Samples {
 public:
  Samples(ReceiptStore& receipts, const storage::HistoryService& history,
          const redundancy::StorageHints& hints, const Runtime& runtime)
      : receipts_(receipts),
        history_(history),
        hints_(hints),
        clock_(runtime.clock),
        rng_(runtime.rng.fork("samples")) {}

  // Nothing if there was nothing, or it is too young for all owners to have it.
  [[nodiscard]] Task<std::optional<Sample>> draw();

 private:
  static constexpr double kOfRead = 0.25;
  Task<std::optional<Sample>> of_own();
  std::optional<Sample> of_read();

  ReceiptStore& receipts_;
  const storage::HistoryService& history_;
  const redundancy::StorageHints& hints_;
  Clock& clock_;
  Rng rng_;
};

}  // namespace tagring::audit
