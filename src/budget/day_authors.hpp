// Whose posts came to an instance today under each hashtag: Mastodon counts a post on the day on which it
// comes, and five authors of a day make a trend. A live post entered the feed once for all instances; which
// of them got it is told by the place in the feed after which each gets what enters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/time.hpp"

namespace tagring::budget {

class DayAuthors {
 public:
  // Authors under hashtags that are remembered; of a day with more, the rest is not counted.
  static constexpr std::size_t kMax = 200'000;

  explicit DayAuthors(const Clock& clock) : clock_(clock) {}

  // A live post, at that place in the feed, later than those before. The author's own server has it anyway.
  void came(const std::string& tag, const std::string& author, std::uint64_t seq);
  void came_to(const std::string& host, const std::string& tag, const std::string& author);
  struct Place {
    std::string host;
    std::string tag;
    std::uint64_t since = 0;  // of what enters the feed under the hashtag, the host gets what is later
  };
  // A post of the author may come there without there being more than `most` authors under the hashtag today.
  [[nodiscard]] bool has_room(const Place& place, const std::string& author, std::size_t most) const;

 private:
  [[nodiscard]] WallTime today() const;
  void begin_day();

  const Clock& clock_;
  WallTime day_;  // of what is remembered
  std::size_t count_ = 0;
  // Authors by their hashes.
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>> live_;  // by hashtag: the last place of each
  std::map<std::pair<std::string, std::string>, std::set<std::uint64_t>> there_;  // by host and hashtag
};

}  // namespace tagring::budget
