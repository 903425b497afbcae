// A copy of a node's database for the node that goes on under another name; and one that lacks what was last
// in it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "sql/connection.hpp"

namespace tagring::db {

// Whose it is; empty if the node has no name yet.
Result<std::string> origin_in(sql::Connection& copy);

// Takes out of a copy what stays with the node `former`, which is the one that it was made of: who follows
// its actors and uses it as a relay, whom it follows itself, what waits to be said by it, its key and its
// places. Posts, history, blocks, permissions and the hashtags of instances stay. False if it is a copy of
// what `origin` has itself, which is left as it is. kInvalid if it is of neither, or of an older version.
Result<bool> take_over(sql::Connection& copy, std::string_view origin, std::string_view former);
// The same, as part of a transaction.
Result<bool> take_over_in_transaction(sql::Connection& copy, std::string_view origin,
                                      std::string_view former);

// Owners have delivered what is not in this database, and owe it no more: they are followed anew. As to who
// has just begun to follow them, they tell what they took in the last day, removals included.
Result<void> ask_owners_again(sql::Connection& database);
// The same, once, if a process has found that PostgreSQL lacks what it had committed
// (sql/postgres_session.hpp). Whether it had.
Result<bool> ask_owners_after_loss(sql::Connection& database);

}  // namespace tagring::db
