// Helpers for tests of the stores: a clock that stands still, a directory that goes away, tasks run to their
// end.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "db/stores.hpp"
#include "tests/db/postgres_server.hpp"
#include "tests/db/temporary_directory.hpp"

namespace tagring::db {

using namespace sql;

class ManualClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return Instant(wall.time_since_epoch() - set_by); }
  [[nodiscard]] WallTime wall_now() const override { return wall; }
  [[nodiscard]] boost::asio::awaitable<void> sleep_until(Instant) override { co_return; }

  void set_ahead(Duration by) {
    wall += by;
    set_by += by;
  }

  WallTime wall = WallTime(std::chrono::days(20'000));
  Duration set_by{0};  // of that
};

template <class T>
Task<void> keep_result(Task<T> task, std::optional<T>* result) {
  result->emplace(co_await std::move(task));
}

// Runs `task` to its end on a loop of its own.
template <class T>
T run(Task<T> task) {
  boost::asio::io_context loop;
  std::optional<T> result;
  boost::asio::co_spawn(loop, keep_result(std::move(task), &result),
                        [](const std::exception_ptr& error) { ASSERT_FALSE(error); });
  loop.run();
  return std::move(*result);
}

// The value of a task that must succeed.
template <class T>
T must(Task<Result<T>> task) {
  Result<T> result = run(std::move(task));
  if (!result) {
    ADD_FAILURE() << to_string(result.error().code) << ": " << result.error().message;
    std::abort();
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// A database of a test's own, of either kind.
class Place {
 public:
  explicit Place(Dialect dialect = Dialect::kSqlite)
      : postgres_(dialect == Dialect::kPostgres ? PostgresServer::get().fresh() : "") {}

  [[nodiscard]] DatabaseOptions options(Mode mode = Mode::kInline) const {
    return {.path = postgres_.empty() ? directory_.file("db") : "",
            .vfs = {},
            .postgres = postgres_,
            .mode = mode};
  }
  [[nodiscard]] Result<Connection> connect() const {
    return postgres_.empty() ? Connection::open(directory_.file("db")) : Connection::connect(postgres_);
  }
  [[nodiscard]] bool is_postgres() const { return !postgres_.empty(); }

 private:
  TemporaryDirectory directory_;
  std::string postgres_;
};

// Stores in a database of their own, jobs inline.
class OpenStores {
 protected:
  explicit OpenStores(Dialect dialect = Dialect::kSqlite) : place(dialect) { reopen(); }

  // Closes the database in good order and opens it again.
  void reopen() {
    stores.reset();
    auto opened = open_stores(place.options(), clock);
    if (!opened) throw std::runtime_error(opened.error().message);
    stores = std::move(*opened);
  }

  Place place;
  ManualClock clock;
  std::unique_ptr<Stores> stores;
};

class StoresTest : public testing::TestWithParam<Dialect>, protected OpenStores {
 protected:
  StoresTest() : OpenStores(GetParam()) {}
};

// For INSTANTIATE_TEST_SUITE_P: every kind of database that there is on this machine.
inline auto every_database() { return testing::Values(Dialect::kSqlite, Dialect::kPostgres); }
inline std::string name_of(const testing::TestParamInfo<Dialect>& database) {
  return database.param == Dialect::kSqlite ? "Sqlite" : "Postgres";
}

inline WallTime at(std::int64_t milliseconds) { return WallTime(Duration(milliseconds)); }

}  // namespace tagring::db
