// The answer to a batch between nodes: which items were not taken. HTTP 200 with
// {"accepted": n, "refused": [{"uri", "tag", "error", "message"}]}.
#pragma once

#include <string>
#include <vector>

#include "base/http.hpp"
#include "node/outbox.hpp"

namespace tagring::node {

// `more`: further members of the answer.
HttpResponse results_response(std::size_t asked, const std::vector<Refusal>& refusals,
                              json::object more = {});
HttpResponse error_response(const Error& error);
// To a request whose sender could not be made sure of: 401, or 503 if only the sender's key was out of reach.
HttpResponse not_authentic(const Error& error);
// The refusals, or why the whole batch failed.
Result<std::vector<Refusal>> read_results(const Result<HttpResponse>& response);

}  // namespace tagring::node
