// Dictionaries of RFC 8941: what is read is written as what reads the same, in the one canonical form.
#include "fediverse/structured_fields.hpp"

#include "fediverse/digest.hpp"
#include "fuzz/target.hpp"

namespace tagring::fuzzing {
namespace {

using namespace fediverse;

void check_list(const sf::InnerList& list) {
  TR_ASSERT(list.items.size() <= sf::kItemsMax && list.parameters.size() <= sf::kParametersMax);
  const std::string written = sf::serialize(list);
  const Result<sf::Dictionary> again = sf::parse_dictionary("a=" + written);
  TR_ASSERT(again || written.size() + 2 > sf::kTextSizeMax);
  if (!again) return;
  TR_ASSERT(again->size() == 1);
  const auto* read = std::get_if<sf::InnerList>(&again->front().value);
  TR_ASSERT(read != nullptr);
  TR_ASSERT(read->items.size() == list.items.size() && read->parameters.size() == list.parameters.size());
  for (std::size_t i = 0; i < list.items.size(); ++i) TR_ASSERT(read->items[i].value == list.items[i].value);
  TR_ASSERT(sf::serialize(*read) == written);
}

}  // namespace

void fuzz(std::string_view text) {
  // A digest is of one body only.
  TR_ASSERT(!check_digest(text, "one") || !check_digest(text, "two"));
  TR_ASSERT(!check_content_digest(text, "one") || !check_content_digest(text, "two"));
  TR_ASSERT(check_digest(make_digest(text), text));
  TR_ASSERT(check_content_digest(make_content_digest(text), text));

  const Result<sf::Dictionary> dictionary = sf::parse_dictionary(text);
  if (!dictionary) {
    TR_ASSERT(dictionary.error().code == ErrorCode::kInvalid);
    return;
  }
  TR_ASSERT(text.size() <= sf::kTextSizeMax && dictionary->size() <= sf::kMembersMax);
  for (const sf::Member& member : *dictionary) {
    if (const auto* list = std::get_if<sf::InnerList>(&member.value)) {
      check_list(*list);
    } else {
      const auto& item = std::get<sf::Item>(member.value);
      check_list({.items = {item}, .parameters = item.parameters});
    }
  }
}

}  // namespace tagring::fuzzing
