// The timeline of a hashtag for feed readers: RSS 2.0 and Atom (RFC 4287), of the Status entities that the
// timeline gives.
#pragma once

#include <string>

#include "base/json.hpp"
#include "base/time.hpp"
#include "hashtag/tag.hpp"
#include "posts/account.hpp"

namespace tagring::mastodon_api {

enum class FeedFormat : std::uint8_t { kRss, kAtom };

inline constexpr const char* media_type(FeedFormat format) {
  return format == FeedFormat::kRss ? "application/rss+xml; charset=utf-8"
                                    : "application/atom+xml; charset=utf-8";
}

// `statuses` newest first. `now` is when it was asked for, for a feed that is empty.
std::string make_feed(FeedFormat format, const Tag& tag, const json::array& statuses, const posts::Site& site,
                      WallTime now);

}  // namespace tagring::mastodon_api
