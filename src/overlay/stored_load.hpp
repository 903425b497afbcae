// What a node's histories weigh, for balancing (paper §6.2). Implemented by the store of histories.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "base/ring_id.hpp"
#include "base/task.hpp"

namespace tagring::overlay {

class StoredLoad {
 public:
  virtual ~StoredLoad() = default;
  static constexpr std::uint64_t kBytesOfEntry = 60;  // about, on the disk (db_history/history_store.hpp)

  // How many entries each hashtag has, by key, from the first after that key on: what its keys weigh.
  struct Weight {
    RingId key;
    std::uint64_t entries = 0;
  };
  virtual Task<Result<std::vector<Weight>>> weights(std::optional<RingId> after, std::size_t limit) = 0;
};

}  // namespace tagring::overlay
