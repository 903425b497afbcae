// The timeline of a hashtag, or of several together, in the manner of Mastodon's API: places from the history
// of the storage ring, content from the authors' servers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mastodon_api/timeline_query.hpp"
#include "posts/post_cache.hpp"
#include "storage/history_service.hpp"

namespace tagring::mastodon_api {

class Timeline {
 public:
  struct Options {
    // The author is of an instance of this node.
    std::function<bool(const std::string& author)> is_local = [](const std::string&) { return false; };
    std::size_t page_entries = 80;            // of the history, asked for first
    std::size_t scanned_max = 240;            // posts looked at for one page; those that a filter drops count
    std::size_t rounds_max = 12;              // of asking for history until there is something to show
    Duration wait = std::chrono::seconds(8);  // for one page, all rounds together
    std::size_t bytes_max = 2U << 20U;  // of the statuses of a page; it ends with the one that is beyond
  };

  Timeline(Options options, storage::HistoryService& history, posts::PostCache& posts, Clock& clock)
      : options_(std::move(options)), history_(history), posts_(posts), clock_(clock) {}

  struct Page {
    json::array statuses;  // newest first
    // The ids between which everything was looked at, shown or not: where to go on. Absent if nothing was.
    std::optional<posts::StatusId> oldest;
    std::optional<posts::StatusId> newest;
    bool more = false;  // in the direction of reading
  };
  // kUnavailable if no replica of any of the hashtags answers.
  [[nodiscard]] Task<Result<Page>> read(TimelineQuery query);

 private:
  struct Entry {
    posts::StatusId id = 0;
    storage::HistoryEntry entry;
  };
  struct Source;
  class Scan;

  using Contents = std::vector<std::optional<posts::PostCache::Content>>;
  Task<Contents> contents(std::vector<Entry> entries, TimelineQuery query, Instant deadline);
  [[nodiscard]] bool passes(const posts::Post& post, const TimelineQuery& query) const;

  const Options options_;
  storage::HistoryService& history_;
  posts::PostCache& posts_;
  Clock& clock_;
};

}  // namespace tagring::mastodon_api
