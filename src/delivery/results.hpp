// The answer to a batch between nodes: which items were not taken. HTTP 200 with
// {"accepted": n, "refused": [{"uri", "tag", "error", "message"}]}.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "belief/tag_event.hpp"
#include "http/message.hpp"

namespace tagring::delivery {

using belief::Refusal;

// `more`: further members of the answer.
HttpResponse results_response(std::size_t asked, const std::vector<Refusal>& refusals,
                              json::object more = {});
// The refusals, or why the whole batch failed.
Result<std::vector<Refusal>> read_results(const Result<HttpResponse>& response);

}  // namespace tagring::delivery
