// What relays have said out of turn, and nobody waits for an answer to: what a former relay hands over, and
// what a subscriber has missed. It is held here until another one says the same, or the posts' own servers
// have been asked, a few at a time: so nobody who names what cannot be looked at holds up what others say.
// In memory: who asks again after a restart is told again.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime.hpp"
#include "belief/post_checker.hpp"
#include "hashtag/tag.hpp"

namespace tagring::belief {

class Doubts {
 public:
  // The role that takes what turns out to be true. Outlives the doubts.
  class Taker {
   public:
    virtual ~Taker() = default;
    [[nodiscard]] virtual Task<Result<void>> take_believed(std::vector<TagEvent> events) = 0;
  };

  // `most`: that wait.
  Doubts(PostChecker& checker, const Runtime& runtime, std::size_t most = kMax);
  [[nodiscard]] Task<void> stop();

  // A relay of the hashtags `relayed` has said so, which is news here. Those to be taken at once; the others
  // go to `taker` when they can be believed. Blocked posts are passed over.
  [[nodiscard]] std::vector<TagEvent> hear(std::vector<TagEvent> events, const std::string& relay,
                                           const PostChecker::Relayed& relayed, Taker& taker);

  // Something that the relay has said under the hashtag is not decided yet.
  [[nodiscard]] bool has(const std::string& relay, const Tag& tag) const;
  // Of what the relay has said under the hashtag something was forgotten for want of room, since this was
  // asked last. Whoever needs it has to be told again.
  [[nodiscard]] bool has_forgotten(const std::string& relay, const Tag& tag);
  [[nodiscard]] std::size_t waiting() const { return waiting_; }

  static constexpr Duration kSkewMax = std::chrono::minutes(5);  // of the clocks of others
  static constexpr std::size_t kMax = 20'000;

 private:
  // Long enough for the other relay to be asked.
  static constexpr Duration kWait = std::chrono::seconds(10);
  static constexpr Duration kBetween = std::chrono::milliseconds(100);  // two posts of one relay
  static constexpr Duration kGivenUp = std::chrono::hours(24);          // a feed is kept no longer
  static constexpr std::size_t kForgottenMax = 10'000;
  struct Doubt {
    TagEvent event;
    Taker* taker;
    Instant heard;
    Instant due;
  };
  struct Heard {
    std::string domain;                 // registered, of the relay
    std::deque<Doubt> doubts;           // by `due`, about
    std::map<Tag, std::size_t> by_tag;  // with the one that is looked into now
  };
  void forget(Heard& heard, const Tag& tag);
  void make_room();
  Task<void> resolve(std::string relay);
  // False if it is to be tried again.
  Task<bool> resolve_one(Doubt doubt, std::string relay);

  PostChecker& checker_;
  std::size_t most_;
  Clock& clock_;
  Log& log_;
  std::map<std::string, Heard> heard_;  // by relay: nobody waits for what another one has said
  std::size_t waiting_ = 0;
  std::set<std::pair<std::string, Tag>> forgotten_;  // relay and hashtag
  TaskGroup tasks_;
};

}  // namespace tagring::belief
