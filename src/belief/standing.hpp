// Who was wrong about posts of others, as the posts' own servers said. What one node finds out so it tells
// nobody, so nobody can be accused falsely; and it is forgotten, since an honest node errs as well: what it
// says may be deleted a moment later.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/time.hpp"
#include "crypto/hash.hpp"

namespace tagring::belief {

class Standing {
 public:
  explicit Standing(Clock& clock) : clock_(clock) {}

  // What came of looking at something that the node at that origin has said of that post. To be wrong about
  // one is to be wrong once, however often it is said: what is owed is sent again, to several owners. So it
  // is to be right: one true post, said again and again, makes up for one lie at most.
  void note(const std::string& origin, const std::string& uri, bool right);
  // Wrong about three posts, in more than a fifth, and lately: for ten minutes after the third, and for twice
  // as long after each of the next, at most some ten hours. It is read and heard last.
  [[nodiscard]] bool is_doubtful(const std::string& origin) const;
  // Whether its word counts for posts of a host that had nothing of what was named (AskedHosts::has_nothing):
  // it is not doubtful, nor was it wrong about a post of that host.
  [[nodiscard]] bool is_believed_about(const std::string& origin, const std::string& host) const;
  // Whether it is to be heard about posts of servers of which nothing was seen yet. One that is doubtful is
  // once a minute: it may owe them, and comes again until they are taken. About the same host twice running
  // only every other minute, since one that is silent would leave nothing for the others. Notes that it was.
  [[nodiscard]] bool may_name_stranger(const std::string& origin, const std::string& host);
  // How many are.
  [[nodiscard]] std::size_t doubtful() const;
  // Signatures of its own prove that it dropped posts (audit/offences.hpp): it is doubtful until then,
  // whatever else it says.
  void prove(const std::string& origin, Instant until);
  [[nodiscard]] bool is_proved(const std::string& origin) const;

 private:
  static constexpr std::uint32_t kRightForEachWrong = 4;
  static constexpr std::uint32_t kWrong = 3;
  static constexpr Duration kPause = std::chrono::minutes(10);  // doubled each time
  static constexpr std::uint32_t kDoublingsMax = 6;
  static constexpr Duration kForgotten = std::chrono::hours(24);
  static constexpr Duration kStrangerEvery = std::chrono::minutes(1);
  static constexpr std::size_t kMax = 10'000;
  static constexpr std::size_t kPostsMax = 16;  // of an origin
  static constexpr std::size_t kRightPostsMax = 32;
  static constexpr std::size_t kHostsMax = 16;
  struct Record {
    std::uint32_t right = 0;
    std::uint32_t wrong = 0;
    Instant since;
    Instant last_wrong;
    std::set<crypto::Hash256> posts;        // about which it was wrong, by their URIs
    std::set<crypto::Hash256> right_posts;  // and right
    std::set<crypto::Hash256> hosts;        // of which it named posts wrongly, by their names
  };
  [[nodiscard]] bool is_doubtful(const Record& record) const;

  Clock& clock_;
  std::map<std::string, Record> records_;  // by origin
  std::map<std::string, Instant> proved_;  // by origin, until
  struct Named {
    Instant at;
    std::string host;
  };
  std::map<std::string, Named> strangers_;  // by origin: heard about one
};

}  // namespace tagring::belief
