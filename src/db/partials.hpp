// The digests that are kept beside the followers (relay/partial.hpp). Inside jobs.
#pragma once

#include "relay/store.hpp"
#include "sql/sqlite.hpp"

namespace tagring::db {

// All zero if there is none.
Result<relay::Partial> load_partial(sql::Connection& db, const relay::PartialKey& key);
// The follower was not there before, or is not any more.
Result<void> count_follower(sql::Connection& db, const relay::Follower& follower, bool enters);
// See relay::Store::check_partials.
Result<relay::Store::PartialsCheck> check_all_partials(sql::Connection& db);

}  // namespace tagring::db
