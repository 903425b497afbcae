#include "db_history/hour_reader.hpp"

#include <span>
#include <string_view>

#include "redundancy/partition.hpp"
#include "sql/keys.hpp"

namespace tagring::db_history {

Result<RingId> history_rows::key_of(std::string_view bytes) {
  if (bytes.size() != 32) return fail(ErrorCode::kCorrupt, "database: a key of a hashtag is not one");
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return RingId::from_bytes(std::span<const std::uint8_t, 32>(data, 32));
}

Result<void> for_each_hour(sql::Connection& db, const storage::HourRange& range, std::int64_t since,
                           const std::function<bool(const HourRow&)>& visit) {
  sql::Statement row = db.walk(
      "SELECT t.id, t.tag, t.key, h.hour, h.posts, h.digest, t.kept_from FROM history_tags t CROSS JOIN"
      " history_hours h WHERE"
      " h.tag = t.id AND t.key BETWEEN ?1 AND ?2 AND h.hour >= ?3 AND (t.key > ?1 OR h.hour >= ?4) AND"
      " (t.key < ?2 OR h.hour <= ?5) ORDER BY t.key, h.hour",
      sql::Blob{sql::key_bytes(range.first.key)}, sql::Blob{sql::key_bytes(range.last.key)}, since,
      range.first.hour, range.last.hour);
  for (;;) {
    TRY(const bool found, row.step());
    if (!found) return {};
    TRY(const RingId key, history_rows::key_of(row.view(2)));
    if (!visit(HourRow{{row.integer(0), redundancy::Partition::from_name(row.view(1)), row.time(6), {}},
                       key,
                       row.integer(3),
                       static_cast<std::uint64_t>(row.integer(4)),
                       static_cast<std::uint64_t>(row.integer(5))}))
      return {};
  }
}

Result<bool> HourReader::read_on(sql::Connection& db,
                                 const std::function<void(std::size_t range, const HourRow&)>& visit) {
  std::size_t hours = 0;
  for (; at_ < ranges_.size(); ++at_) {
    const storage::HourRange rest = ranges_[at_];
    TRY_VOID(for_each_hour(db, rest, since_, [&](const HourRow& hour) {
      visit(at_, hour);
      ranges_[at_].first = {hour.key, hour.hour + 1};
      return ++hours < kHoursMax;
    }));
    if (hours == kHoursMax) return true;
  }
  return false;
}

}  // namespace tagring::db_history
