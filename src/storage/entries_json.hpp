// Entries of histories between nodes, as JSON.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "storage/history.hpp"

namespace tagring::storage {

// [{"uri","author","published" (ms),"removed"?,"tag"?}].
json::array to_json(const std::vector<HistoryEntry>& entries, bool with_tag);
// `tag`: of all of them, whatever they say, unless it is empty. kInvalid if something is malformed.
Result<std::vector<HistoryEntry>> entries_from_json(const json::value* list, const std::string& tag);

}  // namespace tagring::storage
