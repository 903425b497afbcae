// The lock that one process at a time has on the tables of a schema, for as long as its session lasts. Who
// has it is the node.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "sql/backend.hpp"
#include "sql/libpq.hpp"

namespace tagring::sql {

// A session that has the lock.
struct LockHolder {
  int process = 0;  // of the server
  std::string who;  // "tagring, process 17 from 192.0.2.1 since 2026-11-26 05:30 (pid 4711 there)"
  // The server has been waiting for its client for a while, by its own clock. A node says something each
  // second, so this one hangs, is cut off, or its machine is gone. One that the server is busy for is not
  // silent, however long that takes; nor is one of another role, of which this is not known.
  bool is_silent = false;
};

// Takes it, and waits two seconds for it, since the session of a process that has just ended may not have.
// Nothing, or who has it; nobody knows any more who that was: a holder without a name. Errors of the server.
Result<std::optional<LockHolder>> take_lock(PGconn* connection);

// Who has it. `silence`: how long is a while.
Result<std::optional<LockHolder>> look_at_lock(PGconn* connection, Duration silence);

// Lets others see in look_at_tenure() that this session waits for the lock, until it ends or does no more.
void stand_by(PGconn* connection, bool stands_by);

// Who has the lock and who stands by, without those who have said nothing for some seconds. An error also
// where there are no tables.
Result<Tenure> look_at_tenure(PGconn* connection);

// Ends the session of that process of the server if it has the lock, and so undoes what it had not committed.
// Waits two seconds for that; whether it is done.
bool end_holder(PGconn* connection, int process);

}  // namespace tagring::sql
