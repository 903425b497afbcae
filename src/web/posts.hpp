// Posts as HTML, for readers without JavaScript; ui/src/post.tsx draws the same with it.
#pragma once

#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/time.hpp"

namespace tagring::web {

// `status` is an entity of Mastodon's API. The content is sanitised here too; media are links. Every box is
// as large as the one that the script puts in its place. `main`: a hashtag that need not be named.
std::string render_post(const json::object& status, WallTime now, std::string_view main = {});

// An entity Account, as the author of a post is shown.
std::string render_account(const json::object& account);

// The link of a hashtag's timeline, escaped: <a href="/tags/caturday" …>#caturday</a>.
std::string tag_link(std::string_view tag);

}  // namespace tagring::web
