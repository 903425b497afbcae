#include "sql/libpq.hpp"

#include <fmt/format.h>
#include <string_view>

namespace tagring::sql {
namespace {

ErrorCode code_of_state(std::string_view state) {
  const std::string_view kind = state.substr(0, 2);
  if (kind == "23") return ErrorCode::kConflict;  // a violated constraint
  if (kind == "54") return ErrorCode::kTooLarge;
  if (kind == "22" || state == "42501") return ErrorCode::kInvalid;  // bad data; no right to do it
  if (state == "25006") return ErrorCode::kUnavailable;  // the server takes nothing now, as with a full disk
  // SQL that does not fit the schema; a transaction that cannot do it; damage.
  if (kind == "42" || kind == "25" || kind == "3F" || state.starts_with("XX00") || kind == "0A")
    return ErrorCode::kCorrupt;
  return ErrorCode::kUnavailable;
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

}  // namespace tagring::sql
