// Which hashtags are used much, by the posts of the last day that this node has relayed or received. In
// memory; begun anew from the feed at a start.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/time.hpp"

namespace tagring::mastodon_api {

class Trends {
 public:
  struct Options {
    Duration window = std::chrono::hours(24);
    std::size_t uses_max = 50'000;  // remembered; the oldest go first
  };
  Trends(Options options, Clock& clock) : options_(options), clock_(clock) {}

  // A post has come. It counts until the window has passed since it was published; one from before, as of a
  // catch-up, does not.
  void note(const std::string& tag, const std::string& author, WallTime published);
  // By the number of authors.
  [[nodiscard]] std::vector<std::string> top(std::size_t limit, std::size_t offset);
  // Hashtags that begin so, the most used first.
  [[nodiscard]] std::vector<std::string> beginning_with(const std::string& prefix, std::size_t limit);

 private:
  struct Use {
    WallTime when;
    std::string tag;
    std::uint64_t author;  // hashed
  };
  void forget_old();

  Options options_;
  Clock& clock_;
  std::deque<Use> uses_;                                              // by time
  std::map<std::string, std::map<std::uint64_t, std::size_t>> tags_;  // author's hash to number of posts
};

}  // namespace tagring::mastodon_api
