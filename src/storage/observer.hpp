// What the storage role asks of the rest of the node. The node itself implements it (node/wiring.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "base/task.hpp"
#include "redundancy/partition.hpp"
#include "ring/contact.hpp"
#include "storage/history.hpp"

namespace tagring::storage {

class Observer {
 public:
  virtual ~Observer() = default;
  // Fetches a partition's entries from another owner that keeps at least that version, and puts them into the
  // other partition.
  virtual Task<Result<void>> fetch_partition(std::string origin, ring::Contact requester,
                                             redundancy::Partition from, redundancy::Partition to,
                                             std::uint64_t version) = 0;
  // Whether readers get to see it: neither its author nor its hashtag is blocked here, and it was not taken
  // down.
  [[nodiscard]] virtual bool is_shown(const HistoryEntry& entry) const = 0;
};

}  // namespace tagring::storage
