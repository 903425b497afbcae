// The content of posts, fetched from their authors' servers when somebody wants to read it: URIs are all that
// a node stores. What was fetched is remembered for minutes, so that a reader who scrolls, or many who read
// the same hashtag, ask each server once.
//
// A server that does not answer in time has its posts left out; the request goes on in the background, and
// the next reader finds the answer.
#pragma once

#include <algorithm>
#include <compare>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.hpp"
#include "base/runtime.hpp"
#include "federation/signed_client.hpp"
#include "posts/status.hpp"
#include "queues/alarm.hpp"

namespace tagring::posts {

class PostCache {
 public:
  struct Options {
    Duration wait = std::chrono::seconds(4);           // for one page of posts, all together
    Duration fresh = std::chrono::minutes(5);          // a post is not fetched again before
    Duration gone = std::chrono::minutes(10);          // nor one that its server says does not exist
    Duration failed = std::chrono::seconds(30);        // nor one whose server did not answer
    Duration author_fresh = std::chrono::minutes(10);  // who hides meanwhile is hidden after that
    std::size_t remembered_max = 10'000;               // posts and authors
    std::size_t bytes_max = 64U << 20U;                // of their documents, as they came
    std::size_t concurrent_max = 64;                   // fetches under way
    std::size_t waiting_max = 2000;                    // fetches not begun; beyond that posts are left out
    // Of both, of what readers name: servers that never answer hold no more places than these.
    std::size_t named_concurrent_max = 16;
    std::size_t named_waiting_max = 200;
    // Asked before each request but the first that a fetch takes which a reader has named.
    std::function<bool(const std::string& host)> may_ask_more = {};
    // Of both, of one registered domain: whoever has one has any number of hosts. Of the last quarter of
    // either, an eighth of that, and two at the least: else servers of few domains that answer slowly would
    // leave nothing to others.
    std::size_t per_domain_max = 8;
    std::size_t domain_waiting_max = 300;  // what readers name, and a page of posts with as many authors
  };
  struct Wanted {
    std::string uri;
    std::string author;  // may be empty: then the post tells
    bool named = false;  // by a reader, and perhaps not a post at all
  };
  struct Content {
    std::shared_ptr<const Post> post;
    std::shared_ptr<const json::object> account;
  };

  PostCache(Options options, federation::SignedClient& client, const Site& site, const Runtime& runtime);
  [[nodiscard]] Task<void> stop();

  // For each that is wanted what it says, or nothing if it is gone, is not what it should be, or cannot be
  // had by `deadline`.
  [[nodiscard]] Task<std::vector<std::optional<Content>>> read(std::vector<Wanted> wanted, Instant deadline);
  // That read() needs to ask nobody for it now.
  [[nodiscard]] bool has(const std::string& uri) const;
  // The post stands in the history of none of its hashtags: remembered for a minute, since one that is new
  // comes there later than it can be fetched.
  void note_nowhere(const std::string& uri);
  [[nodiscard]] bool is_nowhere(const std::string& uri) const;
  // Of what read() gave nothing for: its server has not said that there is nothing, so that it may come yet.
  [[nodiscard]] bool may_come(const std::string& uri) const;
  // When a page that is asked for now should be there.
  [[nodiscard]] Instant deadline() const { return clock_.now() + options_.wait; }
  // The post, or the author, has changed or is gone: what is remembered of it does not count any more.
  void forget(const std::string& uri);
  // What read() gives of the post may be from before forget(), of a cache of its server, which has it until
  // then.
  [[nodiscard]] std::optional<Instant> outdated_until(const std::string& uri) const;

  // The Status of a post, under its id in the timeline that it is shown in. From now on readers may ask for
  // it by that id.
  [[nodiscard]] json::object show(const Content& content, StatusId id);
  // The URI of what was shown so; empty if that is not remembered.
  [[nodiscard]] std::string shown_as(StatusId id) const;
  // URIs of posts here that answer that one.
  [[nodiscard]] std::vector<std::string> replies_to(const std::string& uri) const;
  // Whose Account has been shown under that id, that name ("alice@social.example"), or the address of that
  // profile: the author's URI; empty if that is not remembered.
  [[nodiscard]] std::string author_named(const std::string& name) const;
  // The author's Account, as fresh as beside a post; null if it is gone, hides, or cannot be had by
  // `deadline`.
  [[nodiscard]] Task<std::shared_ptr<const json::object>> account(std::string author, Instant deadline);
  // Where read() found another post of the same server than the URI named, as at the address that a browser
  // shows: the URI of that post. Else empty.
  [[nodiscard]] std::string found_at(const std::string& url) const;

  struct Counters {
    std::uint64_t fetched = 0;
    std::uint64_t failed = 0;
    std::uint64_t remembered = 0;  // reads that needed no fetch
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  // A reader may name the URI of an author as that of a post: what comes of it says nothing about the author.
  enum class Kind : std::uint8_t { kPost, kAuthor };
  struct Key {
    Kind kind = Kind::kPost;
    std::string uri;

    friend auto operator<=>(const Key&, const Key&) = default;
  };
  enum class State : std::uint8_t { kWaiting, kFetching, kThere, kGone, kFailed };
  struct Entry {
    State state = State::kWaiting;
    Instant since;
    std::size_t bytes = 0;
    std::shared_ptr<const Post> post;             // of a post
    std::shared_ptr<const json::object> account;  // of an author
    std::string other = {};                       // see found_at()
    bool stale = false;                           // forgotten while it was being fetched
    bool named = false;                           // waits, or is fetched, for one who named it
    std::optional<Instant> outdated_until = {};   // see outdated_until()
    Instant nowhere_until = {};                   // see note_nowhere()
  };

  [[nodiscard]] const Entry* find(Kind kind, const std::string& uri) const;
  void want(Kind kind, const std::string& uri, bool named);
  [[nodiscard]] bool is_fresh(const Entry& entry, Kind kind, Instant at) const;
  [[nodiscard]] bool is_pending(Kind kind, const std::string& uri) const;
  // As it was had since `asked`, or was fresh then: there may have been no room to fetch it.
  [[nodiscard]] std::optional<Content> content(const Wanted& wanted, Instant asked) const;
  void begin_fetches();
  [[nodiscard]] bool is_failing(const std::string& origin) const;
  void note_failing(const std::string& origin, bool failed);
  Task<void> fetch(Key key);
  void finish(const Key& key, Entry result);
  // What must be fetched again anyway goes first, the oldest; then what is oldest of the registered domain
  // that has most.
  void make_room();
  void drop(const Key& key);
  void take_in(const Key& key, const Entry& entry);
  void leave_out(const Key& key, const Entry& entry);

  // Those of one registered domain.
  struct Held {
    std::set<std::pair<Instant, Key>> by_age;
    std::size_t cost = 0;
    [[nodiscard]] std::size_t size() const { return cost; }
  };
  // In bytes: each takes a place, too.
  [[nodiscard]] std::size_t cost_of(const Entry& entry) const {
    return entry.bytes + options_.bytes_max / std::max<std::size_t>(1, options_.remembered_max) + 1;
  }

  const Options options_;
  federation::SignedClient& client_;
  Site site_;
  Clock& clock_;
  Workers& workers_;
  std::map<Key, Entry> entries_;
  Shares<Held> held_;                       // what came of fetches, by cost
  std::map<std::string, Instant> changed_;  // by URI: when forget() was called last; some are lost
  struct Job {
    Key key;
    std::string origin;
    std::string domain;  // registered
  };
  static Job job_for(const Key& key);
  std::deque<Job> queue_;
  std::set<std::pair<std::string, std::string>> replies_;  // URIs of a post and of one that answers it
  std::map<StatusId, std::string> shown_;                  // URIs
  std::deque<StatusId> shown_first_;                       // in the order in which they were shown first
  std::map<std::string, std::string> accounts_;            // URIs, by all that names them
  std::map<std::string, std::size_t> domain_under_way_;
  std::map<std::string, std::size_t> domain_waiting_;
  // Origins that did not answer in time, and when. What readers name says nothing of the other posts there.
  std::map<std::string, Instant> failing_;
  std::size_t fetching_ = 0;
  std::size_t named_fetching_ = 0;
  std::size_t named_waiting_ = 0;
  std::size_t bytes_ = 0;
  Counters counters_;
  queues::Alarm alarm_;
  TaskGroup tasks_;
};

}  // namespace tagring::posts
