#include "sql/backup.hpp"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/this_coro.hpp>
#include <charconv>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/bytes.hpp"

namespace tagring::sql {
namespace asio = boost::asio;
namespace {

constexpr int kPagesOfAPart = 512;

struct CloseDatabase {
  void operator()(sqlite3* handle) const { sqlite3_close(handle); }
};
struct FinishBackup {
  void operator()(sqlite3_backup* backup) const { sqlite3_backup_finish(backup); }
};

// Used, and destroyed, on the thread of the jobs.
struct Copy {
  std::unique_ptr<sqlite3, CloseDatabase> target;
  std::unique_ptr<sqlite3_backup, FinishBackup> backup;
};

std::unexpected<Error> cannot_write(const std::filesystem::path& file, const char* because) {
  return fail(ErrorCode::kUnavailable, fmt::format("cannot write {}: {}", file.string(), because));
}

Result<void> begin(Connection& source, Copy& copy, const std::filesystem::path& file) {
  // With the rights of its owner only: the node's key is in it.
  const int made = ::open(file.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (made < 0) return cannot_write(file, std::strerror(errno));
  ::close(made);
  sqlite3* target = nullptr;
  const int opened = sqlite3_open_v2(file.c_str(), &target, SQLITE_OPEN_READWRITE, nullptr);
  copy.target.reset(target);
  if (opened != SQLITE_OK) return cannot_write(file, sqlite3_errstr(opened));
  if (source.native() == nullptr) return cannot_write(file, "the database is no file");
  copy.backup.reset(sqlite3_backup_init(target, "main", source.native(), "main"));
  if (!copy.backup) return cannot_write(file, sqlite3_errmsg(target));
  return {};
}

// Whether it is done.
Result<bool> go_on(Copy& copy, const std::filesystem::path& file) {
  const int code = sqlite3_backup_step(copy.backup.get(), kPagesOfAPart);
  if (code == SQLITE_OK) return false;
  if (code == SQLITE_DONE) return true;
  return cannot_write(file, sqlite3_errstr(code));
}

Task<Result<void>> copy_all(Database& database, std::shared_ptr<Copy> copy, std::filesystem::path part) {
  CO_TRY_VOID(
      co_await database.read([copy, part](Connection& source) { return begin(source, *copy, part); }));
  for (bool is_done = false; !is_done;) {
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none)
      co_return fail(ErrorCode::kUnavailable, "the backup was called off");
    CO_TRY(is_done, co_await database.read([copy, part](Connection&) { return go_on(*copy, part); }));
  }
  co_return Result<void>();
}

// Whatever becomes of the job, it has the last reference.
Task<void> close(Database& database, std::shared_ptr<Copy> copy) {
  co_await database.read([copy = std::move(copy)](Connection&) -> Result<void> {
    copy->backup.reset();
    copy->target.reset();
    return {};
  });
}

using Handle = std::unique_ptr<sqlite3, CloseDatabase>;

// Of what nobody writes to, so that SQLite needs neither locks nor files beside it.
Result<Handle> open_to_look(const std::filesystem::path& file) {
  sqlite3* handle = nullptr;
  const std::string uri = "file:" + percent_encode(std::filesystem::absolute(file).string()) + "?immutable=1";
  const int opened = sqlite3_open_v2(uri.c_str(), &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  Handle database(handle);
  if (opened != SQLITE_OK) return fail(ErrorCode::kCorrupt, sqlite3_errstr(opened));
  return database;
}

// The first column of the first row; empty if there is none.
Result<std::string> first_value(sqlite3& database, const char* query) {
  std::string value;
  const auto keep_first = [](void* out, int, char** values, char**) {
    auto& text = *static_cast<std::string*>(out);
    if (text.empty() && values[0] != nullptr) text = values[0];
    return 0;
  };
  if (sqlite3_exec(&database, query, keep_first, &value, nullptr) != SQLITE_OK)
    return fail(ErrorCode::kCorrupt, sqlite3_errmsg(&database));
  return value;
}

}  // namespace

Task<Result<std::uint64_t>> back_up(Database& database, std::filesystem::path file) {
  std::error_code error;
  if (!file.is_absolute())
    co_return fail(ErrorCode::kInvalid, fmt::format("'{}' is no absolute path", file.string()));
  if (std::filesystem::exists(file, error))
    co_return fail(ErrorCode::kInvalid, fmt::format("{} is there already: give another name", file.string()));
  const std::filesystem::path part = file.string() + ".part";
  std::filesystem::remove(part, error);
  auto copy = std::make_shared<Copy>();
  co_await asio::this_coro::throw_if_cancelled(false);  // who is cancelled closes it, too
  Result<void> done = co_await copy_all(database, copy, part);
  co_await close(database, std::move(copy));
  co_await asio::this_coro::throw_if_cancelled(true);
  if (done) done = sync(part);
  if (done) {
    std::filesystem::rename(part, file, error);
    if (error) done = cannot_write(file, error.message().c_str());
  }
  if (done) done = sync(file.parent_path());
  if (!done) {
    std::filesystem::remove(part, error);
    co_return std::unexpected(done.error());
  }
  co_return std::filesystem::file_size(file, error);
}

Result<void> sync(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = file >= 0 && ::fsync(file) == 0;
  const int error = errno;
  if (file >= 0) ::close(file);
  if (!done) return cannot_write(path, std::strerror(error));
  return {};
}

Result<int> verify(const std::filesystem::path& file) {
  TRY(const Handle database, open_to_look(file));
  TRY(const std::string answer, first_value(*database, "PRAGMA integrity_check"));
  if (answer != "ok") return fail(ErrorCode::kCorrupt, answer);
  const Result<std::string> text = first_value(*database, "SELECT max(version) FROM migrations");
  if (!text || text->empty()) return fail(ErrorCode::kCorrupt, "it is a database, but not of tagring");
  int version = 0;
  const auto [end, error_code] = std::from_chars(text->data(), text->data() + text->size(), version);
  if (error_code != std::errc() || end != text->data() + text->size() || version < 1)
    return fail(ErrorCode::kCorrupt, fmt::format("its version, '{}', is none", *text));
  return version;
}

Result<void> check_begun(const std::filesystem::path& file) {
  std::error_code error;
  // What was written last, or all of it, may be there only.
  const std::uintmax_t beside = std::filesystem::file_size(file.string() + "-wal", error);
  if (!error && beside > 0) return {};
  const Result<Handle> database = open_to_look(file);
  const Result<std::string> count =
      database ? first_value(**database, "SELECT count(*) FROM sqlite_schema") : std::string();
  if (count == "0")
    return fail(ErrorCode::kInvalid,
                fmt::format("{} is no database of tagring: nothing is in it", file.string()));
  return {};  // what else is wrong with it, who opens it says
}

}  // namespace tagring::sql
