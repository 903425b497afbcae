// What the storage role asks of the rest of the node. The node itself implements it (node/wiring.hpp).
#pragma once

#include <cstddef>
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
  // Fetches a partition's entries from another owner that keeps at least that version, one of so many sources
  // that are asked, and adopts them into the other partition (Disputes).
  virtual Task<Result<void>> fetch_partition(std::string origin, ring::Contact requester,
                                             redundancy::Partition from, redundancy::Partition to,
                                             std::uint64_t version, std::size_t sources) = 0;
  // Owes what is in a partition here to whoever keeps those posts now. When it completes, that is on disk;
  // false if not all of it is.
  virtual Task<bool> owe_partition(redundancy::Partition partition) = 0;
  // Whether readers get to see it: neither its author nor its hashtag is blocked here, its author blocks
  // neither the hashtag's actor nor this node, and it was not taken down.
  [[nodiscard]] virtual bool is_shown(const HistoryEntry& entry) const = 0;
};

}  // namespace tagring::storage
