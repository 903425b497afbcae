// A session of PostgreSQL that fits: version, encoding, schema, settings, and the lock that keeps others out.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "sql/backend.hpp"
#include "sql/libpq.hpp"

namespace tagring::sql {

// Errors as open_postgres.
Result<PostgresLink> begin_session(const std::string& dsn);

// The same of a standby: waits until no other process has the lock, and ends the session of one that is
// silent for five seconds. `told`: about once a second, for whom it waits, or why the server does not answer.
Result<PostgresLink> await_session(const std::string& dsn, const StandingBy& told);

// For who has no part in it: whose the tables are. Errors as open_postgres, and where there are no tables.
Result<Tenure> tenure_of(const std::string& dsn);

// Instead of a session that was lost, process `former` of the server. kSuperseded if the node is another
// process meanwhile, or was: its `term` is not the last one. That the last one is an earlier is noted.
Result<PostgresLink> resume_session(const std::string& dsn, int former, std::int64_t term);

// That the server lacks what a process of this node had committed, as a replica does that was promoted too
// early: for the next start, if it can be noted, which has what is owed no more asked for again
// (db/new_name.hpp).
void note_loss(PGconn* connection);

}  // namespace tagring::sql
