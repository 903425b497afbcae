// Which segments of keys new owners have read to their end lately, here: what they have read need not be owed
// to them.
#pragma once

#include <algorithm>
#include <deque>

#include "base/ring_id.hpp"
#include "base/time.hpp"

namespace tagring::handover {

// Does `whole` hold all of `part`?
inline bool covers(const Segment& whole, const Segment& part) {
  if (whole.from == whole.to) return true;
  if (part.from == part.to) return false;
  return part.from - whole.from <= part.to - whole.from && whole.contains(part.to);
}

class ReadSegments {
 public:
  // How long a new owner may take to read; two changes of a segment are seldom closer than that.
  static constexpr Duration kPatience = std::chrono::seconds(20);

  explicit ReadSegments(Clock& clock) : clock_(clock) {}

  // A new owner has read the feed or the history of that segment of keys to its end.
  void note(Ring ring, const Segment& keys) {
    while (!reads_.empty() && clock_.now() - reads_.front().at > kPatience) reads_.pop_front();
    reads_.push_back({ring, keys, clock_.now()});
  }
  // Somebody has read all of these keys since then.
  [[nodiscard]] bool has(Ring ring, const Segment& keys, Instant since) const {
    return std::ranges::any_of(reads_, [&](const Read& read) {
      return read.ring == ring && read.at >= since && covers(read.keys, keys);
    });
  }

 private:
  struct Read {
    Ring ring;
    Segment keys;
    Instant at;
  };
  Clock& clock_;
  std::deque<Read> reads_;  // oldest first
};

}  // namespace tagring::handover
