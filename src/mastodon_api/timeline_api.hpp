// Posts under hashtags: Mastodon's timelines, and the same as RSS and Atom (docs/client-api.md).
//
//   GET /api/v1/timelines/tag/…
//   GET /tags/….rss, /tags/….atom
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "federation/blocks.hpp"
#include "mastodon_api/api.hpp"
#include "mastodon_api/feed.hpp"
#include "mastodon_api/timeline.hpp"
#include "posts/account.hpp"

namespace tagring::mastodon_api {

class TimelineApi final : public ApiPart {
 public:
  // `moved_to`: the origin that the node has from now on, or empty. Feed readers are told, and follow.
  TimelineApi(posts::Site site, Timeline& timeline, const federation::Blocks& blocks, const Clock& clock,
              std::function<std::string()> moved_to)
      : site_(std::move(site)),
        timeline_(timeline),
        blocks_(blocks),
        clock_(clock),
        moved_to_(std::move(moved_to)) {}

  [[nodiscard]] static bool is_feed(std::string_view path);
  [[nodiscard]] Task<std::optional<HttpResponse>> answer(ApiRequest request) override;

 private:
  Task<HttpResponse> timeline(std::string name, std::string query);
  Task<HttpResponse> feed(std::string name, FeedFormat format);

  posts::Site site_;
  Timeline& timeline_;
  const federation::Blocks& blocks_;
  const Clock& clock_;
  const std::function<std::string()> moved_to_;
};

}  // namespace tagring::mastodon_api
