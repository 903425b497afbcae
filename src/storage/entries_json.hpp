// Entries of histories between nodes, as JSON.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "redundancy/partition.hpp"
#include "storage/history.hpp"

namespace tagring::storage {

// [{"uri","author","published" (ms),"removed"?,"updated"? (ms),"heard"?,"tag"?}]. What is `heard`
// nobody answers for (kBeforeAll).
json::array to_json(const std::vector<HistoryEntry>& entries, bool with_tag);
// `of`: of all of them, whatever they say. kInvalid if something is malformed.
Result<std::vector<HistoryEntry>> entries_from_json(
    const json::value* list, const std::optional<redundancy::Partition>& of = std::nullopt);

}  // namespace tagring::storage
