#include "db_history/day_counts.hpp"

#include "db_history/history_rows.hpp"

namespace tagring::db_history {

void DayCounts::add(WallTime published, std::int64_t author) {
  const auto day = std::chrono::floor<std::chrono::days>(published);
  if (days_.empty() || days_.back().day != day) {
    days_.push_back({day});
    authors_.clear();
  }
  ++days_.back().posts;
  if (authors_.insert(author).second) ++days_.back().authors;
}

Result<bool> DayCounts::count_on(sql::Connection& db) {
  TRY(const auto known, history_rows::find_partition(db, partition_));
  if (!known) return false;
  sql::Statement row = db.query(
      "SELECT published, tie, author, removed FROM history"
      " WHERE tag = ? AND (published, tie) > (?, ?) AND published < ? ORDER BY published, tie LIMIT ?",
      known->id, after_, tie_, to_, kRowsMax);
  std::string tie = tie_;
  for (std::size_t rows = 0;; ++rows) {
    TRY(const bool found, row.step());
    if (!found) {
      tie_ = std::move(tie);
      return rows == kRowsMax;
    }
    after_ = row.time(0);
    tie = row.view(1);
    if (row.integer(3) == 0) add(after_, row.integer(2));
  }
}

}  // namespace tagring::db_history
