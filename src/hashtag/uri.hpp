// URIs of hashtags, "hashtag:caturday" (docs/protocol.md §9.7): they name a hashtag where an actor stands,
// for servers that leave the ring to a node (the application proxy of the paper's §5.5).
#pragma once

#include <string>
#include <string_view>

#include "hashtag/tag.hpp"

namespace tagring {

// Has the scheme, whether or not the rest is in order.
bool is_hashtag_uri(std::string_view text);

// Any spelling after the scheme, percent-encoded UTF-8; raw UTF-8 is read too (RFC 3987). kInvalid, with the
// reason, for characters that must be encoded, broken escapes, and what Tag::parse refuses.
Result<Tag> parse_hashtag_uri(std::string_view text);

// The one form of it: "hashtag:" and the canonical form of the hashtag, percent-encoded.
std::string hashtag_uri(const Tag& tag);

}  // namespace tagring
