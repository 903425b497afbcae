// Of which segments of keys new owners have read the history to its end lately, here: what they have on their
// disks need not be owed to them. Of a feed nobody knows that: much of it is in doubt there for a while, in
// memory (belief/doubts.hpp).
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

  // A new owner has asked what comes after the last post of these keys, and so has all before it.
  void note(const Segment& keys) {
    while (!reads_.empty() && (clock_.now() - reads_.front().at > kKept || reads_.size() >= kMost))
      reads_.pop_front();
    reads_.push_back({keys, clock_.now()});
  }
  // Somebody has read all of these keys since then.
  [[nodiscard]] bool has(const Segment& keys, Instant since) const {
    return std::ranges::any_of(reads_,
                               [&](const Read& read) { return read.at >= since && covers(read.keys, keys); });
  }

 private:
  static constexpr Duration kKept = std::chrono::hours(1);  // a place is not handed over for longer
  static constexpr std::size_t kMost = 4'096;
  struct Read {
    Segment keys;
    Instant at;
  };
  Clock& clock_;
  std::deque<Read> reads_;  // oldest first
};

}  // namespace tagring::handover
