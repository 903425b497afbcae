// The timeline of a hashtag, or of several together, in the manner of Mastodon's API: places from the history
// of the storage ring, content from the authors' servers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "home/timeline_query.hpp"
#include "node/history_service.hpp"
#include "node/posts.hpp"

namespace tagring::node {

class Timeline {
 public:
  struct Options {
    std::size_t page_entries = 80;            // of the history, asked for at a time
    std::size_t scanned_max = 240;            // posts looked at for one page; those that a filter drops count
    std::size_t rounds_max = 12;              // of asking for history, for one page
    Duration wait = std::chrono::seconds(8);  // for one page, all rounds together
  };

  Timeline(Options options, HistoryService& history, Posts& posts, Clock& clock)
      : options_(options), history_(history), posts_(posts), clock_(clock) {}

  struct Page {
    json::array statuses;  // newest first
    // The ids between which everything was looked at, shown or not: where to go on. Absent if nothing was.
    std::optional<home::StatusId> oldest;
    std::optional<home::StatusId> newest;
    bool more = false;  // in the direction of reading
  };
  // kUnavailable if no replica of any of the hashtags answers.
  [[nodiscard]] Task<Result<Page>> read(home::TimelineQuery query);

  // The author's posts come from this node's own instances.
  std::function<bool(const std::string& author)> is_local = [](const std::string&) { return false; };

 private:
  struct Entry {
    home::StatusId id = 0;
    storage::HistoryEntry entry;
  };
  struct Source;
  class Scan;

  Task<Result<void>> refill(Source* source, bool forwards);
  Task<std::vector<json::object>> show(std::vector<Entry> entries, home::TimelineQuery query,
                                       Instant deadline);
  [[nodiscard]] bool passes(const home::Post& post, const home::TimelineQuery& query) const;

  Options options_;
  HistoryService& history_;
  Posts& posts_;
  Clock& clock_;
};

}  // namespace tagring::node
