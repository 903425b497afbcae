// Hashtags that became popular within minutes: when their posts came.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tagring::evaluation {

// The table data/evaluation/bursts.tsv: burst, minute, posts.
std::string_view built_in_bursts();

// The names of the bursts of such a table, in its order.
std::vector<std::string> burst_names(std::string_view table);

// When the posts of a burst come, in seconds from its begin: `scale` times as many, `speed` times as fast;
// within a minute at random. kNotFound if there is no such burst, kInvalid if the table is malformed.
Result<std::vector<double>> burst_arrivals(std::string_view table, std::string_view burst, double scale,
                                           double speed, std::uint64_t seed);

}  // namespace tagring::evaluation
