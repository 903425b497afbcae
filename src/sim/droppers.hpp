// Owners that drop chosen posts and say that they have them, or write others: the stores of a node, made to
// lie. Everything above them is the node that ships.
#pragma once

#include <functional>

#include "db/relay_store.hpp"
#include "db_history/history_store.hpp"
#include "delivery/store.hpp"
#include "redundancy/partition.hpp"
#include "sql/database.hpp"
#include "storage/history.hpp"

namespace tagring::sim {

// Whether a node drops a post.
using Drops = std::function<bool(std::size_t node, const std::string& uri)>;
using DropsHere = std::function<bool(const std::string& uri)>;

// What a node writes into its history in place of that.
using Forges = std::function<std::vector<storage::HistoryEntry>(std::size_t node,
                                                                std::vector<storage::HistoryEntry> entries)>;
using ForgesHere =
    std::function<std::vector<storage::HistoryEntry>(std::vector<storage::HistoryEntry> entries)>;

inline DropsHere drops_of(Drops drops, std::size_t node) {
  return [drops = std::move(drops), node](const std::string& uri) { return drops(node, uri); };
}

// Does not write them, and answers as if it had where a receipt is made.
class DroppingHistory final : public db_history::SqliteHistoryStore {
 public:
  DroppingHistory(sql::Database& database, DropsHere drops)
      : SqliteHistoryStore(database), drops_(std::move(drops)) {}

  Task<Result<void>> put(std::vector<storage::HistoryEntry> entries) override {
    for (const storage::HistoryEntry& entry : entries) {
      if (drops_(entry.uri)) pretended_.insert_or_assign({entry.partition, entry.uri}, entry);
    }
    std::erase_if(entries, [this](const storage::HistoryEntry& entry) { return drops_(entry.uri); });
    return SqliteHistoryStore::put(std::move(entries));
  }
  Task<Result<std::vector<std::optional<storage::HistoryEntry>>>> find(
      std::vector<std::pair<redundancy::Partition, std::string>> posts) override {
    auto found = co_await SqliteHistoryStore::find(posts);
    for (std::size_t i = 0; found && i < posts.size(); ++i) {
      const auto pretended = pretended_.find(posts[i]);
      if (pretended != pretended_.end()) (*found)[i] = pretended->second;
    }
    co_return found;
  }

 private:
  const DropsHere drops_;
  std::map<std::pair<redundancy::Partition, std::string>, storage::HistoryEntry> pretended_;
};

// Writes something else. So its pages, digests and whatever else is read of it say the same: what others find
// when they compare theirs with it are its lies.
class ForgingHistory final : public db_history::SqliteHistoryStore {
 public:
  ForgingHistory(sql::Database& database, ForgesHere forges)
      : SqliteHistoryStore(database), forges_(std::move(forges)) {}

  Task<Result<void>> put(std::vector<storage::HistoryEntry> entries) override {
    return SqliteHistoryStore::put(forges_(std::move(entries)));
  }

 private:
  const ForgesHere forges_;
};

// Takes them and passes them on to nobody.
class DroppingRelayStore final : public db::SqliteRelayStore {
 public:
  DroppingRelayStore(sql::Database& database, const Clock& clock, DropsHere drops)
      : SqliteRelayStore(database, clock), drops_(std::move(drops)) {}

  Task<Result<std::vector<Accepted>>> accept(std::vector<delivery::TagEvent> events,
                                             unsigned storage_replicas) override {
    std::vector<delivery::TagEvent> others = events;
    std::erase_if(others, [this](const delivery::TagEvent& event) { return drops_(event.uri); });
    auto accepted = co_await SqliteRelayStore::accept(std::move(others), storage_replicas);
    if (!accepted) co_return accepted;
    std::vector<Accepted> all;
    std::size_t next = 0;
    for (const delivery::TagEvent& event : events)
      all.push_back(drops_(event.uri) ? Accepted() : (*accepted)[next++]);
    co_return all;
  }

 private:
  const DropsHere drops_;
};

}  // namespace tagring::sim
