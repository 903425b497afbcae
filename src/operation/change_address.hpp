// A node gets another address, and keeps its name.
#pragma once

#include <string>

namespace tagring::operation {

// Writes it into the configuration that is there, of which all else stays as it is, and says what comes next;
// with `as_json` {"file", "address", "before"}. The exit code.
int change_address(const std::string& file, const std::string& address, bool as_json);

}  // namespace tagring::operation
