// How much a relay has to send: deliveries, of one post to one follower each, that it has taken upon itself.
//
// A bucket that fills with every post taken, by one delivery for each follower, and runs out at four fifths
// of the node's capacity; full, it holds what the node sends in five seconds. So a node that takes nothing
// while its bucket is full is never above its capacity for long, whatever comes.
#pragma once

#include <map>
#include <string>

#include "base/time.hpp"
#include "hashtag/tag.hpp"

namespace tagring::redundancy {

class LoadMeter {
 public:
  // `capacity`: deliveries a second.
  LoadMeter(double capacity, Clock& clock) : capacity_(capacity), clock_(clock) {}

  void add(const Tag& tag, double deliveries);
  // Nothing more can be taken now.
  [[nodiscard]] bool is_overloaded() const;
  // Soon it may be so: filling up, or above half the capacity over the last seconds.
  [[nodiscard]] bool is_strained() const;
  // Twice what the tag brings would still be half of the capacity at most.
  [[nodiscard]] bool is_calm(const Tag& tag) const;
  // The tag has a good part in the load: at least half of what a tag has on average.
  // None has where there is no load.
  [[nodiscard]] bool is_major(const Tag& tag) const;
  // Deliveries a second over the last ten seconds.
  [[nodiscard]] double rate() const;
  [[nodiscard]] double rate(const Tag& tag) const;

 private:
  static constexpr Duration kWindow = std::chrono::seconds(10);
  struct Window {
    double total = 0;
    std::map<Tag, double> tags;
  };
  [[nodiscard]] double level() const;
  void turn();
  [[nodiscard]] double per_second(double before, double now) const;

  double capacity_;
  Clock& clock_;
  double level_ = 0;  // as it was at `changed_`
  Instant changed_{};
  Window before_;
  Window now_;
  Instant begun_{};  // of now_
};

}  // namespace tagring::redundancy
