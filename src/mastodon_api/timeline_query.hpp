// What a client asks of the timeline of a hashtag: GET /api/v1/timelines/tag/:hashtag.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "hashtag/tag.hpp"
#include "posts/ids.hpp"

namespace tagring::mastodon_api {

struct TimelineQuery {
  static constexpr std::size_t kLimitDefault = 20;
  static constexpr std::size_t kLimitMax = 40;
  static constexpr std::size_t kTagsMax = 4;  // of each of any[], all[] and none[]; Mastodon's own limit

  Tag tag;
  std::vector<Tag> any;                     // posts of these too
  std::vector<Tag> all;                     // only posts that have all of these
  std::vector<Tag> none;                    // no posts of these
  std::optional<posts::StatusId> max_id;    // older than that
  std::optional<posts::StatusId> since_id;  // newer than that
  std::optional<posts::StatusId> min_id;    // newer than that, and the nearest to it
  std::size_t limit = kLimitDefault;
  bool local = false;
  bool remote = false;
  bool only_media = false;

  // `name` is the hashtag as it stands in the path, decoded. kInvalid if it is no hashtag, or a date cannot
  // be read. Hashtags beyond kTagsMax, and words in any[], all[] and none[] that are no hashtags, are passed
  // over, and an id or a limit that is no number is 0, as in Mastodon. Beside Mastodon's parameters there is
  // `max_time` (or `until`), a date (RFC 3339) at which to begin instead of at an id.
  static Result<TimelineQuery> parse(std::string_view name, std::string_view query);

  // The rest of the query, without ids and dates, with a final "&" unless it is empty: for links to the pages
  // before and after.
  [[nodiscard]] std::string filters() const;
};

// All values of "name[]" or "name", decoded; at most `values_max` of them.
std::vector<std::string> query_values(std::string_view query, std::string_view name, std::size_t values_max);
// "true", "1", "on", "t": as Rails reads a boolean.
bool query_flag(std::string_view query, std::string_view name);
// A number in the query, at most `most`; `otherwise` if there is none. As Mastodon makes one of a text: of
// the digits that it begins with, so that "abc" is 0, and without its sign.
std::size_t number_in(std::string_view query, std::string_view name, std::size_t otherwise, std::size_t most);

}  // namespace tagring::mastodon_api
