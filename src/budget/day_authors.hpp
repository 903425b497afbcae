// Whose posts came to an instance under each hashtag, today and on the days before: Mastodon counts a post on
// the day on which it comes, and five authors of a day make a trend. A live post entered the feed once for
// all instances; which of them got it is told by the stretches of the feed that each got, or gets.
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
  // the rest is not known, and no more authors have room as long as it is remembered.
  static constexpr std::size_t kMax = 200'000;
  // Posts of one author under one hashtag: of more the last one stands for those after the others.
  static constexpr std::size_t kPostsMax = 64;
  // Before today: the busiest tells how many authors more may come today.
  static constexpr int kDaysBefore = 2;
  // After the first place, up to and including the second.
  using Stretch = std::pair<std::uint64_t, std::uint64_t>;

  explicit DayAuthors(const Clock& clock) : clock_(clock) {}

  [[nodiscard]] WallTime today() const;
  // After a start, until it knows again what came before: nobody else has room then.
  void begin_reading() { is_being_read_ = true; }
  void end_reading() { is_being_read_ = false; }
  [[nodiscard]] bool is_being_read() const { return is_being_read_; }
  // A live post, at that place in the feed, later than those before. It counts under all of its hashtags that
  // are known, since it came there with them. The author's own server has it anyway.
  struct Came {
    std::string uri;
    std::string tag;  // under which it entered the feed
    std::string author;
    std::uint64_t seq = 0;
  };
  // `days_ago` up to kDaysBefore: after a restart.
  void came(const Came& post, int days_ago = 0);
  // These are hashtags of a post that comes live, or has come on that day.
  void note_tags(const std::string& uri, const std::string& author, const std::vector<std::string>& tags,
                 int days_ago = 0);
  // This node sends it there today, and knows how much that is.
  void brought_to(const std::string& host, const std::string& tag, const std::string& author);
  // Under which hashtags posts entered the feed on these days that are under one of these.
  [[nodiscard]] std::set<std::string> ways(const std::vector<std::string>& tags) const;
  // Of what entered the feed under a hashtag, what a host got today, or gets.
  using Got = std::map<std::string, std::vector<Stretch>>;
  struct Place {
    const std::string& host;
    const std::string& tag;
    const Got& got;
  };
  // Authors whose posts come there live: of the busiest day, today included. On the days before all that
  // enters the feed by what the host gets now counts as come.
  [[nodiscard]] std::size_t live(const Place& place) const;
  // No day had more than are remembered.
  [[nodiscard]] bool knows_all() const;
  // A post of the author may be brought there without there being more than `most` authors under the hashtag
  // today, if as many come live as on the busiest day.
  [[nodiscard]] bool has_room(const Place& place, const std::string& author, std::size_t most) const;

 private:
  using Authors = std::set<std::uint64_t>;                               // hashed
  using Where = std::map<std::pair<std::string, std::string>, Authors>;  // by host and hashtag
  struct Post {
    std::vector<std::string> tags;
    std::vector<std::pair<std::string, std::uint64_t>> came;  // by which hashtag, and where
  };
  struct Day {
    std::size_t count = 0;
    std::map<std::uint64_t, Post> posts;  // by the hash of the URI
    // Of posts, by hashtag and the author's hash.
    std::map<std::string, std::map<std::uint64_t, std::vector<const Post*>>> live;
    Where own;      // live, at the author's own server
    Where brought;  // by this node
  };
  [[nodiscard]] WallTime first() const;  // of the days that count
  Day& day(int days_ago);
  [[nodiscard]] Authors live_on(WallTime date, const Day& day, const Place& place) const;
  // visit(author, hashtag by which a post of theirs entered the feed, and where) for all posts under the tag.
  template <class Visit>
  static void visit(const Day& day, const std::string& tag, Visit visit);

  const Clock& clock_;
  std::map<WallTime, Day> days_;
  bool is_being_read_ = false;
};

}  // namespace tagring::budget
