// The lock that one process at a time has on the tables of a schema, for as long as its session lasts. Who
// has it is the node.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "sql/libpq.hpp"

namespace tagring::sql {

// A session that has the lock.
struct LockHolder {
  int process = 0;  // of the server
  std::string who;  // "tagring, process 17 from 192.0.2.1 since 2026-11-26 05:30 (pid 4711 there)"
  bool was_ended = false;
};

// Takes it, and waits two seconds for it, since the session of a process that has just ended may not have.
// Nothing, or who has it; nobody knows any more who that was: a holder without a name. Errors of the server.
Result<std::optional<LockHolder>> take_lock(PGconn* connection);

// Who has it. A session for whose client the server has been waiting for `silence` is ended first, and what
// it had not committed is undone: a node says something each second, so this one hangs, is cut off, or its
// machine is gone. One that the server is busy for is left alone, however long that takes.
Result<std::optional<LockHolder>> look_at_lock(PGconn* connection, std::optional<Duration> silence);

// Ends a session of this process that was lost, if the server has not noticed; it may have the lock still.
void end_former_session(PGconn* connection, int process);

}  // namespace tagring::sql
