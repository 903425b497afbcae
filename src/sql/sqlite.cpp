#include "sql/sqlite.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/assert.hpp"

namespace tagring::sql {
namespace {

// Order matters: the lock is taken by the first access, which then needs no shared memory for the WAL.
constexpr const char* kSettings =
    "PRAGMA locking_mode = EXCLUSIVE;"
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA foreign_keys = ON;"
    "PRAGMA trusted_schema = OFF;"
    "PRAGMA cell_size_check = ON;"
    "PRAGMA temp_store = MEMORY;"
    "PRAGMA cache_size = -65536;"            // KiB
    "PRAGMA journal_size_limit = 67108864;"  // bytes the WAL keeps after a checkpoint
    "PRAGMA wal_autocheckpoint = 8192;";     // pages

ErrorCode code_of(int error) {
  switch (error & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_SCHEMA:
    case SQLITE_MISMATCH:
    case SQLITE_ERROR:
      return ErrorCode::kCorrupt;
    case SQLITE_CONSTRAINT:
      return ErrorCode::kConflict;
    case SQLITE_TOOBIG:
      return ErrorCode::kTooLarge;
    default:
      return ErrorCode::kUnavailable;
  }
}

std::unexpected<Error> failure(sqlite3* connection, int error, std::string_view doing) {
  const char* detail = connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(error);
  return fail(code_of(error), fmt::format("database: {} ({}): {}", detail, error, doing));
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_), cached_(std::exchange(other.cached_, nullptr)), error_(other.error_) {}

Statement::~Statement() {
  if (cached_ == nullptr) return;
  sqlite3_reset(cached_->handle);
  cached_->lent = false;
}

Result<bool> Statement::step() {
  int code = error_;
  if (code == SQLITE_OK) code = sqlite3_step(cached_->handle);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return failure(connection_, code, cached_->handle != nullptr ? sqlite3_sql(cached_->handle) : "prepare");
}

Type Statement::type(int column) const {
  switch (sqlite3_column_type(cached_->handle, column)) {
    case SQLITE_INTEGER:
      return Type::kInteger;
    case SQLITE_FLOAT:
      return Type::kReal;
    case SQLITE_TEXT:
      return Type::kText;
    case SQLITE_BLOB:
      return Type::kBlob;
    default:
      return Type::kNull;
  }
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(cached_->handle, column); }

std::string_view Statement::view(int column) const {
  const void* bytes = sqlite3_column_blob(cached_->handle, column);
  const int size = sqlite3_column_bytes(cached_->handle, column);
  return bytes != nullptr ? std::string_view(static_cast<const char*>(bytes), static_cast<std::size_t>(size))
                          : std::string_view();
}

void Statement::bind(int index, std::int64_t value) {
  if (error_ == SQLITE_OK) error_ = sqlite3_bind_int64(cached_->handle, index, value);
}

void Statement::bind(int index, std::string_view text, bool copy) {
  if (error_ != SQLITE_OK) return;
  // A null pointer would bind NULL, not the empty string.
  const char* data = text.data() != nullptr ? text.data() : "";
  error_ = sqlite3_bind_text64(cached_->handle, index, data, text.size(),
                               copy ? SQLITE_TRANSIENT : SQLITE_STATIC, SQLITE_UTF8);
}

void Statement::bind(int index, Blob blob, bool copy) {
  if (error_ != SQLITE_OK) return;
  const char* data = blob.bytes.data() != nullptr ? blob.bytes.data() : "";
  error_ = sqlite3_bind_blob64(cached_->handle, index, data, blob.bytes.size(),
                               copy ? SQLITE_TRANSIENT : SQLITE_STATIC);
}

namespace {

// The node's private key is in it. SQLite gives what it puts beside the file the same mode; what is there
// already is mended. Never opened, if it exists: closing it would take away the locks of this process.
Result<void> keep_private(const std::string& path) {
  if (const int fresh = ::open(path.c_str(), O_CREAT | O_EXCL | O_CLOEXEC | O_RDWR, S_IRUSR | S_IWUSR);
      fresh >= 0)
    ::close(fresh);
  for (const char* part : {"", "-wal", "-shm"}) {
    const std::string file = path + part;
    struct stat status{};
    if (::stat(file.c_str(), &status) != 0 || (status.st_mode & (S_IRWXG | S_IRWXO)) == 0) continue;
    if (::chmod(file.c_str(), S_IRUSR | S_IWUSR) != 0)
      return fail(ErrorCode::kInvalid, fmt::format("others may read it: chmod 600 {}", file));
  }
  return {};
}

}  // namespace

Result<Connection> Connection::open(const std::string& path, const std::string& vfs) {
  if (vfs.empty() && !path.empty() && path != ":memory:") {
    TRY_VOID(keep_private(path));
  }
  sqlite3* handle = nullptr;
  // One thread at a time uses it, so SQLite needs no mutex of its own.
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, vfs.empty() ? nullptr : vfs.c_str());
  Connection connection(handle);
  if (code != SQLITE_OK) return failure(handle, code, path);
  if (auto set = connection.execute(kSettings); !set) {
    if ((sqlite3_errcode(handle) & 0xFF) == SQLITE_BUSY) {
      return fail(ErrorCode::kUnavailable,
                  path + " is in use by another process: does the node run already?");
    }
    return fail(set.error().code, fmt::format("{}: {}", path, set.error().message));
  }
  Statement mode = connection.query("PRAGMA journal_mode");
  TRY(const bool row, mode.step());
  if (!row || mode.view(0) != "wal")
    return fail(ErrorCode::kUnavailable, path + ": the file system cannot hold a WAL");
  return connection;
}

Connection::Connection(Connection&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      read_only_(other.read_only_),
      progress_(std::move(other.progress_)),
      cache_(std::move(other.cache_)) {}

Connection::~Connection() {
  for (auto& [sql, cached] : cache_) {
    TR_ASSERT(!cached.lent);
    sqlite3_finalize(cached.handle);
  }
  sqlite3_close(handle_);
}

Statement Connection::prepare(const char* sql) {
  Statement::Cached& cached = cache_[sql];
  TR_ASSERT(!cached.lent);
  cached.lent = true;
  int code = SQLITE_OK;
  if (cached.handle == nullptr) {
    code = sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &cached.handle, nullptr);
  }
  TR_ASSERT(!read_only_ || code != SQLITE_OK || sqlite3_stmt_readonly(cached.handle) != 0);
  return {handle_, &cached, code};
}

Result<std::int64_t> Connection::finish(Statement statement) {
  for (;;) {
    TRY(const bool row, statement.step());
    if (!row) return sqlite3_changes64(handle_);
  }
}

Result<void> Connection::execute(const char* script) {
  const int code = sqlite3_exec(handle_, script, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failure(handle_, code, std::string_view(script).substr(0, 80));
  return {};
}

std::int64_t Connection::changes() const { return sqlite3_total_changes64(handle_); }

void Connection::on_progress(std::function<void()> told) {
  constexpr int kSteps = 2'000'000;  // of SQLite's machine
  const auto tell = [](void* progress) {
    (*static_cast<std::function<void()>*>(progress))();
    return 0;  // go on
  };
  progress_ = told ? std::make_unique<std::function<void()>>(std::move(told)) : nullptr;
  sqlite3_progress_handler(handle_, progress_ ? kSteps : 0, progress_ ? +tell : nullptr, progress_.get());
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

}  // namespace tagring::sql
