// The file of a node's configuration, which administrators write in, too.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tagring::operation {

// Whether it could be written there, before anybody is asked what is to be in it: kDenied with the system's
// reason; kInvalid if a file is there that may not be replaced. What the package puts there may.
Result<void> check_place(const std::string& name, bool may_replace);

// With the rights of what is there; for the node, where it has a user of its own. The file is the former or
// the new one, whole, also if the disk is full or the power goes, but where that cannot be had. kUnavailable
// with the system's reason, kInvalid as above.
Result<void> write_configuration(const std::string& name, std::string_view text, bool may_replace);

}  // namespace tagring::operation
