// Helpers for tests of the stores: a clock that stands still, a directory that goes away, tasks run to their
// end.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <gtest/gtest.h>
#include <optional>
#include <stdlib.h>
#include <string>

#include "base/time.hpp"
#include "db/stores.hpp"

namespace tagring::db {

using namespace sql;

class ManualClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return Instant(wall.time_since_epoch()); }
  [[nodiscard]] WallTime wall_now() const override { return wall; }
  [[nodiscard]] boost::asio::awaitable<void> sleep_until(Instant) override { co_return; }

  WallTime wall = WallTime(std::chrono::days(20'000));
};

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "tagring-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
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

// Stores in a temporary file, jobs inline.
class StoresTest : public testing::Test {
 protected:
  StoresTest() { reopen(); }

  // Closes the database in good order and opens it again.
  void reopen() {
    stores.reset();
    auto opened = open_stores({.path = directory.file("db"), .vfs = {}, .mode = Mode::kInline}, clock);
    if (!opened) throw std::runtime_error(opened.error().message);
    stores = std::move(*opened);
  }

  TemporaryDirectory directory;
  ManualClock clock;
  std::unique_ptr<Stores> stores;
};

inline WallTime at(std::int64_t milliseconds) { return WallTime(Duration(milliseconds)); }

}  // namespace tagring::db
