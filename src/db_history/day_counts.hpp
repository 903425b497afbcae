// Counts posts and authors of each day of a partition, some thousand rows at a time: a history may have
// millions, and whoever writes must not wait for all of them. Internal to db_history/.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/time.hpp"
#include "redundancy/partition.hpp"
#include "sql/connection.hpp"
#include "storage/history.hpp"

namespace tagring::db_history {

class DayCounts {
 public:
  DayCounts(redundancy::Partition partition, std::chrono::sys_days from, std::chrono::sys_days to)
      : partition_(std::move(partition)), after_(WallTime(from) - Duration(1)), to_(to) {}

  static constexpr std::size_t kRowsMax = 2'000;
  // Counts on, by that many rows at most; false at the end. Each is of what is there by then.
  Result<bool> count_on(sql::Connection& db);
  // What storage::HistoryStore::days() says, after the end.
  [[nodiscard]] std::vector<storage::HistoryDay> take() { return std::move(days_); }

 private:
  void add(WallTime published, std::int64_t author);

  const redundancy::Partition partition_;
  WallTime after_;                  // the place of the last row,
  std::string tie_ = "\U0010ffff";  // greater than every URI
  const WallTime to_;
  std::vector<storage::HistoryDay> days_;
  std::unordered_set<std::int64_t> authors_;  // of the last of them
};

}  // namespace tagring::db_history
