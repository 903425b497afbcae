#include "sql/postgres_session.hpp"

#include <array>
#include <fmt/format.h>
#include <unistd.h>

namespace tagring::sql {
namespace {

constexpr int kOldest = 150'000;  // as PQserverVersion() says it

// Not jit: statements are small and many. The keepalives are the server's, so that the lock of a machine that
// died is free after half a minute. Durable, whatever the role has by default.
constexpr const char* kSettings =
    "SET lock_timeout = '10s';"
    "SET jit = off;"
    "SET tcp_keepalives_idle = 10;"
    "SET tcp_keepalives_interval = 5;"
    "SET tcp_keepalives_count = 3;"
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = "
    "'off'";

// Waits a moment: the session of one that has just ended may not have.
constexpr const char* kLock =
    "SET lock_timeout = '2s';"
    "SELECT pg_advisory_lock(1952540530, hashtext(current_schema()) & 2147483647)";  // "tagr"
constexpr const char* kHolder =
    "SELECT format('%s from %s since %s (pid %s there)', a.application_name,"
    " coalesce(host(a.client_addr), 'the server''s own machine'), to_char(a.backend_start, 'YYYY-MM-DD "
    "HH24:MI'), a.pid)"
    " FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.granted"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND l.classid = 1952540530 AND l.objid::bigint = hashtext(current_schema()) & 2147483647";

ErrorCode code_of_state(std::string_view state) {
  const std::string_view kind = state.substr(0, 2);
  if (kind == "23") return ErrorCode::kConflict;  // a violated constraint
  if (kind == "54") return ErrorCode::kTooLarge;
  if (kind == "22" || state == "42501") return ErrorCode::kInvalid;  // bad data; no right to do it
  // SQL that does not fit the schema; a transaction that cannot do it; damage.
  if (kind == "42" || kind == "25" || kind == "3F" || state.starts_with("XX00") || kind == "0A")
    return ErrorCode::kCorrupt;
  return ErrorCode::kUnavailable;
}

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
    return fail(
        ErrorCode::kInvalid,
        fmt::format("{}: no schema of its search_path is there; CREATE SCHEMA it", name_of(connection)));
  }
  return {};
}

Result<void> lock(PGconn* connection) {
  const PostgresAnswer locked(PQexec(connection, kLock));
  if (PQresultStatus(locked.get()) == PGRES_TUPLES_OK) return {};
  const char* state = PQresultErrorField(locked.get(), PG_DIAG_SQLSTATE);
  if (state == nullptr || std::string_view(state) != "55P03")
    return failure(connection, locked.get(), "lock");
  const std::string holder = first_value(connection, kHolder);
  return fail(
      ErrorCode::kUnavailable,
      fmt::format("{} is in use by another process: does the node run already? {}", name_of(connection),
                  holder.empty() ? "Its session ended just now" : "It is " + holder));
}

}  // namespace

std::string name_of(const PGconn* connection) {
  const auto text = [](const char* value) { return std::string(value != nullptr ? value : ""); };
  return fmt::format("PostgreSQL database {} at {}", text(PQdb(connection)), text(PQhost(connection)));
}

std::unexpected<Error> failure(const PGconn* connection, const PGresult* result, std::string_view doing) {
  const char* state = result != nullptr ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : nullptr;
  const char* message = result != nullptr ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : nullptr;
  if (message == nullptr) message = PQerrorMessage(connection);
  return fail(state != nullptr ? code_of_state(state) : ErrorCode::kUnavailable,
              fmt::format("database: {} ({}): {}", one_line(message), state != nullptr ? state : "no answer",
                          doing.substr(0, 80)));
}

Result<PostgresLink> begin_session(const std::string& dsn) {
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
  TRY_VOID(lock(connection.get()));
  const PostgresAnswer set(PQexec(connection.get(), kSettings));
  if (PQresultStatus(set.get()) != PGRES_TUPLES_OK) return failure(connection.get(), set.get(), "settings");
  return connection;
}

}  // namespace tagring::sql
