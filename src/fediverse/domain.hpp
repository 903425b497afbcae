// Names of servers as people write and paste them.
#pragma once

#include <string>
#include <string_view>

namespace tagring::fediverse {

// "https://Bücher.example./" as "xn--bcher-kva.example". Unchanged where that makes no sense.
[[nodiscard]] std::string domain_in(std::string_view text);

}  // namespace tagring::fediverse
