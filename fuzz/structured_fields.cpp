// Dictionaries of RFC 8941: what is read is written as what reads the same, in the one canonical form.
#include "signatures/structured_fields.hpp"

#include "fuzz/target.hpp"
#include "signatures/digest.hpp"

namespace tagring::fuzzing {
namespace {

using namespace signatures;

void check_list(const signatures::sf::InnerList& list) {
  TR_ASSERT(list.items.size() <= signatures::sf::kItemsMax &&
            list.parameters.size() <= signatures::sf::kParametersMax);
  const std::string written = signatures::sf::serialize(list);
  const Result<signatures::sf::Dictionary> again = signatures::sf::parse_dictionary("a=" + written);
  TR_ASSERT(again || written.size() + 2 > signatures::sf::kTextSizeMax);
  if (!again) return;
  TR_ASSERT(again->size() == 1);
  const auto* read = std::get_if<signatures::sf::InnerList>(&again->front().value);
  TR_ASSERT(read != nullptr);
  TR_ASSERT(read->items.size() == list.items.size() && read->parameters.size() == list.parameters.size());
  for (std::size_t i = 0; i < list.items.size(); ++i) TR_ASSERT(read->items[i].value == list.items[i].value);
  TR_ASSERT(signatures::sf::serialize(*read) == written);
}

}  // namespace

void fuzz(std::string_view text) {
  // A digest is of one body only.
  TR_ASSERT(!check_digest(text, "one") || !check_digest(text, "two"));
  TR_ASSERT(!check_content_digest(text, "one") || !check_content_digest(text, "two"));
  TR_ASSERT(check_digest(make_digest(text), text));
  TR_ASSERT(check_content_digest(make_content_digest(text), text));

  const Result<signatures::sf::Dictionary> dictionary = signatures::sf::parse_dictionary(text);
  if (!dictionary) {
    TR_ASSERT(dictionary.error().code == ErrorCode::kInvalid);
    return;
  }
  TR_ASSERT(text.size() <= signatures::sf::kTextSizeMax && dictionary->size() <= signatures::sf::kMembersMax);
  for (const signatures::sf::Member& member : *dictionary) {
    if (const auto* list = std::get_if<signatures::sf::InnerList>(&member.value)) {
      check_list(*list);
    } else {
      const auto& item = std::get<signatures::sf::Item>(member.value);
      check_list({.items = {item}, .parameters = item.parameters});
    }
  }
}

}  // namespace tagring::fuzzing
