// The hashtag that another node asks about.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "hashtag/tag.hpp"

namespace tagring::redundancy {

// "tag" of a query. kInvalid, saying so, if there is none, or what it names is no hashtag.
Result<Tag> asked_tag(std::string_view query);

}  // namespace tagring::redundancy
