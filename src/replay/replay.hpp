// Sends the history of a hashtag to an instance that uses this node as a relay, as slowly as it can bear:
// one Announce a post, the same that it would have got when the post was new (docs/protocol.md §9.3). A
// stock Mastodon files such a post under its own date, and shows it to nobody who did not look for it.
//
// The replays of one instance run one after the other. First a replay reads the history, newest first, and
// writes down the ends of every page of ReplayPages::kSize posts: about 150 bytes and, for 5000 posts, 25
// queries to the storage owners. Each page is read once more when its turn comes, from whichever end was
// asked for. So the order costs nothing but the reading ahead, and nothing that was removed meanwhile is
// sent.
//
// Whoever gets a post fetches it from its origin; so that one server is not asked too often, posts of one
// origin are apart, whoever they are for. And few authors of a day have a place (ReplayPlaces) under each
// hashtag of a post; which those are its origin is asked before. A replay that has to wait for one or the
// other lets the next one go on. Where a hashtag has no place at all, by itself, a replay of it waits, and
// says why; posts of other replays that are under it, too, are left out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/runtime.hpp"
#include "instances/instances.hpp"
#include "queues/backoff.hpp"
#include "replay/replay_pages.hpp"
#include "replay/replay_places.hpp"
#include "replay/replay_sender.hpp"
#include "replay/replay_store.hpp"
#include "storage/history.hpp"

namespace tagring::replay {

class Replayer {
 public:
  static constexpr std::uint32_t kPerMinuteMax = 600;
  static constexpr std::uint32_t kPerMinute = 60;
  static constexpr std::uint32_t kAuthorsPerDay = kAuthorsOfATrend - 1;
  static constexpr std::uint32_t kAuthorsPerDayMax = 1'000;
  static constexpr Duration kOriginEvery = std::chrono::seconds(5);
  // A replay that has sent nothing for that long, although it tried, is given up.
  static constexpr Duration kPatience = std::chrono::days(7);

  struct Limits {
    Duration age_max;             // of posts
    std::uint64_t posts_max = 0;  // of one replay
  };
  struct Request {
    std::string host;
    std::string tag;  // canonical
    bool newest_first = true;
    std::optional<Duration> age_max;         // none, or more: as Limits
    std::optional<std::uint64_t> posts_max;  // none: as Limits
    std::uint32_t per_minute = kPerMinute;
    std::uint32_t authors_per_day = kAuthorsPerDay;  // 0: any number
  };

  Replayer(Limits limits, ReplayStore& store, ReplayPages& pages, ReplaySender& sender, ReplayPlaces& places,
           const Runtime& runtime)
      : limits_(limits),
        store_(store),
        pages_(pages),
        sender_(sender),
        places_(places),
        clock_(runtime.clock),
        rng_(runtime.rng.fork("replay")),
        log_(runtime.log),
        tasks_(runtime.executor) {}

  [[nodiscard]] Task<Result<void>> load();
  // Goes on with the replays that were under way.
  void start();
  [[nodiscard]] Task<void> stop();

  // Durable when it completes. kNotFound if the instance is not subscribed to the hashtag, kConflict if a
  // replay of it is under way, kTooLarge for more posts than the limit, kInvalid for a rate that is none, or
  // if all posts would be too old when the first ones go.
  [[nodiscard]] Task<Result<Replay>> begin(Request request);
  // kNotFound if no replay of it is under way.
  [[nodiscard]] Task<Result<void>> cancel(std::string host, std::string tag);

  // [{"host", "tag", "order", "state", "reason"?, "sent", "skipped", "estimated", "newest"?, "oldest"?,
  //   "per_minute", "authors_per_day", "started", "failing_since"?, "waits_until"?, "waits_for"?}], ended
  //   ones as well, until they are replaced.
  [[nodiscard]] json::array list() const;
  // There is one of that hashtag to that host, under way or ended.
  [[nodiscard]] bool has(const std::string& host, const std::string& tag) const {
    return replays_.contains({host, tag});
  }
  [[nodiscard]] std::size_t active() const;
  [[nodiscard]] ReplayPlaces& places() { return places_; }

 private:
  using Key = std::pair<std::string, std::string>;  // host, tag
  using Recipient = instances::Instances::Recipient;
  // What one instance's task holds in memory.
  struct Work {
    std::optional<Key> key;                // of the replay that `posts` are of
    WallTime started;                      // and when that was begun: the next one of that key is another
    std::vector<ReplayPages::Post> posts;  // the rest of the page, the next one last
    Instant read;
    unsigned failures = 0;  // in a row
    unsigned refusals = 0;  // in a row
    // The post whose server was asked last, its hashtags, and on which day: so it is asked once a day,
    // whatever the instance answers.
    struct Learnt {
      std::string uri;
      std::vector<std::string> tags;
      std::int64_t day = 0;
    } learnt;
  };

  [[nodiscard]] Replay* active(const Key& key);
  // As it is now; null if it has ended meanwhile, or another was begun.
  [[nodiscard]] Replay* current(const Replay& replay);
  // Which replay to go on with, and when.
  struct Next {
    Instant at;
    WallTime started;
    Key key;
    friend auto operator<=>(const Next&, const Next&) = default;
  };
  [[nodiscard]] std::optional<Next> next_of(const std::string& host) const;
  void serve_soon(const std::string& host);
  Task<void> serve(std::string host);
  // Each returns how long to wait then.
  Task<Result<Duration>> step(Key key, Work* work);
  Task<Result<Duration>> read_ahead(Replay replay);
  Task<Result<Duration>> send_next(Replay replay, Work* work);
  using Outgoing = ReplayPlaces::Outgoing;
  void pass_over(Replay& replay, Work* work);
  Task<Result<std::vector<std::string>>> tags_of(std::string tag, std::string uri, Work* work);
  [[nodiscard]] bool is_given_up(const std::string& origin);
  // The next post, whose hashtags cannot be learnt: at once, or when its server was silent for long.
  Task<Result<Duration>> leave_out(Replay replay, ErrorCode why, Work* work);
  Task<Result<Duration>> wait_until_open(Replay replay);
  Task<Result<Duration>> send_if_there_is_room(Replay replay, Outgoing post, Work* work);
  // What the lack is of has no place today.
  Task<Result<Duration>> wait_or_leave_out(Replay replay, ReplayPlaces::Lack lack, Work* work);
  void rest(const Key& key, Instant until, std::string why = {});
  void note_asked(const std::string& uri);
  // When a post's server may be asked, by this node or by who gets the post.
  [[nodiscard]] Instant ask_again(const std::string& uri) const;
  Task<Result<Duration>> deliver(Replay replay, Outgoing post, Recipient recipient, Work* work);
  Task<Result<void>> read_page(Replay replay, Work* work);
  Task<void> note_failure(Key key, Error error);
  Task<Result<void>> save(Replay replay, std::vector<std::string> sent);
  Task<Result<void>> end(Key key, ReplayState state, std::string reason);

  Limits limits_;
  ReplayStore& store_;
  ReplayPages& pages_;
  ReplaySender& sender_;
  ReplayPlaces& places_;
  Clock& clock_;
  Rng rng_;
  Log& log_;
  std::map<Key, Replay> replays_;
  struct Rest {
    Instant until;
    std::string why;  // as people are told, where it is for long
  };
  std::map<Key, Rest> resting_;
  std::map<std::string, Instant> origins_;  // hosts that are to be asked again then
  struct Silence {
    Instant since;
    Instant last;        // when it was asked
    unsigned times = 0;  // in a row, by whatever replay
  };
  std::map<std::string, Silence> silent_;  // by host
  std::set<std::string> served_;           // hosts that have a task
  TaskGroup tasks_;
};

}  // namespace tagring::replay
