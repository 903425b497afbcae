// Replays: the history of a hashtag on its way into an instance that uses this node as a relay, post by post
// (docs/protocol.md §9.3).
//
// A replay knows where the pages of the history begin and end, not what is on them: each is read again right
// before it is sent, so a post that was removed meanwhile is not on it any more.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/task.hpp"
#include "base/time.hpp"

namespace tagring::replay {

enum class ReplayState : std::uint8_t {
  kReading = 0,    // finds out where the pages are
  kSending = 1,    // sends them
  kDone = 2,       // everything was sent
  kCancelled = 3,  // by the administrator
  kFailed = 4,     // given up; `reason` says why
};

// From so many authors a day on Mastodon may take a hashtag for trending [Trends::Tags, threshold].
inline constexpr std::uint32_t kAuthorsOfATrend = 5;
constexpr bool is_trend(std::uint32_t authors_per_day) {
  return authors_per_day == 0 || authors_per_day >= kAuthorsOfATrend;
}

// One for each (host, tag).
struct Replay {
  std::string host;  // of the instance
  std::string tag;   // canonical
  bool newest_first = true;
  WallTime not_before;           // posts published earlier are left out
  std::uint64_t posts_max = 0;   // so are those beyond that number, counted from the newest
  std::uint32_t per_minute = 0;  // at most
  WallTime started;              // posts published later are left out: they are announced as they come
  ReplayState state = ReplayState::kReading;
  std::string reason;         // of its end, or why some posts were left out
  std::uint64_t found = 0;    // posts on the pages, when they were read first
  std::uint64_t sent = 0;     // and taken by the instance
  std::uint64_t skipped = 0;  // its own, those it has got by another replay, those it refused
  std::uint64_t pages = 0;
  std::uint64_t pages_done = 0;  // in the order in which they are sent
  std::string at;                // cursor of the last post dealt with on the current page; empty: none
  WallTime newest;               // of the posts sent; 1970: none yet
  WallTime oldest;
  WallTime failing_since;             // 1970: is not failing
  std::uint32_t authors_per_day = 0;  // at most; 0: any number
  // Of the posts sent on that day; under another hashtag of a post: "AUTHOR HASHTAG".
  std::vector<std::string> authors_today;
  std::int64_t day = 0;  // counted from 1970 in UTC

  [[nodiscard]] bool may_trend() const { return is_trend(authors_per_day); }
  [[nodiscard]] bool is_active() const {
    return state == ReplayState::kReading || state == ReplayState::kSending;
  }
  friend bool operator==(const Replay&, const Replay&) = default;
};

// A stretch of a history, as cursors (storage::HistoryCursor): after `after`, up to and including `last`.
struct ReplayPage {
  std::string after;
  std::string last;

  friend bool operator==(const ReplayPage&, const ReplayPage&) = default;
};

// A call that writes has committed when it completes.
class ReplayStore {
 public:
  virtual ~ReplayStore() = default;

  virtual Task<Result<std::vector<Replay>>> replays() = 0;
  // Adds a replay with its pages, newest first, or replaces the one for its (host, tag).
  virtual Task<Result<void>> plan(Replay replay, std::vector<ReplayPage> pages) = 0;
  // Notes progress, and what the instance was sent since. The pages of a replay go when it ends; what an
  // instance was sent is forgotten when all its replays have ended.
  virtual Task<Result<void>> save(Replay replay, std::vector<std::string> sent_uris) = 0;
  // Pages count from 0, the newest. kNotFound if there is none.
  virtual Task<Result<ReplayPage>> page(std::string host, std::string tag, std::uint64_t number) = 0;
  // Those of `uris` that the instance was sent by one of the replays under way.
  virtual Task<Result<std::set<std::string>>> sent(std::string host, std::vector<std::string> uris) = 0;
};

}  // namespace tagring::replay
