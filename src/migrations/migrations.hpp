// The tables of the database, as the steps by which they came to be what they are. Each step is what it was
// when it was made: a database of its version may be anywhere. How they are applied: db/schema.hpp.
#pragma once

#include <span>
#include <string_view>

namespace tagring::migrations {

struct Migration {
  const char* sql;               // SQLite's; sql::to_postgres_schema makes PostgreSQL's of it
  std::string_view does;         // for people: "counts the posts of each hashtag"
  const char* counts = nullptr;  // a query for how many rows it writes, where these may be many
};

inline constexpr int kCount = 21;
// That to version n is the n-th.
std::span<const Migration, kCount> all();

}  // namespace tagring::migrations
