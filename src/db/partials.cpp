#include "db/partials.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "delivery/partial.hpp"
#include "followers/digest.hpp"

namespace tagring::db {

using namespace sql;

namespace {

using delivery::Follower;
using delivery::Partial;
using delivery::PartialKey;
using followers::Digest;
using Partials = std::map<std::string, Partial>;  // of one collection, by authority

// What stands at `column` and the two after it.
Partial partial_at(const Statement& row, int column) {
  Digest::Bytes digest{};
  const std::string_view bytes = row.view(column);
  std::copy_n(bytes.begin(), std::min(bytes.size(), digest.size()), digest.begin());
  return {Digest(digest), row.number(column + 1), row.number(column + 2)};
}

Result<void> save_partial(Connection& db, const PartialKey& key, const Partial& partial) {
  if (partial.count == 0) {
    TRY_VOID(
        db.run("DELETE FROM partials WHERE collection = ? AND authority = ?", key.collection, key.authority));
    return {};
  }
  const auto& digest = partial.digest.bytes();
  const std::string_view bytes(reinterpret_cast<const char*>(digest.data()), digest.size());
  TRY_VOID(db.run(
      "INSERT INTO partials(collection, authority, digest, count, octets) VALUES(?, ?, ?, ?, ?) ON CONFLICT"
      "(collection, authority) DO UPDATE SET digest = excluded.digest, count = excluded.count,"
      " octets = excluded.octets",
      key.collection, key.authority, Blob{bytes}, partial.count, partial.bytes));
  return {};
}

Result<Partials> load_collection(Connection& db, const std::string& collection) {
  Partials found;
  Statement row =
      db.query("SELECT authority, digest, count, octets FROM partials WHERE collection = ?", collection);
  for (;;) {
    TRY(const bool more, row.step());
    if (!more) return found;
    found.emplace(row.text(0), partial_at(row, 1));
  }
}

// Makes what is kept of a collection what it should be.
Result<void> repair(Connection& db, const std::string& collection, const Partials& should_be,
                    std::vector<PartialKey>& repaired) {
  TRY(const Partials kept, load_collection(db, collection));
  Partials wrong;
  for (const auto& [authority, partial] : kept) {
    if (!should_be.contains(authority)) wrong.emplace(authority, Partial());
  }
  for (const auto& [authority, partial] : should_be) {
    const auto it = kept.find(authority);
    if (it == kept.end() || it->second != partial) wrong.emplace(authority, partial);
  }
  for (const auto& [authority, partial] : wrong) {
    repaired.push_back({collection, authority});
    TRY_VOID(save_partial(db, repaired.back(), partial));
  }
  return {};
}

Result<std::vector<std::string>> collections_without_followers(Connection& db) {
  return all_rows<std::string>(db.query("SELECT DISTINCT collection FROM partials p WHERE collection <> ''"
                                        " AND NOT EXISTS (SELECT 1 FROM followers WHERE tag = p.collection)"),
                               [](const Statement& row) { return row.text(0); });
}

}  // namespace

Result<Partial> load_partial(Connection& db, const PartialKey& key) {
  Statement row =
      db.query("SELECT digest, count, octets FROM partials WHERE collection = ? AND authority = ?",
               key.collection, key.authority);
  TRY(const bool found, row.step());
  return found ? partial_at(row, 0) : Partial();
}

Result<void> note_former(Connection& db, const PartialKey& key, const std::string& inbox) {
  // With a number of its own: it is the last to leave.
  TRY_VOID(db.run("DELETE FROM former_servers WHERE collection = ? AND authority = ?", key.collection,
                  key.authority));
  TRY_VOID(db.run("INSERT INTO former_servers(collection, authority, inbox) VALUES(?, ?, ?)", key.collection,
                  key.authority, inbox));
  TRY_VOID(db.run("DELETE FROM former_servers WHERE seq <= (SELECT max(seq) FROM former_servers) - ?",
                  delivery::Store::kFormerServersMax));
  return {};
}

Result<void> count_follower(Connection& db, const Follower& follower, bool enters) {
  const auto member = delivery::membership_of(follower);
  if (!member) return {};
  TRY(Partial partial, load_partial(db, member->key));
  if (enters) {
    if (partial.count == 0) {
      TRY_VOID(db.run("DELETE FROM former_servers WHERE collection = ? AND authority = ?",
                      member->key.collection, member->key.authority));
    }
    partial.add(member->id);
  } else if (partial.count > 0) {
    partial.remove(member->id);
    if (partial.count == 0) {
      TRY_VOID(note_former(db, member->key, follower.inbox));
    }
  }
  return save_partial(db, member->key, partial);
}

Result<delivery::Store::PartialsCheck> check_all_partials(Connection& db) {
  delivery::Store::PartialsCheck check;
  Partials of_tag;
  Partials of_node;  // of the node's actor, which nodes with any tag follow
  std::string tag;
  Statement row = db.walk("SELECT tag, actor, via FROM followers ORDER BY tag, actor");
  for (;;) {
    TRY(const bool more, row.step());
    if (!tag.empty() && (!more || row.view(0) != tag)) {
      TRY_VOID(repair(db, tag, of_tag, check.repaired));
      of_tag.clear();
    }
    if (!more) break;
    ++check.followers;
    tag = row.text(0);
    const auto member = delivery::membership_of(
        {Tag::from_canonical(tag), row.text(1), {}, {}, static_cast<delivery::Via>(row.integer(2)), 0});
    if (!member) continue;
    Partials& partials = member->key.collection.empty() ? of_node : of_tag;
    partials[member->key.authority].add(member->id);
  }
  TRY_VOID(repair(db, "", of_node, check.repaired));
  TRY(const std::vector<std::string> abandoned, collections_without_followers(db));
  for (const std::string& collection : abandoned) {
    TRY_VOID(repair(db, collection, {}, check.repaired));
  }
  return check;
}

}  // namespace tagring::db
