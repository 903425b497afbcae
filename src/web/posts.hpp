// Posts as HTML, for readers without JavaScript; ui/src/post.tsx draws the same with it.
#pragma once

#include <string>

#include "base/json.hpp"

namespace tagring::web {

// `status` is an entity of Mastodon's API. The content is sanitised here too; media are links.
std::string render_post(const json::object& status);

// The link of a hashtag's timeline, escaped: <a href="/tags/caturday" …>#caturday</a>.
std::string tag_link(std::string_view tag);

}  // namespace tagring::web
