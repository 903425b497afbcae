// Questions and answers of two owners who compare their histories (storage/reconcile.hpp), as JSON
// (docs/protocol.md §5.1).
#pragma once

#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/ring_id.hpp"
#include "base/task.hpp"
#include "storage/reconcile.hpp"

namespace tagring::handover {

// The segment as ranges that do not wrap.
std::vector<storage::HourRange> hour_ranges(const Segment& keys);

// Questions and answers as JSON; kInvalid if something in them is malformed.
json::object to_json(const std::vector<storage::Comparison>& asked, std::int64_t since);
Result<std::vector<storage::Comparison>> comparisons_from_json(const json::object& question);
json::object to_json(const std::vector<storage::Difference>& differences);
Result<std::vector<storage::Difference>> differences_from_json(const json::object& answer,
                                                               const std::vector<storage::Comparison>& asked);

// Answers a question, given as JSON. kDenied if it is about other keys than `keys`.
[[nodiscard]] Task<Result<json::object>> answer_comparison(storage::HistoryStore& history, Segment keys,
                                                           json::object question,
                                                           storage::CompareLimits limits = {});

}  // namespace tagring::handover
