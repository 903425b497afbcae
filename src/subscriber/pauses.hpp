// Owners that are not asked for a hashtag for a while: those that do not serve it to this node, and those
// that took the Follow and do not say what was missed (docs/protocol.md, 7.4 and 7.5).
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/time.hpp"
#include "hashtag/tag.hpp"

namespace tagring::subscriber {

class Pauses {
 public:
  static constexpr Duration kFirst = std::chrono::seconds(2);
  static constexpr Duration kMost = std::chrono::minutes(10);
  static constexpr Duration kDeniedFor = std::chrono::hours(1);

  explicit Pauses(const Clock& clock) : clock_(clock) {}

  void note_denied(const Tag& tag, const std::string& owner) {
    pauses_[{tag, owner}] = {clock_.now() + kDeniedFor, {}, true};
  }
  // Twice as long each time.
  void note_silent(const Tag& tag, const std::string& owner) {
    Pause& pause = pauses_[{tag, owner}];
    const Duration wait = std::clamp<Duration>(2 * pause.wait, kFirst, kMost);
    pause = {clock_.now() + wait, wait, false};
  }
  void forget(const Tag& tag, const std::string& owner) { pauses_.erase({tag, owner}); }
  void forget(const std::string& owner) {
    std::erase_if(pauses_, [&](const auto& entry) { return entry.first.second == owner; });
  }
  // Those that are long over, with how long they were.
  void tidy() {
    std::erase_if(pauses_,
                  [this](const auto& entry) { return clock_.now() >= entry.second.until + kDeniedFor; });
  }

  [[nodiscard]] bool has(const Tag& tag, const std::string& owner) const {
    const auto pause = pauses_.find({tag, owner});
    return pause != pauses_.end() && clock_.now() < pause->second.until;
  }
  [[nodiscard]] bool is_denied(const Tag& tag, const std::string& owner) const {
    return has(tag, owner) && pauses_.at({tag, owner}).is_denied;
  }

 private:
  struct Pause {
    Instant until;
    Duration wait{0};
    bool is_denied = false;
  };
  const Clock& clock_;
  std::map<std::pair<Tag, std::string>, Pause> pauses_;  // by owner's origin
};

}  // namespace tagring::subscriber
