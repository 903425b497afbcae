// What a former relay took, and hands over: nobody waits for an answer, so it is held here until another one
// says the same, or the posts' own servers have been asked, a few at a time.
// In memory: who asks again after a restart is told again.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "belief/post_checker.hpp"
#include "relay/feed.hpp"

namespace tagring::handover {

class Doubts {
 public:
  Doubts(belief::PostChecker& checker, relay::Feed& feed, const Runtime& runtime);
  [[nodiscard]] Task<void> stop();

  // Takes what is news and believed into the feed (relay::Feed::take; nothing of it is owed to storage
  // owners), at once or later. Blocked posts are passed over. Errors are those of the store.
  [[nodiscard]] Task<Result<void>> hear(std::vector<relay::TagEvent> events, std::string relay);

  [[nodiscard]] std::size_t waiting() const { return doubted_.size(); }

 private:
  // Long enough for the other relay to be asked.
  static constexpr Duration kWait = std::chrono::seconds(10);
  static constexpr Duration kBetween = std::chrono::milliseconds(100);  // two posts
  static constexpr Duration kGivenUp = std::chrono::hours(1);
  static constexpr std::size_t kMax = 20'000;
  struct Doubt {
    relay::TagEvent event;
    Instant heard;
    Instant due;
  };
  Task<void> resolve();
  Task<void> resolve_one(Doubt doubt);

  belief::PostChecker& checker_;
  relay::Feed& feed_;
  Clock& clock_;
  Log& log_;
  std::deque<Doubt> doubted_;  // by `due`, about
  bool resolving_ = false;
  TaskGroup tasks_;
};

}  // namespace tagring::handover
