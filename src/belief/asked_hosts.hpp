// The hosts at which posts were looked for. One that did not answer is left alone for a moment; and one at
// which nothing was that others had named is left alone for ever longer, since whoever names posts that never
// were aims a network of nodes at a machine that has nothing to do with it. Where something was lately,
// people publish, and delete as much again: only the budget limits how often it is asked for more.
#pragma once

#include <map>
#include <string>

#include "base/time.hpp"
#include "crypto/hash.hpp"

namespace tagring::belief {

class AskedHosts {
 public:
  explicit AskedHosts(Clock& clock) : clock_(clock) {}

  // It is not to be asked now.
  [[nodiscard]] bool is_left_alone(const std::string& host) const;
  // It did not answer a moment ago.
  [[nodiscard]] bool is_silent(const std::string& host) const;
  // Something was there lately.
  [[nodiscard]] bool is_known(const std::string& host) const;
  // It was asked for that, which was not there: so what is gone does not stand in the way of what is there.
  // For a moment, since it may be published in another one; for longer where nothing else is.
  [[nodiscard]] bool was_gone(const std::string& url) const;
  // It was asked in vain, and nothing was found there lately.
  [[nodiscard]] bool has_nothing(const std::string& host) const;

  // What came of asking it.
  void found(const std::string& host);
  void found_post(const std::string& host);
  void gone(const std::string& url);           // which says nothing of the host
  void found_nothing(const std::string& url);  // there, nor who was named as its author
  void silent(const std::string& host);
  void answered(const std::string& host);
  // Of the posts that were found there, one more is made up for by one that is gone: whoever names both makes
  // this node ask at most twice as often as whoever names only what is there, which is not limited. False if
  // none is left.
  [[nodiscard]] bool make_up_for_gone(const std::string& host);

 private:
  static constexpr Duration kSilentFor = std::chrono::seconds(10);
  static constexpr Duration kKnown = std::chrono::hours(24);  // since something was there
  static constexpr Duration kGone = std::chrono::hours(1);
  static constexpr Duration kGoneFromKnown = std::chrono::minutes(3);
  static constexpr std::size_t kGoneMax = 64;
  static constexpr Duration kPause = std::chrono::minutes(10);  // doubled each time
  static constexpr unsigned kDoublingsMax = 5;
  static constexpr std::size_t kMax = 2'000;
  static constexpr std::size_t kPostsMax = 10'000;
  struct Record {
    Instant until;  // left alone until then, since nothing was there
    Instant silent_until;
    Instant known_until;  // something was there
    unsigned in_vain = 0;
    std::size_t posts = 0;                    // found there, less those that are gone
    std::map<crypto::Hash256, Instant> gone;  // when; by the URL's hash, since a URL may be long
  };
  Record& record(const std::string& host);

  Clock& clock_;
  std::map<std::string, Record> records_;  // by host
};

}  // namespace tagring::belief
