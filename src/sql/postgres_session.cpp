#include "sql/postgres_session.hpp"

#include <array>
#include <fmt/format.h>
#include <optional>
#include <thread>
#include <unistd.h>

#include "base/time.hpp"
#include "sql/postgres_lock.hpp"

namespace tagring::sql {
namespace {

constexpr int kOldest = 150'000;  // as PQserverVersion() says it

// How long a standby lets the one that runs be silent, and how often it looks. Twice: a server that stood
// still itself, or whose clock was set, makes everybody silent once.
constexpr Duration kSilence = std::chrono::seconds(5);
constexpr Duration kLookEvery = std::chrono::seconds(1);
constexpr int kSilentLooks = 2;
// How often it must find the lock free: a process that only lost its session makes another within a second,
// and goes on. Who comes while others wait lets them go first.
constexpr int kFreeLooks = 3;
constexpr int kLooksOfOthers = 2;

// Not jit: statements are small and many. The keepalives and the timeout are the server's, so that the lock
// of a machine that died is free after half a minute, though nobody looks. Durable, whatever the role has by
// default; and what takes long may, such as comparing a copy (db/copy.cpp).
constexpr const char* kSettings =
    "SET lock_timeout = '10s';"
    "SET statement_timeout = 0;"
    "SET idle_in_transaction_session_timeout = 0;"
    "SET idle_session_timeout = 0;"
    "SET jit = off;"
    "SET tcp_keepalives_idle = 10;"
    "SET tcp_keepalives_interval = 5;"
    "SET tcp_keepalives_count = 3;"
    "SET tcp_user_timeout = '25s';"
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') IN "
    "('off', 'local')";

// Even within a statement, where the server's system can tell whether a client is there.
constexpr const char* kLooksAtClient = "SET client_connection_check_interval = '5s'";

std::string first_value(PGconn* connection, const char* sql) {
  const PostgresAnswer answer(PQexec(connection, sql));
  if (PQresultStatus(answer.get()) != PGRES_TUPLES_OK || PQntuples(answer.get()) == 0) return {};
  return PQgetvalue(answer.get(), 0, 0);
}

Result<void> check(PGconn* connection) {
  if (const int version = PQserverVersion(connection); version < kOldest) {
    return fail(ErrorCode::kInvalid, fmt::format("{}: is version {}, and 15 is the oldest that will do",
                                                 name_of(connection), version / 10'000));
  }
  const char* encoding = PQparameterStatus(connection, "server_encoding");
  if (encoding == nullptr || std::string_view(encoding) != "UTF8") {
    return fail(ErrorCode::kInvalid,
                fmt::format("{}: has the encoding {}; make one with CREATE DATABASE … ENCODING 'UTF8' "
                            "TEMPLATE template0",
                            name_of(connection), encoding != nullptr ? encoding : "?"));
  }
  if (first_value(connection, "SELECT current_schema()").empty()) {
    if (PQstatus(connection) != CONNECTION_OK) return failure(connection, nullptr, "schema");
    return fail(
        ErrorCode::kInvalid,
        fmt::format("{}: no schema of its search_path is there; CREATE SCHEMA it", name_of(connection)));
  }
  return {};
}

Result<PostgresLink> connect(const std::string& dsn) {
  const std::string who = fmt::format("tagring, process {}", ::getpid());
  // What the connection string says of the first ones goes before.
  const std::array<std::pair<const char*, const char*>, 9> parameters = {
      {{"connect_timeout", "10"},
       {"tcp_user_timeout", "15000"},
       {"keepalives_idle", "10"},
       {"keepalives_interval", "5"},
       {"keepalives_count", "3"},
       {"fallback_application_name", who.c_str()},
       {"dbname", dsn.c_str()},
       {"client_encoding", "UTF8"},
       {nullptr, nullptr}}};
  std::array<const char*, parameters.size()> keys{};
  std::array<const char*, parameters.size()> values{};
  for (std::size_t i = 0; i < parameters.size(); ++i) std::tie(keys[i], values[i]) = parameters[i];
  PostgresLink connection(PQconnectdbParams(keys.data(), values.data(), /*expand_dbname=*/1));
  if (!connection) return fail(ErrorCode::kUnavailable, "database: out of memory");
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("PostgreSQL cannot be reached: {}", one_line(PQerrorMessage(connection.get()))));
  }
  PQsetNoticeProcessor(connection.get(), [](void*, const char*) {}, nullptr);
  TRY_VOID(check(connection.get()));
  const PostgresAnswer set(PQexec(connection.get(), kSettings));
  if (PQresultStatus(set.get()) != PGRES_TUPLES_OK) return failure(connection.get(), set.get(), "settings");
  const PostgresAnswer optional(PQexec(connection.get(), kLooksAtClient));
  return connection;
}

std::string in_use(const PGconn* connection, const LockHolder& holder) {
  return fmt::format("{} is in use by another process: {}", name_of(connection),
                     holder.who.empty() ? "its session ended just now" : "it is " + holder.who);
}

// One look of who waits: nothing if the lock is there now, else why it is not.
class Wait {
 public:
  explicit Wait(const std::string& dsn) : dsn_(dsn) {}

  Result<std::optional<std::string>> look() {
    if (!link_) {
      TRY(link_, connect(dsn_));
      const Result<Tenure> tenure = look_at_tenure(link_.get());  // none where there are no tables yet
      free_looks_ = tenure && !tenure->waiting.empty() ? -kLooksOfOthers : 0;
      silent_looks_ = 0;
      stand_by(link_.get(), true);
    }
    TRY(const std::optional<LockHolder> holder, look_at_lock(link_.get(), kSilence));
    free_looks_ = holder ? 0 : free_looks_ + 1;
    silent_looks_ = holder && holder->is_silent ? silent_looks_ + 1 : 0;
    if (holder && (silent_looks_ < kSilentLooks || !end_holder(link_.get(), holder->process)))
      return in_use(link_.get(), *holder);
    if (!holder && free_looks_ < kFreeLooks)
      return name_of(link_.get()) +
             " is in use by no process now; whose it was, and who waits already, go first";
    TRY(const std::optional<LockHolder> other, take_lock(link_.get()));
    if (!other) {
      stand_by(link_.get(), false);
      return std::nullopt;
    }
    return in_use(link_.get(), *other);
  }
  void disconnect() { link_.reset(); }
  PostgresLink take() { return std::move(link_); }

 private:
  const std::string& dsn_;
  PostgresLink link_;
  int silent_looks_ = 0;
  int free_looks_ = 0;
};

}  // namespace

Result<PostgresLink> begin_session(const std::string& dsn) {
  TRY(PostgresLink link, connect(dsn));
  TRY(const std::optional<LockHolder> other, take_lock(link.get()));
  if (!other) return link;
  return fail(
      ErrorCode::kUnavailable,
      in_use(link.get(), *other) +
          ". Does the node run already? Stop it first, and tagring.socket, which would start it again");
}

Result<PostgresLink> await_session(const std::string& dsn, const StandingBy& told) {
  for (Wait wait(dsn);; std::this_thread::sleep_for(kLookEvery)) {
    const Result<std::optional<std::string>> because = wait.look();
    if (because && !*because) return wait.take();
    if (!because && because.error().code != ErrorCode::kUnavailable) return std::unexpected(because.error());
    if (!because) wait.disconnect();
    told(because ? **because : because.error().message);
  }
}

Result<Tenure> tenure_of(const std::string& dsn) {
  TRY(const PostgresLink link, connect(dsn));
  return look_at_tenure(link.get());
}

Result<PostgresLink> resume_session(const std::string& dsn, int former, std::int64_t term) {
  TRY(PostgresLink link, connect(dsn));
  end_holder(link.get(), former);  // if the server has not noticed
  TRY(const std::optional<LockHolder> other, take_lock(link.get()));
  if (other && (other->process == former || other->process == 0))
    return fail(ErrorCode::kUnavailable, in_use(link.get(), *other));
  if (other) return fail(ErrorCode::kSuperseded, in_use(link.get(), *other));
  // Written, so that what the lost session committed last is where a commit has to be before anybody is told.
  const std::string mine =
      fmt::format("UPDATE counters SET value = value WHERE name = 'node:term' AND value = {}", term);
  const PostgresAnswer kept(PQexec(link.get(), mine.c_str()));
  if (PQresultStatus(kept.get()) != PGRES_COMMAND_OK) return failure(link.get(), kept.get(), mine);
  if (std::string_view(PQcmdTuples(kept.get())) == "1") return link;
  const std::string last = first_value(link.get(), "SELECT value FROM counters WHERE name = 'node:term'");
  if (std::strtoll(last.c_str(), nullptr, 10) < term) note_loss(link.get());
  return fail(
      ErrorCode::kSuperseded,
      fmt::format("{} had another process since this one lost its session there", name_of(link.get())));
}

void note_loss(PGconn* connection) {
  const PostgresAnswer noted(PQexec(
      connection, "INSERT INTO counters(name, value) VALUES('node:lost', 1) ON CONFLICT(name) DO NOTHING"));
}

}  // namespace tagring::sql
