// The hashtags that people of a Mastodon follow, from its own PostgreSQL database.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace tagring::sql {

// At most `limit` names as Mastodon has them, those with most followers first. One transaction that can only
// read, of at most 10 s. `dsn` is a connection string of libpq, in either of its forms; what it leaves out,
// such as the password, libpq looks for in its own places (PGPASSFILE, …).
//
// Blocks, for at most half a minute. kUnavailable if the database does not answer, kInvalid if it is not
// Mastodon's or may not be read.
Result<std::vector<std::string>> read_mastodon_tags(const std::string& dsn, std::uint64_t limit);

}  // namespace tagring::sql
