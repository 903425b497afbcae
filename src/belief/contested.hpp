// Claims that the posts' servers did not bear out, but as answers from a cache are no proof against: what is
// told right after a change must not be false for ever because its server still answers with what was before.
// Whoever says so is told to come again, and is neither right nor wrong until an answer is newer than the
// claim.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "base/time.hpp"
#include "belief/standing.hpp"
#include "hashtag/tag.hpp"

namespace tagring::belief {

class Contested {
 public:
  using Key = std::tuple<Tag, std::string, bool>;  // under a hashtag, URI, removed
  // The same document is asked for no more often.
  static constexpr Duration kLookEvery = std::chrono::minutes(1);

  explicit Contested(Clock& clock) : clock_(clock) {}

  // When it was first heard: now, unless it is contested.
  [[nodiscard]] Instant heard(const Key& key) const;
  [[nodiscard]] bool contains(const Key& key) const { return claims_.contains(key); }
  // It was looked at a moment ago.
  [[nodiscard]] bool is_looked_at(const Key& key) const;
  // What its server says now may be older than the claim, which was heard then.
  void put_off(const Key& key, Instant heard);
  // `sender` makes the claim.
  void note_sender(const Key& key, const std::string& sender);
  void settle(const Key& key) { claims_.erase(key); }
  // Whoever did not come again has said what nobody bears out.
  void give_up(Standing& standing);

 private:
  static constexpr Duration kGivenUp = std::chrono::minutes(30);
  static constexpr std::size_t kMax = 10'000;
  static constexpr std::size_t kSendersMax = 4;
  struct Claimed {
    Instant heard;
    Instant looked;
    std::set<std::string> senders;
  };
  void drop_oldest();

  Clock& clock_;
  std::map<Key, Claimed> claims_;
  std::deque<std::pair<Instant, Key>> order_;  // as they were heard; settled ones too
};

}  // namespace tagring::belief
