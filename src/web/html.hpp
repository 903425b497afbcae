// What the pages need of HTML beside posts/html.hpp.
#pragma once

#include <string>
#include <string_view>

#include "posts/html.hpp"

namespace tagring::web {

// For text, and for attributes in double quotes.
inline std::string escape(std::string_view text) { return posts::escape_html(text); }

// The URL if it may stand in an href: http and https only, else empty. Not escaped.
inline std::string_view safe_link(std::string_view url) {
  return url.starts_with("https://") || url.starts_with("http://") ? url : std::string_view();
}

}  // namespace tagring::web
