// What happens to a network in the course of weeks: nodes go down and come back, posts arrive. From tables of
// real events without names (data/evaluation/README.md).
#pragma once

#include <cstdint>
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

}  // namespace tagring::evaluation
