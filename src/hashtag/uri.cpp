#include "hashtag/uri.hpp"

#include <algorithm>

#include "base/bytes.hpp"

namespace tagring {
namespace {

constexpr std::string_view kScheme = "hashtag:";
constexpr std::size_t kSizeMax = 3 * 4 * Tag::kSizeMax;  // the longest spelling, every byte escaped

// What may stand in it as it is: RFC 3986 "unreserved", '%' of an escape, and what is not ASCII.
bool is_uri_character(char c) {
  const bool ascii_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return ascii_word || std::string_view("-._~%").contains(c) || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

bool is_hashtag_uri(std::string_view text) { return ascii_iequals(text.substr(0, kScheme.size()), kScheme); }

Result<Tag> parse_hashtag_uri(std::string_view text) {
  if (!is_hashtag_uri(text)) return fail(ErrorCode::kInvalid, "not a hashtag: URI");
  const std::string_view rest = text.substr(kScheme.size());
  if (rest.size() > kSizeMax) return fail(ErrorCode::kInvalid, "hashtag: URI is too long");
  if (!std::ranges::all_of(rest, is_uri_character)) {
    return fail(ErrorCode::kInvalid, "hashtag: URI has a character that must be percent-encoded");
  }
  const std::optional<std::string> spelling = percent_decode(rest);
  if (!spelling) return fail(ErrorCode::kInvalid, "hashtag: URI has a broken escape");
  return Tag::parse(*spelling);
}

std::string hashtag_uri(const Tag& tag) { return std::string(kScheme) + percent_encode(tag.canonical()); }

}  // namespace tagring
