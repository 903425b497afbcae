// The digests that are kept beside the followers (delivery/partial.hpp). Inside jobs.
#pragma once

#include "delivery/store.hpp"
#include "sql/connection.hpp"

namespace tagring::db {

// All zero if there is none.
Result<delivery::Partial> load_partial(sql::Connection& db, const delivery::PartialKey& key);
// The follower was not there before, or is not any more.
Result<void> count_follower(sql::Connection& db, const delivery::Follower& follower, bool enters);
// As the last of delivery::Store::former_servers().
Result<void> note_former(sql::Connection& db, const delivery::PartialKey& key, const std::string& inbox);
// See delivery::Store::check_partials.
Result<delivery::Store::PartialsCheck> check_all_partials(sql::Connection& db);

}  // namespace tagring::db
