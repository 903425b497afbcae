// Hashtags of which somebody takes this node for a relay, wrongly as far as it knows, until it has asked the
// relays at rest. Anybody can name any number of hashtags, and each costs look-ups and a request to each of
// those relays: so few are considered at a time, few wait, of one domain fewer still, and none soon again.
// Domains take turns, and where no more may wait the newest of the one that has most gives way. Who is left
// out is refused as before, and comes back.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>

#include "base/counted.hpp"
#include "base/runtime.hpp"
#include "hashtag/tag.hpp"

namespace tagring::belief {

class DoubtQueue {
 public:
  static constexpr std::size_t kAtOnceMax = 4;
  static constexpr std::size_t kWaitingMax = 64;
  static constexpr std::size_t kOfDomainMax = 8;  // waiting
  static constexpr Duration kAgainAfter = std::chrono::seconds(10);

  using Consider = std::function<Task<void>(Tag tag)>;
  DoubtQueue(Consider consider, const Runtime& runtime)
      : consider_(std::move(consider)), clock_(runtime.clock), tasks_(runtime.executor) {}
  [[nodiscard]] Task<void> stop();

  // `host`: who takes this node for a relay of the tag.
  void add(const Tag& tag, const std::string& host);

 private:
  Task<void> work();

  const Consider consider_;
  Clock& clock_;
  Shares<std::deque<Tag>> waiting_;  // by registered domain
  std::string last_;                 // whose turn it was
  std::map<Tag, Instant> lately_;    // when it was added
  std::size_t working_ = 0;
  TaskGroup tasks_;
};

}  // namespace tagring::belief
