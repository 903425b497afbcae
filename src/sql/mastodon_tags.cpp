#include "sql/mastodon_tags.hpp"

#include <array>

#include "sql/libpq.hpp"

namespace tagring::sql {
namespace {

// A transaction that reads, not a session: behind a pooler a session's settings reach other clients.
constexpr std::array kBegin = {"BEGIN TRANSACTION READ ONLY", "SET LOCAL statement_timeout = '10s'",
                               "SET LOCAL lock_timeout = '2s'"};
constexpr const char* kQuery =
    "SELECT tags.name FROM tag_follows JOIN tags ON tags.id = tag_follows.tag_id"
    " GROUP BY tags.name ORDER BY count(*) DESC, tags.name LIMIT $1::bigint";

std::unexpected<Error> mastodon_failure(PGconn* connection) {
  const ErrorCode code =
      PQstatus(connection) == CONNECTION_OK ? ErrorCode::kInvalid : ErrorCode::kUnavailable;
  return fail(code, "Mastodon's database: " + one_line(PQerrorMessage(connection)));
}

}  // namespace

Result<std::vector<std::string>> read_mastodon_tags(const std::string& dsn, std::uint64_t limit) {
  const std::array<const char*, 6> keys = {"dbname",           "connect_timeout", "tcp_user_timeout",
                                           "application_name", "client_encoding", nullptr};
  const std::array<const char*, 6> values = {dsn.c_str(), "10", "15000", "tagring", "UTF8", nullptr};
  const PostgresLink connection(PQconnectdbParams(keys.data(), values.data(), /*expand_dbname=*/1));
  if (!connection) return fail(ErrorCode::kUnavailable, "Mastodon's database: out of memory");
  if (PQstatus(connection.get()) != CONNECTION_OK) return mastodon_failure(connection.get());
  for (const char* sql : kBegin) {
    const PostgresAnswer done(PQexec(connection.get(), sql));
    if (PQresultStatus(done.get()) != PGRES_COMMAND_OK) return mastodon_failure(connection.get());
  }
  const std::string most = std::to_string(limit);
  const char* const parameter = most.c_str();
  const PostgresAnswer rows(
      PQexecParams(connection.get(), kQuery, 1, nullptr, &parameter, nullptr, nullptr, /*resultFormat=*/0));
  if (PQresultStatus(rows.get()) != PGRES_TUPLES_OK) return mastodon_failure(connection.get());
  std::vector<std::string> names;
  for (int row = 0; row < PQntuples(rows.get()); ++row) names.emplace_back(PQgetvalue(rows.get(), row, 0));
  const PostgresAnswer ended(PQexec(connection.get(), "COMMIT"));
  return names;
}

}  // namespace tagring::sql
