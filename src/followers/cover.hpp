// The fewest hashtag actors whose followers together are all that are to be reached.
#pragma once

#include <set>
#include <string_view>
#include <vector>

namespace tagring::followers {

using Audience = std::set<std::string_view>;

// Which of `groups`, by place, reach everybody in any of them who is not in `reached`: as few as can be, up
// to 10 groups; of more, nearly so (the one that reaches most, again and again). Of several answers that with
// the first groups.
std::vector<std::size_t> smallest_cover(const std::vector<Audience>& groups, const Audience& reached);

}  // namespace tagring::followers
