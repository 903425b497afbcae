// HTML of strangers, parsed as browsers do (Gumbo, HTML5), in no more memory than a page of people takes.
// What is left open is opened again in each paragraph that follows, attributes and all, so that a page of
// some kilobytes could ask for gigabytes, and for the seconds in which they are filled.
#pragma once

#include <gumbo.h>
#include <memory>
#include <string_view>

namespace tagring::html {

// Null if it would take too much. `fragment_context`: within which element it stands; GUMBO_TAG_LAST: it is a
// whole page. The tree leads into `text`.
using Tree = std::shared_ptr<const GumboOutput>;
[[nodiscard]] Tree parse(std::string_view text, GumboTag fragment_context);

}  // namespace tagring::html
