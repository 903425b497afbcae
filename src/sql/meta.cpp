#include "sql/meta.hpp"

#include <algorithm>

namespace tagring::sql {

Task<Result<std::optional<std::string>>> SqliteMeta::get(std::string name) {
  return database_.read([name = std::move(name)](Connection& db) -> Result<std::optional<std::string>> {
    Statement value = db.query("SELECT value FROM meta WHERE name = ?", name);
    TRY(const bool row, value.step());
    if (!row) return std::nullopt;
    return value.text(0);
  });
}

Task<Result<void>> SqliteMeta::set(std::string name, std::string value) {
  return database_.write([name = std::move(name), value = std::move(value)](Connection& db) -> Result<void> {
    TRY_VOID(db.run(
        "INSERT INTO meta(name, value) VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
        name, Blob{value}));
    return {};
  });
}

Task<Result<std::uint64_t>> SqliteMeta::next_counter(std::string name) {
  // A prefix of its own: a caller's name cannot be that of a sequence.
  return database_.write([name = "node:" + name](Connection& db) { return reserve_numbers(db, name, 1); });
}

Task<Result<std::uint64_t>> SqliteMeta::next_incarnation(const Clock& clock) {
  const auto now = static_cast<std::uint64_t>(to_ms(clock.wall_now()));
  return database_.write([now](Connection& db) -> Result<std::uint64_t> {
    TRY(const std::uint64_t last, last_number(db, "node:incarnation"));
    const std::uint64_t next = std::max(last + 1, now);
    TRY_VOID(reserve_numbers(db, "node:incarnation", next - last));
    return next;
  });
}

Result<std::uint64_t> reserve_numbers(Connection& connection, const std::string& counter,
                                      std::uint64_t count) {
  Statement last = connection.query(
      "INSERT INTO counters(name, value) VALUES(?1, ?2)"
      " ON CONFLICT(name) DO UPDATE SET value = counters.value + excluded.value RETURNING value",
      counter, count);
  TRY(const bool row, last.step());
  if (!row) return fail(ErrorCode::kCorrupt, "database: no counter " + counter);
  const std::uint64_t first = last.number(0) - count + 1;
  TRY_VOID(last.step());
  return first;
}

Result<std::uint64_t> last_number(Connection& connection, const std::string& counter) {
  Statement last = connection.query("SELECT value FROM counters WHERE name = ?", counter);
  TRY(const bool row, last.step());
  return row ? last.number(0) : 0;
}

}  // namespace tagring::sql
