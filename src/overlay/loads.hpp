// What each hashtag costs this node as an owner: on the relay ring bytes a second sent to subscribers, on
// the storage ring bytes of history. Sums over parts of a ring are what balancing asks for (paper §6.2).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/ring_id.hpp"
#include "base/time.hpp"
#include "hashtag/tag.hpp"
#include "overlay/stored_load.hpp"

namespace tagring::overlay {

class Loads {
 public:
  struct Options {
    unsigned relay_replicas = 2;
    unsigned storage_replicas = 4;
    Duration window = std::chrono::hours(1);  // over which relaying is averaged
  };
  Loads(Options options, StoredLoad& history, Clock& clock);

  void relayed(const Tag& tag, std::size_t bytes);
  // Counts anew; what of() says is as old as that.
  [[nodiscard]] Task<Result<void>> refresh();
  // Of all replicas that lie at these positions.
  [[nodiscard]] double of(Ring ring, const Segment& positions) const;
  // What one byte of these is on this node's disk: on the storage ring an entry counts as
  // StoredLoad::kBytesOfEntry, whatever it takes.
  [[nodiscard]] double on_disk(Ring ring) const;

 private:
  // Keys in order, each with the load of itself and all before it.
  using Sums = std::vector<std::pair<RingId, double>>;
  struct Rate {
    double bytes = 0;  // sent lately: what is older counts less
    Instant at{};
  };
  [[nodiscard]] double faded(const Rate& rate) const;
  static double up_to(const Sums& sums, const RingId& key);
  static double sum_of(const Sums& sums, const Segment& keys);

  Options options_;
  StoredLoad& history_;
  Clock& clock_;
  std::map<Tag, Rate> rates_;
  Sums relay_;
  Sums storage_;
};

}  // namespace tagring::overlay
