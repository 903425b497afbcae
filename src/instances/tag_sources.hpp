// Which hashtags an instance gets, without its administrator's typing them: those that its people follow, and
// those that the server itself asks relays for (docs/protocol.md §9.4).
//
// Every source is read again and again. Their union is subscribed for the instance, beside what was
// subscribed by hand; a hashtag that no source wants any more is unsubscribed, unless it was chosen by hand.
// What was unsubscribed by hand stays so. A source that cannot be read changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/runtime.hpp"
#include "base/workers.hpp"
#include "federation/blocks.hpp"
#include "http/message.hpp"
#include "instances/instance_store.hpp"
#include "instances/instances.hpp"
#include "instances/tag_tokens.hpp"

namespace tagring::instances {

// Names of followed hashtags in the database of a Mastodon, most followed first. Blocks.
using ReadFollowedTags =
    std::function<Result<std::vector<std::string>>(const std::string& dsn, std::uint64_t limit)>;

class TagSources {
 public:
  struct Options {
    std::size_t tags_max = 1000;  // of one instance
    Duration every = std::chrono::minutes(10);
    ReadTagTokens read_tokens = {};  // none: there are no tokens
    std::string database_host = {};  // whose database it is; empty: none
    std::string database_dsn = {};
    ReadFollowedTags read_database = {};
  };

  TagSources(Options options, InstanceStore& store, Instances& instances, const federation::Blocks& blocks,
             HttpClient& http, const Runtime& runtime)
      : options_(std::move(options)),
        tags_max_(options_.tags_max),
        store_(store),
        instances_(instances),
        blocks_(blocks),
        http_(http),
        workers_(runtime.workers),
        clock_(runtime.clock),
        rng_(runtime.rng.fork("tag sources")),
        log_(runtime.log),
        tasks_(runtime.executor) {}

  [[nodiscard]] Task<Result<void>> load();
  // Reads the sources from now on.
  void start();
  [[nodiscard]] Task<void> stop();
  // Counts when the sources are read next. What is subscribed beyond stays.
  void allow(std::size_t tags_max) { tags_max_ = tags_max; }

  // By hand; errors as of Instances.
  [[nodiscard]] Task<Result<void>> subscribe(std::string host, std::vector<std::string> tags);
  [[nodiscard]] Task<Result<void>> unsubscribe(std::string host, std::vector<std::string> tags);
  // What an instance is subscribed to, or would be: what unsubscribe() can end.
  [[nodiscard]] std::set<std::string> subscribed(const std::string& host) const;
  // {"host", "hashtags": ["cats"], "reasons": {"cats": ["admin", "followed_tags", "tag_relay"]},
  //  "sources": [{"source", "hashtags" (how many), "read"?, "note"?}]}
  [[nodiscard]] json::object describe(const std::string& host) const;

 private:
  using Tags = std::vector<std::string>;
  // By name: "admin", "excluded" (by hand, although a source wants it), "followed_tags/…" (a digest of the
  // token), "mastodon_database", "social_relay".
  using BySource = std::map<std::string, Tags>;
  struct State {
    WallTime read;  // successfully; 1970: never
    std::string note;
    bool failing = false;
    Instant again{};  // not before
  };

  [[nodiscard]] std::vector<std::string> sources_of(const std::string& host) const;
  void read_tokens();
  Task<void> poll();
  Task<bool> poll_host(std::string host);
  Task<Result<Tags>> read(std::string host, std::string source);
  Task<Result<Tags>> read_tokens_tags(std::string host, std::string source);
  Task<Result<Tags>> read_database();
  Task<Result<Tags>> read_social_relay(std::string host);
  Task<Result<HttpResponse>> get(std::string url, std::string token);
  [[nodiscard]] std::string shown(const std::string& host, const std::string& source) const;
  void note_failure(const std::string& host, const std::string& source, const Error& error);
  Task<Result<void>> apply(std::string host, Tags withdrawn, bool is_heard);
  Task<Result<void>> save_changes(std::string host, BySource before);

  const Options options_;
  std::size_t tags_max_;
  std::vector<TagToken> tokens_;
  std::string tokens_error_;
  InstanceStore& store_;
  Instances& instances_;
  const federation::Blocks& blocks_;
  HttpClient& http_;
  Workers& workers_;
  Clock& clock_;
  Rng rng_;
  Log& log_;
  std::map<std::string, BySource> wishes_;                       // by host
  std::map<std::pair<std::string, std::string>, State> states_;  // by host and source
  std::map<std::string, Instant> patience_;                      // which hosts asked for, until when
  TaskGroup tasks_;
};

}  // namespace tagring::instances
