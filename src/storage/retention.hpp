// Makes room in the history when it is full (paper §5.7): first of what is older than a year, the oldest of
// all hashtags first; if that is not enough, of the hashtags that have most, the oldest of each in turns. So
// a flood under one hashtag displaces itself, and whoever floods its neighbours takes nothing from it before
// they all have as much. Nothing goes while there is room.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "base/log.hpp"
#include "base/runtime.hpp"
#include "base/task.hpp"
#include "storage/history.hpp"

namespace tagring::storage {

class Retention {
 public:
  struct Options {
    std::uint64_t bytes_max = 0;  // of history, as HistoryStore::bytes_of_entry() counts; 0: no limit
    Duration keep = std::chrono::days(365);
    Duration every = std::chrono::minutes(1);  // between two looks
    // Bytes that all data may still grow by on the disk; less than 0 if it should take less. None: not known.
    std::function<std::optional<std::int64_t>()> room = [] { return std::nullopt; };
  };
  Retention(Options options, HistoryStore& history, const Runtime& runtime)
      : options_(std::move(options)),
        history_(history),
        clock_(runtime.clock),
        log_(runtime.log),
        tasks_(runtime.executor) {}

  void start() {
    if (options_.bytes_max > 0) tasks_.spawn("retention", look_for_ever());
  }
  [[nodiscard]] Task<void> stop();

  // Lets go of what is too much, and a hundredth more. How many posts.
  [[nodiscard]] Task<Result<std::uint64_t>> make_room();
  struct State {
    std::uint64_t posts = 0;      // at the last look
    std::uint64_t bytes = 0;      // that these take, as far as it is known
    std::uint64_t database = 0;   // bytes of everything that is kept with them
    std::optional<Instant> at;    // when that was; none: there was none yet, or there is no limit to look at
    std::uint64_t let_go = 0;     // ever
    std::uint64_t too_early = 0;  // of these, since the start, younger than a year
  };
  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] const Options& options() const { return options_; }

 private:
  using Span = HistoryStore::Span;
  Task<void> look_for_ever();
  Task<Result<std::vector<Span>>> all_spans();
  Task<Result<std::uint64_t>> let_go_oldest(std::vector<Span> spans, std::uint64_t excess, WallTime before);
  Task<Result<std::uint64_t>> let_go_of_largest(std::vector<Span> spans, std::uint64_t excess);

  const Options options_;
  HistoryStore& history_;
  Clock& clock_;
  Log& log_;
  State state_;
  TaskGroup tasks_;
};

// How many posts may be here: as many as `bytes_max` holds, and no more than `room` on the disk (see above)
// and what is unused of the database hold, but for the last gigabyte.
[[nodiscard]] std::uint64_t posts_max(const HistoryStore::Totals& totals, std::uint64_t bytes_max,
                                      const std::optional<std::int64_t>& room);

}  // namespace tagring::storage
