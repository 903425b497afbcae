// What libpq gives away, with owners, and its errors as ours.
#pragma once

#include <algorithm>
#include <libpq-fe.h>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tagring::sql {

struct CloseOfLibpq {
  void operator()(PGconn* connection) const { PQfinish(connection); }
  void operator()(PGresult* result) const { PQclear(result); }
};
using PostgresLink = std::unique_ptr<PGconn, CloseOfLibpq>;
using PostgresAnswer = std::unique_ptr<PGresult, CloseOfLibpq>;

// Messages of libpq end with a line feed, and may have several lines.
inline std::string one_line(const char* message) {
  std::string text = message;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// "PostgreSQL database tagring at /run/postgresql"
std::string name_of(const PGconn* connection);

// What went wrong with a statement; null: with the connection.
std::unexpected<Error> failure(const PGconn* connection, const PGresult* result, std::string_view doing);

}  // namespace tagring::sql
