// Text for HTML pages. What comes from others goes through escape(); nothing else makes it harmless.
#pragma once

#include <string>
#include <string_view>

namespace tagring::web {

// For text, and for attributes in double quotes.
std::string escape(std::string_view text);

// What a reader sees of the HTML of a post: its text, with line breaks where it has paragraphs or <br>, and
// none of its elements. Bounded by the size of `html`; broken HTML gives some text. Not escaped.
std::string text_of(std::string_view html);

// Where the text is a link that may stand in an href: http and https only, else empty. Not escaped.
std::string_view safe_link(std::string_view url);

}  // namespace tagring::web
