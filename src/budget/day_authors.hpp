// Whose posts came to an instance today under each hashtag: Mastodon counts a post on the day on which it
// comes, and five authors of a day make a trend. A live post entered the feed once for all instances; which
// of them got it is told by the stretches of the feed that each got, or gets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"

namespace tagring::budget {

class DayAuthors {
 public:
  // Authors under hashtags, and posts, that are remembered of what comes live on a day. Of a day with more
  // the rest is not known, and no more authors have room.
  static constexpr std::size_t kMax = 200'000;
  // Posts of one author under one hashtag: of more the last one stands for those after the others.
  static constexpr std::size_t kPostsMax = 64;
  // After the first place, up to and including the second.
  using Stretch = std::pair<std::uint64_t, std::uint64_t>;

  explicit DayAuthors(const Clock& clock) : clock_(clock) {}

  // A live post, at that place in the feed, later than those before. It counts under all of its hashtags that
  // are known, since it came there with them. The author's own server has it anyway.
  struct Came {
    std::string uri;
    std::string tag;  // under which it entered the feed
    std::string author;
    std::uint64_t seq = 0;
  };
  void came(const Came& post);
  // These are hashtags of a post that comes live, or has come.
  void note_tags(const std::string& uri, const std::string& author, const std::vector<std::string>& tags);
  // This node sends it there, and knows how much that is.
  void came_to(const std::string& host, const std::string& tag, const std::string& author);
  // Under which hashtags posts entered the feed today that are under one of these.
  [[nodiscard]] std::set<std::string> ways(const std::vector<std::string>& tags) const;
  // Of what entered the feed under a hashtag, what a host got.
  using Got = std::map<std::string, std::vector<Stretch>>;
  struct Place {
    const std::string& host;
    const std::string& tag;
    const Got& got;
  };
  // A post of the author may come there without there being more than `most` authors under the hashtag today.
  [[nodiscard]] bool has_room(const Place& place, const std::string& author, std::size_t most) const;

 private:
  [[nodiscard]] WallTime today() const;
  void begin_day();
  // visit(author, hashtag by which a post of theirs entered the feed, and where) for all posts under the tag.
  template <class Visit>
  void visit(const std::string& tag, Visit visit) const;

  const Clock& clock_;
  WallTime day_;  // of what is remembered
  std::size_t count_ = 0;
  struct Post {
    std::vector<std::string> tags;
    std::vector<std::pair<std::string, std::uint64_t>> came;  // by which hashtag, and where
  };
  std::map<std::uint64_t, Post> posts_;  // by the hash of the URI
  // Of posts_, by hashtag and the author's hash.
  std::map<std::string, std::map<std::uint64_t, std::vector<const Post*>>> live_;
  std::map<std::pair<std::string, std::string>, std::set<std::uint64_t>> there_;  // by host and hashtag
};

}  // namespace tagring::budget
