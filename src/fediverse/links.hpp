// Where else something is: the header Link (RFC 8288), and the <link> of a page.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tagring::fediverse {

// The URL of the next page in a header Link; none on the last page.
std::optional<std::string> next_link(std::string_view header);

// Where the ActivityPub document is of what a page shows to people ("ActivityPub and HTML Discovery", Social
// Web CG): rel=alternate with a media type of ActivityPub, in its header Link, or in its head, of which no
// more than some tens of kilobytes are read. As it is written there: it may be relative.
std::optional<std::string> activity_link(std::string_view header, std::string_view page);

}  // namespace tagring::fediverse
