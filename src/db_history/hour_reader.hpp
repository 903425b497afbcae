// Reads the hours of ranges (storage/reconcile.hpp), some thousand at a time: a segment may have millions,
// and whoever writes must not wait for all of them. Internal to db_history/.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.hpp"
#include "base/ring_id.hpp"
#include "db_history/history_rows.hpp"
#include "sql/connection.hpp"
#include "storage/history.hpp"

namespace tagring::db_history {

struct HourRow {
  history_rows::PartitionRow of;
  RingId key;
  std::int64_t hour = 0;
  std::uint64_t posts = 0;
  std::uint64_t digest = 0;

  [[nodiscard]] storage::HourPlace place() const { return {key, hour}; }
};

// Calls `visit` with each hour of the range that has posts, in order, until it says false.
Result<void> for_each_hour(sql::Connection& db, const storage::HourRange& range, std::int64_t since,
                           const std::function<bool(const HourRow&)>& visit);

class HourReader {
 public:
  HourReader(std::vector<storage::HourRange> ranges, std::int64_t since)
      : ranges_(std::move(ranges)), since_(since) {}

  static constexpr std::size_t kHoursMax = 2'000;
  // Reads on, by that many hours at most, and says to which of the ranges each belongs; false at the end.
  // Each is as it is by then.
  Result<bool> read_on(sql::Connection& db,
                       const std::function<void(std::size_t range, const HourRow&)>& visit);

 private:
  std::vector<storage::HourRange> ranges_;  // what is left of them
  std::size_t at_ = 0;
  std::int64_t since_;
};

}  // namespace tagring::db_history
