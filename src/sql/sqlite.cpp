#include "sql/sqlite.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/assert.hpp"
#include "base/bytes.hpp"

namespace tagring::sql {
namespace {

// Order matters: the lock is taken by the first access, which then needs no shared memory for the WAL.
constexpr const char* kPragmas =
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

// Of a text that was not bound. SQLite has that number, and does not use it.
constexpr int kHasNul = SQLITE_FORMAT;

ErrorCode code_of_sqlite(int error) {
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

std::unexpected<Error> sqlite_failure(sqlite3* connection, int error, std::string_view doing) {
  const char* detail = connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(error);
  return fail(code_of_sqlite(error), fmt::format("database: {} ({}): {}", detail, error, doing));
}

class SqlitePrepared final : public Prepared {
 public:
  SqlitePrepared(sqlite3* connection, const char* sql, const bool& read_only)
      : connection_(connection), sql_(sql), read_only_(read_only) {}
  ~SqlitePrepared() override { sqlite3_finalize(handle_); }

  void open() override {
    error_ = SQLITE_OK;
    if (handle_ == nullptr)
      error_ = sqlite3_prepare_v3(connection_, sql_, -1, SQLITE_PREPARE_PERSISTENT, &handle_, nullptr);
    TR_ASSERT(!read_only_ || error_ != SQLITE_OK || sqlite3_stmt_readonly(handle_) != 0);
  }
  void bind(int index, std::int64_t value) override {
    if (error_ == SQLITE_OK) error_ = sqlite3_bind_int64(handle_, index, value);
  }
  void bind(int index, std::string_view text, bool copy) override {
    if (error_ != SQLITE_OK) return;
    // PostgreSQL has no such text, and a node must be able to move there.
    if (text.contains('\0')) {
      error_ = kHasNul;
      return;
    }
    // A null pointer would bind NULL, not the empty string.
    const char* data = text.data() != nullptr ? text.data() : "";
    error_ = sqlite3_bind_text64(handle_, index, data, text.size(), copy ? SQLITE_TRANSIENT : SQLITE_STATIC,
                                 SQLITE_UTF8);
  }
  void bind(int index, Blob blob, bool copy) override {
    if (error_ != SQLITE_OK) return;
    const char* data = blob.bytes.data() != nullptr ? blob.bytes.data() : "";
    error_ =
        sqlite3_bind_blob64(handle_, index, data, blob.bytes.size(), copy ? SQLITE_TRANSIENT : SQLITE_STATIC);
  }
  void bind(int index, const Any& value, bool copy) override {
    if (const auto* number = std::get_if<std::int64_t>(&value)) return bind(index, *number);
    if (const auto* blob = std::get_if<Blob>(&value)) return bind(index, *blob, copy);
    bind(index, std::get<std::string_view>(value), copy);
  }
  void bind_null(int index) override {
    if (error_ == SQLITE_OK) error_ = sqlite3_bind_null(handle_, index);
  }
  Result<bool> step() override {
    int code = error_;
    if (code == kHasNul)
      return fail(ErrorCode::kInvalid, fmt::format("database: a text with a NUL: {}", sql_));
    if (code == SQLITE_OK) code = sqlite3_step(handle_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return sqlite_failure(connection_, code, sql_);
  }
  Result<void> send() override {
    for (;;) {
      TRY(const bool more, step());
      if (!more) return {};
    }
  }
  void close() override { sqlite3_reset(handle_); }

  [[nodiscard]] Type type(int column) const override {
    switch (sqlite3_column_type(handle_, column)) {
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
  [[nodiscard]] std::int64_t integer(int column) const override {
    return sqlite3_column_int64(handle_, column);
  }
  [[nodiscard]] std::string_view view(int column) const override {
    const void* bytes = sqlite3_column_blob(handle_, column);
    const int size = sqlite3_column_bytes(handle_, column);
    if (bytes == nullptr) return {};
    return {static_cast<const char*>(bytes), static_cast<std::size_t>(size)};
  }
  [[nodiscard]] Any any(int column) const override {
    const Type stored = type(column);
    if (stored == Type::kInteger) return integer(column);
    if (stored == Type::kBlob) return Blob{view(column)};
    return view(column);
  }
  [[nodiscard]] std::int64_t changed() const override { return sqlite3_changes64(connection_); }

 private:
  sqlite3* connection_;
  const char* sql_;
  const bool& read_only_;
  sqlite3_stmt* handle_ = nullptr;
  int error_ = SQLITE_OK;
};

class Sqlite final : public Backend {
 public:
  Sqlite(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  ~Sqlite() override { sqlite3_close(handle_); }

  [[nodiscard]] Dialect dialect() const override { return Dialect::kSqlite; }
  [[nodiscard]] std::string name() const override { return path_; }
  std::unique_ptr<Prepared> prepare(const char* sql, bool /*in_parts*/) override {
    return std::make_unique<SqlitePrepared>(handle_, sql, read_only_);
  }
  Result<void> execute(const char* script) override {
    const int code = sqlite3_exec(handle_, script, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return sqlite_failure(handle_, code, std::string_view(script).substr(0, 80));
    return {};
  }
  Result<void> copy_in(const std::string& command, std::string_view /*rows*/) override {
    return fail(ErrorCode::kInvalid, "database: SQLite has no " + command);
  }
  Result<void> begin() override { return execute("BEGIN IMMEDIATE"); }
  Result<void> commit() override { return execute("COMMIT"); }
  Result<void> rollback() override { return execute("ROLLBACK"); }
  // Each statement reads for itself: nobody else writes. One that writes is a programming error.
  Result<void> begin_reading() override {
    read_only_ = true;
    return {};
  }
  void end_reading() override { read_only_ = false; }
  Result<void> settle() override { return {}; }
  [[nodiscard]] bool in_transaction() const override { return sqlite3_get_autocommit(handle_) == 0; }
  [[nodiscard]] std::int64_t changes() const override { return sqlite3_total_changes64(handle_); }
  Result<void> watched(std::function<void()> told, const std::function<Result<void>()>& work) override {
    constexpr int kSteps = 2'000'000;  // of SQLite's machine
    const auto tell = [](void* progress) {
      (*static_cast<std::function<void()>*>(progress))();
      return 0;  // go on
    };
    sqlite3_progress_handler(handle_, kSteps, tell, &told);
    auto done = work();
    sqlite3_progress_handler(handle_, 0, nullptr, nullptr);
    return done;
  }
  [[nodiscard]] sqlite3* native() const override { return handle_; }

 private:
  sqlite3* handle_;
  std::string path_;
  bool read_only_ = false;
};

// Nothing is done to a file that is somebody else's: a wrong path may be typed. Looked at as it is now,
// without locks and without a file beside it; what cannot be read so is left to whoever opens it.
Result<void> check_ours(const std::string& path) {
  sqlite3* handle = nullptr;
  const std::string uri = "file:" + percent_encode(std::filesystem::absolute(path).string()) + "?immutable=1";
  sqlite3_open_v2(uri.c_str(), &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI,
                  nullptr);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> file(handle, sqlite3_close);
  constexpr const char* kTables =
      "SELECT count(*) > 0 AND count(*) = count(nullif(name, 'migrations')) FROM sqlite_schema"
      " WHERE type = 'table'";
  bool is_of_others = false;
  const auto take = [](void* out, int, char** values, char**) {
    *static_cast<bool*>(out) = std::string_view(values[0]) == "1";
    return 0;
  };
  const int code = sqlite3_exec(handle, kTables, take, &is_of_others, nullptr);
  if (code == SQLITE_NOTADB || is_of_others)
    return fail(ErrorCode::kCorrupt, path + " is no database of tagring");
  return {};
}

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

Result<std::unique_ptr<Backend>> open_sqlite(const std::string& path, const std::string& vfs) {
  if (vfs.empty() && !path.empty() && path != ":memory:") {
    TRY_VOID(check_ours(path));
    TRY_VOID(keep_private(path));
  }
  sqlite3* handle = nullptr;
  // One thread at a time uses it, so SQLite needs no mutex of its own.
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, vfs.empty() ? nullptr : vfs.c_str());
  auto opened = std::make_unique<Sqlite>(handle, path);
  if (code != SQLITE_OK) {
    const int because = handle == nullptr ? ENOMEM : sqlite3_system_errno(handle);
    return fail(code_of_sqlite(code),
                fmt::format("{} cannot be opened: {}", path,
                            because != 0 ? std::strerror(because) : sqlite3_errstr(code)));
  }
  if (auto set = opened->execute(kPragmas); !set) {
    if ((sqlite3_errcode(handle) & 0xFF) == SQLITE_BUSY) {
      return fail(ErrorCode::kUnavailable,
                  path +
                      " is in use by another process. Does the node run already? Stop it first, and "
                      "tagring.socket, which would start it again");
    }
    return fail(set.error().code, fmt::format("{} cannot be used: {}", path, sqlite3_errmsg(handle)));
  }
  const std::unique_ptr<Prepared> mode = opened->prepare("PRAGMA journal_mode", /*in_parts=*/false);
  mode->open();
  TRY(const bool row, mode->step());
  if (!row || mode->view(0) != "wal")
    return fail(ErrorCode::kUnavailable, path + ": the file system cannot hold a WAL");
  return opened;
}

}  // namespace tagring::sql
