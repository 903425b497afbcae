// Whose posts came to an instance today under each hashtag: Mastodon counts a post on the day on which it
// comes, and five authors of a day make a trend. Live posts are as good as everybody's; those of replays go
// to one instance.
#pragma once

#include <cstddef>
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

  void came(const std::string& tag, const std::string& author) { add({"", tag}, author); }
  void replayed(const std::string& host, const std::string& tag, const std::string& author) {
    add({host, tag}, author);
  }
  // A post of the author may come there without there being more than `most` authors under the hashtag today.
  [[nodiscard]] bool has_room(const std::string& host, const std::string& tag, const std::string& author,
                              std::size_t most) const;

 private:
  using Authors = std::set<std::uint64_t>;  // hashes
  void add(std::pair<std::string, std::string> where, const std::string& author);
  [[nodiscard]] const Authors& of(const std::string& host, const std::string& tag) const;
  [[nodiscard]] WallTime today() const;

  const Clock& clock_;
  WallTime day_;  // of what is remembered
  std::size_t count_ = 0;
  std::map<std::pair<std::string, std::string>, Authors> authors_;  // by host, empty: live, and hashtag
};

}  // namespace tagring::budget
