// Owners that are not asked for a while: for a hashtag, if they do not serve it to this node, do not take the
// Follow, or took it and do not say what was missed; for anything, if they do not answer
// (docs/protocol.md, 7.4 and 7.5).
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
  static constexpr Duration kDownMost = std::chrono::minutes(2);  // the next answer is good for all hashtags
  static constexpr Duration kDeniedFor = std::chrono::hours(1);

  explicit Pauses(const Clock& clock) : clock_(clock) {}

  void note_denied(const Tag& tag, const std::string& owner) {
    pauses_[{tag, owner}] = {clock_.now() + kDeniedFor, {}, true};
  }
  // Twice as long each time.
  void note_silent(const Tag& tag, const std::string& owner, Duration most = kMost) {
    lengthen(pauses_[{tag, owner}], most);
  }
  // It does not answer, or not as owners do: so for all hashtags.
  void note_down(const std::string& owner) { lengthen(down_[owner], kDownMost); }
  void note_up(const std::string& owner) { down_.erase(owner); }
  void forget(const Tag& tag, const std::string& owner) { pauses_.erase({tag, owner}); }
  void forget(const std::string& owner) {
    std::erase_if(pauses_, [&](const auto& entry) { return entry.first.second == owner; });
    down_.erase(owner);
  }
  // Those that are long over, with how long they were.
  void tidy() {
    const auto is_old = [this](const auto& entry) { return clock_.now() >= entry.second.until + kDeniedFor; };
    std::erase_if(pauses_, is_old);
    std::erase_if(down_, is_old);
  }

  [[nodiscard]] bool has(const Tag& tag, const std::string& owner) const {
    const auto pause = pauses_.find({tag, owner});
    return is_down(owner) || (pause != pauses_.end() && lasts(pause->second));
  }
  [[nodiscard]] bool is_denied(const Tag& tag, const std::string& owner) const {
    const auto pause = pauses_.find({tag, owner});
    return pause != pauses_.end() && lasts(pause->second) && pause->second.is_denied;
  }
  [[nodiscard]] bool is_down(const std::string& owner) const {
    const auto pause = down_.find(owner);
    return pause != down_.end() && lasts(pause->second);
  }
  // When the first of them ends.
  [[nodiscard]] Instant first_end() const {
    Instant first = Instant::max();
    for (const auto& [about, pause] : pauses_)
      if (lasts(pause)) first = std::min(first, pause.until);
    for (const auto& [owner, pause] : down_)
      if (lasts(pause)) first = std::min(first, pause.until);
    return first;
  }

 private:
  struct Pause {
    Instant until;
    Duration wait{0};
    bool is_denied = false;
  };
  void lengthen(Pause& pause, Duration most) const {
    const Duration wait = std::min(std::max<Duration>(2 * pause.wait, kFirst), most);
    pause = {clock_.now() + wait, wait, false};
  }
  [[nodiscard]] bool lasts(const Pause& pause) const { return clock_.now() < pause.until; }

  const Clock& clock_;
  std::map<std::pair<Tag, std::string>, Pause> pauses_;  // by owner's origin
  std::map<std::string, Pause> down_;                    // the same
};

}  // namespace tagring::subscriber
