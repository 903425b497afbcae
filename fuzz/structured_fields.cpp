// Structured fields, and the digests that are spelled as such.
#include "fediverse/structured_fields.hpp"

#include "fediverse/digest.hpp"
#include "fuzz/target.hpp"

namespace tagring::fuzzing {

void fuzz(std::string_view text) {
  using namespace fediverse;
  for (const bool right :
       {check_content_digest(text, "body").has_value(), check_digest(text, "body").has_value()})
    TR_ASSERT(!right || text.size() >= 40);
  const Result<sf::Dictionary> dictionary = sf::parse_dictionary(text);
  if (!dictionary) {
    TR_ASSERT(dictionary.error().code == ErrorCode::kInvalid);
    return;
  }
  TR_ASSERT(text.size() <= sf::kTextSizeMax && dictionary->size() <= sf::kMembersMax);
  for (const sf::Member& member : *dictionary) {
    const auto* list = std::get_if<sf::InnerList>(&member.value);
    if (list == nullptr) continue;
    TR_ASSERT(list->items.size() <= sf::kItemsMax && list->parameters.size() <= sf::kParametersMax);
    // The canonical text is read as what it was made of.
    const std::string canonical = sf::serialize(*list);
    const Result<sf::Dictionary> again = sf::parse_dictionary("a=" + canonical);
    TR_ASSERT(again || canonical.size() + 2 > sf::kTextSizeMax);
    if (again) TR_ASSERT(sf::serialize(std::get<sf::InnerList>(again->front().value)) == canonical);
  }
}

}  // namespace tagring::fuzzing
