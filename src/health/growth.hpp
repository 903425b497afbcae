// When the disk will be full, and the history, at the pace at which they have filled up: from samples of
// their real sizes, four a day, which are kept over restarts. Nothing is said before there is a week of them.
// Of data in PostgreSQL the disk is not known: how fast the database grows is said, and when the history is
// full.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/runtime.hpp"
#include "health/check.hpp"
#include "health/machine.hpp"
#include "health/memory.hpp"

namespace tagring::health {

// What was seen at one time, in bytes.
struct Sizes {
  WallTime at;
  std::uint64_t disk = 0;     // of the file system; 0: the data is in PostgreSQL
  std::int64_t room = 0;      // that is left there, without the part that the node keeps off; without a disk,
                              // as if it had none: less than 0 by what the database takes
  std::uint64_t history = 0;  // as "storage.max_octets" counts it
};

struct Forecast {
  std::int64_t days_seen = 0;
  double bytes_a_day = 0;  // that the disk loses, whoever takes them; or that the database takes
  bool has_disk = true;
  // From the last sample on. None: not within ten years.
  std::optional<std::int64_t> disk_full_in_days = {};
  std::optional<std::int64_t> history_full_in_days = {};

  // The pace, and for both what happens at the limit.
  [[nodiscard]] std::string text() const;
};

// By the straight line that fits the samples of the present disk best; they are in the order of time. When
// the history is full it grows no more. Nothing if they are of less than a week.
std::optional<Forecast> forecast(const std::vector<Sizes>& samples, std::uint64_t history_max);

class Growth {
 public:
  static constexpr Duration kEvery = std::chrono::hours(6);
  static constexpr std::size_t kSamplesMax = 120;  // of a month
  static constexpr std::int64_t kSoon = 30;        // days

  struct Sources {
    Machine* machine;  // none: the data is in PostgreSQL
    std::function<std::uint64_t()> history;
    std::uint64_t history_max;
    std::function<std::uint64_t()> database = {};  // bytes that all of it takes there; 0: not known yet
  };
  Growth(Sources sources, Memory memory, const Runtime& runtime);

  void start() { tasks_.spawn("growth", look_for_ever()); }
  [[nodiscard]] Task<void> stop();

  [[nodiscard]] std::optional<Forecast> look_ahead() const {
    return forecast(samples_, sources_.history_max);
  }
  // {"days_seen", "octets_a_day", "disk_full_in_days"?, "history_full_in_days"?, "text"}; nothing as long as
  // there is too little to go by.
  [[nodiscard]] std::optional<json::object> status() const;
  // Not well if the disk is full within kSoon days.
  [[nodiscard]] Check check() const;

 private:
  Task<void> look_for_ever();
  void take_sample();
  [[nodiscard]] std::optional<Sizes> look() const;

  const Sources sources_;
  const Memory memory_;
  std::vector<Sizes> samples_;
  Clock& clock_;
  Log& log_;
  TaskGroup tasks_;
};

}  // namespace tagring::health
