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
  // What an entry counts as wherever nodes tell each other of bytes (docs/protocol.md, 4.5 and 6.2): they
  // must agree, whatever each has for a database. About what one takes in SQLite.
  static constexpr std::uint64_t kBytesOfEntry = 60;
  // What one takes on this node's disk, indexes included, as far as it is known: for what is compared to an
  // administrator's bytes.
  [[nodiscard]] virtual std::uint64_t bytes_of_entry() const { return kBytesOfEntry; }

  // How many entries each hashtag has, by key, from the first after that key on: what its keys weigh.
  struct Weight {
    RingId key;
    std::uint64_t entries = 0;
  };
  virtual Task<Result<std::vector<Weight>>> weights(std::optional<RingId> after, std::size_t limit) = 0;
};

}  // namespace tagring::overlay
