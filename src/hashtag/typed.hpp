// Hashtags as people and clients type them. Tag::parse passes over what cannot stand in a hashtag, as it must
// with what other servers write: of "cats,dogs" it makes #catsdogs. Whoever types that means something else.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "hashtag/tag.hpp"

namespace tagring {

// The first character that cannot stand in a hashtag, which Tag::parse would leave out; empty if there is
// none. Marks that belong to the letter before, and what is not seen, count as part of it. UTF-8.
std::string_view first_left_out(std::string_view name);

// Of one hashtag, with or without '#', maybe with blanks around it, or as its actor is named. kInvalid, with
// the text, what is wrong with it and what was perhaps meant, if anything else would be left out, and of what
// is no hashtag anyway.
Result<Tag> parse_typed_tag(std::string_view text);

// What may have been meant by a text that is no hashtag: of the page or the account of a hashtag, that
// hashtag; of words with something between them, each; else it without what cannot stand in it. Few.
std::vector<Tag> tags_meant_by(std::string_view text);

}  // namespace tagring
