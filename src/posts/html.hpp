// HTML that strangers wrote, made fit to be shown: parsed as browsers do (Gumbo, HTML5) and written anew from
// the tree, with nothing but the elements and attributes of Mastodon's list. What is not on the list goes,
// its text stays; of elements that hold no text for people (script, style, svg, …) nothing stays.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tagring::posts {

struct HtmlLimits {
  std::size_t input_max = 128U * 1024U;  // bytes; what is beyond is not read
  // Beyond this many the text is shown without any, as it is where they would cost too much (http/html.hpp).
  static constexpr std::size_t kTagsMax = 1500;
  std::size_t output_max = 64U * 1024U;  // bytes; what is beyond is left out
};

// Only p, br, a, span, lists, quotes, code and emphasis; links only to http and https, with rel and target of
// our own; classes only those that mark mentions, hashtags and shortened links.
std::string sanitize_html(std::string_view html, const HtmlLimits& limits = {});

// Its text alone, a line per paragraph, not escaped; at most `bytes_max`, at a character's end.
std::string text_of_html(std::string_view html, std::size_t bytes_max);

// &, <, >, " and ' as character references: fit for HTML and XML, as text and as attribute. Control
// characters that XML forbids are left out.
std::string escape_html(std::string_view text);

}  // namespace tagring::posts
