// What happened to real networks: nodes went down and came back, posts arrived, hashtags became popular
// within minutes. From tables of events without names (data/evaluation/README.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace tagring::evaluation {

struct Outage {
  std::uint32_t node = 0;  // by size, from 0
  double down = 0;         // hours since the start
  double up = 0;
};

// A hashtag that is used during that time.
struct TagStream {
  std::uint32_t rank_before = 0;                    // by posts, from 1; 0: not used before
  std::vector<std::pair<unsigned, double>> of_day;  // days since the start, posts
};

struct Stream {
  std::vector<double> of_hour;  // posts of all hashtags, those of no TagStream included
  std::vector<TagStream> tags;
};

// Columns "rank" (from 1), "down", "up". kInvalid with the line's number.
Result<std::vector<Outage>> parse_outages(std::string_view text);
// Columns "rank_before" and "posts", as pairs at:posts. In the line of "all" at is an hour, else a day.
Result<Stream> parse_stream(std::string_view text);
std::string_view built_in_outages();
std::string_view built_in_stream();

// The table data/evaluation/bursts.tsv: burst, minute, posts.
std::string_view built_in_bursts();

// The names of the bursts of such a table, in its order.
std::vector<std::string> burst_names(std::string_view table);

// When the posts of a burst come, in seconds from its begin: `scale` times as many, `speed` times as fast;
// within a minute at random. kNotFound if there is no such burst, kInvalid if the table is malformed.
Result<std::vector<double>> burst_arrivals(std::string_view table, std::string_view burst, double scale,
                                           double speed, std::uint64_t seed);

}  // namespace tagring::evaluation
