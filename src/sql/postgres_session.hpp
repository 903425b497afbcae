// A session of PostgreSQL that fits: version, encoding, schema, settings, and the lock that keeps others out.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "sql/libpq.hpp"

namespace tagring::sql {

// Errors as open_postgres.
Result<PostgresLink> begin_session(const std::string& dsn);

// "PostgreSQL database tagring at /run/postgresql"
std::string name_of(const PGconn* connection);

// What went wrong with a statement; null: with the connection.
std::unexpected<Error> failure(const PGconn* connection, const PGresult* result, std::string_view doing);

}  // namespace tagring::sql
