// A question to the owner of a place on a ring that is not signed: whoever looked the owner up makes sure by
// its address that it is that owner who answers (docs/protocol.md, section 3).
#pragma once

#include <string>

#include "base/http.hpp"
#include "base/json.hpp"
#include "base/task.hpp"
#include "ring/contact.hpp"

namespace tagring::node {

// GETs `target`, path and query, until then. The JSON object that it answers, or the error.
Task<Result<json::object>> ask_owner(HttpClient& http, ring::Contact owner, std::string target,
                                     Instant deadline);

}  // namespace tagring::node
