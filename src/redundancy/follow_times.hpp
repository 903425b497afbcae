// When other nodes asked this one, in the last hour, to follow and not to follow hashtags. By these times the
// relays of a hashtag agree on its followers: the last request wins (paper §7.1).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/counted.hpp"
#include "base/time.hpp"
#include "hashtag/tag.hpp"

namespace tagring::redundancy {

class FollowTimes {
 public:
  explicit FollowTimes(Clock& clock) : clock_(clock) {}
  // Requests older than that are all of one age: before every one that is remembered.
  static constexpr Duration kRemembered = std::chrono::hours(1);

  struct Request {
    WallTime at;
    bool follows = false;
  };
  // `domain`: the registered one of the actor. Where all is taken, the domain that has most loses one.
  void note(const Tag& tag, const std::string& actor, const std::string& domain, Request request);
  // 1970 if it is not remembered.
  [[nodiscard]] Request last(const Tag& tag, const std::string& actor, const std::string& domain) const;
  [[nodiscard]] std::size_t size() const { return requests_.size(); }
  static constexpr std::size_t kSizeMax = 200'000;

 private:
  using Requests = std::map<std::pair<Tag, std::string>, Request>;  // by tag and actor
  void forget_old();

  Clock& clock_;
  Shares<Requests> requests_;  // by domain
  Instant forgets_;            // next time
};

}  // namespace tagring::redundancy
