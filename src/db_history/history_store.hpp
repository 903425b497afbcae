// storage::HistoryStore on SQLite: about 60 bytes a post, indexes included (bench/ measures it); and on
// PostgreSQL, where it is about 360, and is measured: see bytes_of_entry().
#pragma once

#include <atomic>

#include "redundancy/storage_hints.hpp"
#include "sql/database.hpp"
#include "storage/history.hpp"

namespace tagring::db_history {

class SqliteHistoryStore : public storage::HistoryStore {
 public:
  // PostgreSQL: what a post takes as long as there are few of them, and between what bounds it is believed.
  // Above, most of it is the place of posts that were let go, which PostgreSQL keeps for later ones: if that
  // counted in full, letting go would make posts look larger, and more would have to go, without end.
  static constexpr std::uint64_t kUsualOnPostgres = 360;
  static constexpr std::uint64_t kLeastOnPostgres = kUsualOnPostgres / 2;
  static constexpr std::uint64_t kMostOnPostgres = kUsualOnPostgres * 3 / 2;
  static constexpr std::uint64_t kFew = 10'000;

  // `database` must outlive it.
  explicit SqliteHistoryStore(sql::Database& database);

  Task<Result<void>> put(std::vector<storage::HistoryEntry> entries) override;
  Task<Result<void>> correct(redundancy::Partition partition, std::string uri,
                             std::optional<storage::HistoryEntry> truth, bool promised) override;
  Task<Result<storage::HistoryPage>> page(redundancy::Partition partition,
                                          std::optional<storage::HistoryCursor> cursor,
                                          std::size_t limit) override;
  Task<Result<storage::HistoryPage>> page_after(redundancy::Partition partition,
                                                storage::HistoryCursor cursor, std::size_t limit) override;
  Task<Result<std::vector<storage::HistoryDay>>> days(redundancy::Partition partition,
                                                      std::chrono::sys_days from,
                                                      std::chrono::sys_days to) override;
  Task<Result<std::vector<storage::HistoryEntry>>> segment(
      Segment segment, std::optional<redundancy::Partition> after_partition,
      std::optional<storage::HistoryCursor> after, std::size_t limit) override;
  Task<Result<std::vector<storage::HourDigest>>> digests(std::vector<storage::HourRange> ranges,
                                                         std::int64_t since) override;
  Task<Result<std::vector<storage::HourDigest>>> split(storage::HourRange range, std::int64_t since,
                                                       std::size_t parts) override;
  Task<Result<std::vector<storage::HistoryEntry>>> entries(storage::HourRange range, std::int64_t since,
                                                           std::optional<storage::HistoryCursor> after,
                                                           std::size_t limit) override;
  Task<Result<std::vector<storage::HourPlace>>> floors(storage::HourRange range, std::size_t limit) override;
  Task<Result<std::vector<WallTime>>> kept_from(std::vector<redundancy::Partition> partitions) override;
  Task<Result<std::vector<std::optional<storage::HistoryEntry>>>> find(
      std::vector<std::pair<redundancy::Partition, std::string>> posts) override;
  Task<Result<std::vector<storage::HistoryEntry>>> heard(std::size_t limit) override;
  Task<Result<Bucket>> bucket(redundancy::Partition partition, std::int64_t hour,
                              std::optional<storage::HistoryCursor> after, std::size_t limit) override;
  Task<Result<void>> take_down(storage::TakeDown notice) override;
  Task<Result<std::optional<storage::TakeDown>>> take_down_of(Tag tag, crypto::Hash256 id) override;
  Task<Result<std::vector<storage::TakeDown>>> take_downs() override;
  Task<Result<void>> undo_take_down(Tag tag, std::string uri) override;
  Task<Result<std::vector<Span>>> spans(std::optional<RingId> after, std::size_t limit) override;
  Task<Result<Span>> let_go(redundancy::Partition partition, std::size_t count, WallTime before) override;
  Task<Result<std::vector<Weight>>> weights(std::optional<RingId> after, std::size_t limit) override;
  Task<Result<std::size_t>> forget(redundancy::Partition partition, std::size_t limit, WallTime at) override;
  Task<Result<void>> save_set(redundancy::StorageSet set) override;
  Task<Result<void>> drop_set(redundancy::StorageSet set) override;
  Task<Result<std::vector<redundancy::StorageSet>>> sets() override;
  Task<Result<Totals>> totals() override;
  // As the last totals() found.
  [[nodiscard]] std::uint64_t bytes_of_entry() const override { return bytes_of_entry_; }

 private:
  sql::Database& database_;
  std::atomic<std::uint64_t> bytes_of_entry_;
};

}  // namespace tagring::db_history
