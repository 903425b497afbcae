// Bytes and their text forms. They travel as std::string, whatever is in it, or as std::span.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tagring {

// Lower-case hexadecimal.
std::string to_hex(std::span<const std::uint8_t> bytes);
std::string to_hex(std::string_view bytes);
// Accepts upper and lower case. Nothing on an odd length or a foreign character.
std::optional<std::string> from_hex(std::string_view hex);

// Standard alphabet with padding (RFC 4648 §4).
std::string to_base64(std::string_view bytes);
// Requires correct padding and no white space.
std::optional<std::string> from_base64(std::string_view text);

// The URL-safe alphabet without padding (RFC 4648 §5).
std::string to_base64url(std::string_view bytes);
std::optional<std::string> from_base64url(std::string_view text);

// Bitcoin's alphabet. The work is quadratic in the length: for keys, not for documents.
std::optional<std::string> from_base58(std::string_view text);

// ASCII only: what protocols mean by case-insensitive.
std::string ascii_lower(std::string_view text);
bool ascii_iequals(std::string_view a, std::string_view b);

// Without white space of ASCII at its ends.
std::string_view trim(std::string_view text);

// True if `text` is well-formed UTF-8: no overlong forms, surrogates or values above U+10FFFF.
bool is_utf8(std::string_view text);

// As much of well-formed UTF-8 as fits into that many bytes, whole characters.
std::string_view cut_utf8(std::string_view text, std::size_t bytes_max);

// %XX escapes every byte outside RFC 3986 "unreserved"; for a path segment or a query value.
std::string percent_encode(std::string_view text);
// Nothing on a broken escape.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace tagring
