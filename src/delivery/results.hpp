// The answer to a batch between nodes: which items were not taken. HTTP 200 with
// {"accepted": n, "refused": [{"uri", "tag", "error", "message"}]}.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/rng.hpp"
#include "base/task.hpp"
#include "belief/tag_event.hpp"
#include "http/message.hpp"

namespace tagring::delivery {

using belief::Refusal;

// `more`: further members of the answer.
HttpResponse results_response(std::size_t asked, const std::vector<Refusal>& refusals,
                              json::object more = {});
// The refusals, or why the whole batch failed.
Result<std::vector<Refusal>> read_results(const Result<HttpResponse>& response);

// Something in the request is what the other one does not take, however often it comes.
bool is_unreadable(const Error& error);

using Part = std::vector<const belief::TagEvent*>;  // of a batch
using SendPart = std::function<Task<Result<std::vector<Refusal>>>(Part part)>;
// One event that the other one's software cannot read must not hold back all others. Sends a batch again that
// was refused whole as unreadable: in halves, down to what cannot be read, which then counts as refused for
// that reason; what is not found with few requests is refused as kBusy, as is what fails otherwise. `whole`
// is returned if the first event, which is drawn, is not taken either: then it is no event's fault (a proxy
// may answer so while a node is down). What `batch` leads to, and `send`, live as long as this.
[[nodiscard]] Task<Result<std::vector<Refusal>>> send_apart(Part batch, Error whole, const SendPart& send,
                                                            Rng& rng);

}  // namespace tagring::delivery
