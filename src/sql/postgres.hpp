// PostgreSQL as a Backend, through libpq.
//
// Statements are prepared once and go through a pipeline: what is sent without waiting, BEGIN and SAVEPOINT
// among it, travels with the next statement that somebody waits for, so that a job costs as many journeys as
// it has answers that matter.
//
// The tables are in the first schema of the search path. A session has an advisory lock on it as long as it
// is there, so nobody else uses it meanwhile (postgres_lock.hpp). A session that was lost is made again by
// the next transaction, lock included, if no other process was the node in between (Backend::take_term).
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "sql/backend.hpp"

namespace tagring::sql {

// `dsn` is a connection string of libpq, in either of its forms; what it leaves out libpq looks for in its
// own places (PGPASSFILE, …). Blocks, for at most some seconds; with `standing_by` until no other process
// uses the tables, of which that is told. kUnavailable if the server does not answer or somebody else uses
// the tables, kInvalid if it is one that will not do; messages say what to do, and have no password.
Result<std::unique_ptr<Backend>> open_postgres(const std::string& dsn,
                                               const StandingBy& standing_by = nullptr);

}  // namespace tagring::sql
