#include "db/new_name.hpp"

#include <fmt/format.h>
#include <string>

#include "db/schema.hpp"

namespace tagring::db {
namespace {

// Servers know all of this by the old name only. Subscriptions at owners come anew of `wants`.
constexpr const char* kStaysBehind =
    "DELETE FROM followers; DELETE FROM followed_tags; DELETE FROM inboxes; DELETE FROM partials;"
    "DELETE FROM former_servers; DELETE FROM links; DELETE FROM own_follows; DELETE FROM recent_follows;"
    "DELETE FROM subscriptions; DELETE FROM letters; DELETE FROM replay_sent; DELETE FROM replay_pages;"
    "DELETE FROM replays; DELETE FROM fasp_servers; DELETE FROM fasp_news; DELETE FROM fasp_backfills;"
    "DELETE FROM fasp_posts; DELETE FROM meta WHERE name IN ('key', 'places', 'owed', 'move', 'origin', "
    "'fronts', 'core')";

}  // namespace

Result<std::string> origin_in(sql::Connection& copy) {
  sql::Statement row = copy.query("SELECT value FROM meta WHERE name = 'origin'");
  TRY(const bool is_there, row.step());
  return is_there ? row.text(0) : std::string();
}

Result<bool> take_over_in_transaction(sql::Connection& copy, std::string_view origin,
                                      std::string_view former) {
  TRY(const std::string owner, origin_in(copy));
  if (owner == origin) return false;
  if (owner != former)
    return fail(ErrorCode::kInvalid, fmt::format("it is a copy of what {} has, and this node goes on for {}",
                                                 owner.empty() ? "a node without a name" : owner, former));
  TRY(const int version, version_of(copy));
  if (version != kSchemaVersion)
    return fail(ErrorCode::kInvalid,
                "it is of an older version: start the old node with this program, and make another copy");
  TRY_VOID(copy.execute(kStaysBehind));
  return true;
}

Result<bool> take_over(sql::Connection& copy, std::string_view origin, std::string_view former) {
  TRY_VOID(copy.begin());
  Result<bool> taken = take_over_in_transaction(copy, origin, former);
  if (taken) {
    if (const Result<void> done = copy.commit(); !done) taken = std::unexpected(done.error());
  }
  if (!taken) (void)copy.rollback();
  return taken;
}

Result<void> ask_owners_again(sql::Connection& database) {
  TRY_VOID(database.run("UPDATE subscriptions SET accepted = 0"));
  return {};
}

Result<bool> ask_owners_after_loss(sql::Connection& database) {
  sql::Statement noted = database.query("SELECT 1 FROM counters WHERE name = 'node:lost'");
  TRY(const bool is_noted, noted.step());
  if (!is_noted) return false;
  TRY_VOID(ask_owners_again(database));
  TRY_VOID(database.run("DELETE FROM counters WHERE name = 'node:lost'"));
  return true;
}

}  // namespace tagring::db
