// What became of the posts of instances, for "a post of today came back": by the hosts of their authors, and
// kept over restarts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "delivery/results.hpp"
#include "delivery/store.hpp"
#include "health/memory.hpp"

namespace tagring::health {

class SeenPosts {
 public:
  static constexpr Duration kSaveEvery = std::chrono::minutes(5);  // what a crash loses at most

  // Of one host.
  struct Posts {
    std::optional<WallTime> taken;  // when owners took one last
    WallTime newest_taken = {};     // when those were published; an owner that refuses what another took
    WallTime newest_refused = {};   // says nothing of the host
    std::string why_refused = {};
  };
  SeenPosts(Memory memory, const Runtime& runtime);

  void start() {
    if (memory_.save) tasks_.spawn("seen_posts", save_for_ever());
  }
  // Saves what it has.
  [[nodiscard]] Task<void> stop();

  // Owners took these posts, but for what they refused.
  void note_answer(const std::vector<delivery::TagEvent>& events,
                   const std::vector<delivery::Refusal>& refusals);
  // Null if none is known.
  [[nodiscard]] const Posts* of(const std::string& host) const;

 private:
  Task<void> save_for_ever();
  Task<void> save();

  const Memory memory_;
  std::map<std::string, Posts> hosts_;
  bool has_changed_ = false;  // since it was saved
  Clock& clock_;
  Log& log_;
  TaskGroup tasks_;
};

}  // namespace tagring::health
