// Which form of a page the Accept field of a request asks for (RFC 9110, 12.5.1).
#pragma once

#include <string_view>

namespace tagring::fediverse {

// HTML rather than ActivityStreams. Who wants both alike is a server, and gets ActivityStreams, and so does
// who says nothing.
[[nodiscard]] bool prefers_html(std::string_view accept);

// ActivityStreams by name, and HTML less. Browsers and programs that take anything do not.
[[nodiscard]] bool prefers_activities(std::string_view accept);

// ActivityStreams by name, and plain JSON less; of both alike, what is named first.
[[nodiscard]] bool prefers_activities_to_json(std::string_view accept);

// Plain JSON by name, and HTML less, or as much as anything else that is not named: scripts, and other
// programs.
[[nodiscard]] bool prefers_json(std::string_view accept);

}  // namespace tagring::fediverse
