// The page of a hashtag as HTML: whole without JavaScript, and what the script begins with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "hashtag/tag.hpp"

namespace tagring::web {

// What a page shows, as in its address: /tags/cats?any=dogs&none=ai&until=2026-05-01.
struct TagView {
  std::vector<std::string> any = {};  // canonical
  std::vector<std::string> all = {};
  std::vector<std::string> none = {};
  std::string until = {};  // a day
  std::string max_id = {};
  std::string min_id = {};
  std::vector<std::string> wrong = {};  // what of that is no hashtag or no day, and is left out

  // Of each list the first kTagsMax words.
  static constexpr std::size_t kTagsMax = 4;
  static TagView parse(std::string_view query);
  // Of the timeline in Mastodon's API, "/api/v1/timelines/tag/…".
  [[nodiscard]] std::string api_target(const Tag& tag) const;
  // Of the page; without max_id and min_id.
  [[nodiscard]] std::string page_target(const Tag& tag) const;
};

// `statuses`: what the API answered, or why it did not. `older`: the max_id of the next page; empty on the
// last.
std::string render_tag_page(const Tag& tag, const TagView& view, std::string_view authority,
                            const Result<json::array>& statuses, const std::string& older, WallTime now);

}  // namespace tagring::web
