// Punycode (RFC 3492), without the limits and mappings of host names that ICU and libidn2 tie to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tagring {

// Without the "xn--" prefix. Case is kept. Takes time quadratic in the length, so the caller bounds it.
std::string punycode_encode(std::u32string_view text);

// The inverse. Nothing if `code` is malformed or stands for something that is no Unicode character.
std::optional<std::u32string> punycode_decode(std::string_view code);

}  // namespace tagring
