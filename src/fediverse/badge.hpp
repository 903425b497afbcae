// Pictures of the actors of hashtags, as PNG: Mastodon takes no SVG. A white hash sign on a colour of the
// hashtag's own, so that they can be told apart at a glance; the colours are those of the page's avatars.
#pragma once

#include <cstddef>
#include <string>

#include "base/ring_id.hpp"

namespace tagring::fediverse {

inline constexpr std::size_t kColours = 6;

// Of a hashtag's key, less than kColours.
[[nodiscard]] std::size_t colour_of(const RingId& key);

// 256 by 256 pixels.
[[nodiscard]] std::string make_icon(std::size_t colour);
// 1200 by 400 pixels, three to one as Mastodon shows them.
[[nodiscard]] std::string make_header(std::size_t colour);

}  // namespace tagring::fediverse
