// The canonical form is a fixed point, and names of hashtag actors are one to one.
#include "base/bytes.hpp"
#include "fuzz/target.hpp"
#include "hashtag/punycode.hpp"
#include "hashtag/tag.hpp"
#include "hashtag/typed.hpp"

namespace tagring::fuzzing {
namespace {

void check_tag(const Tag& tag) {
  TR_ASSERT(!tag.canonical().empty() && tag.canonical().size() <= Tag::kSizeMax);
  TR_ASSERT(is_utf8(tag.canonical()));
  const Result<Tag> again = Tag::parse(tag.canonical());
  TR_ASSERT(again);
  TR_ASSERT(*again == tag && again->key() == tag.key());
  const std::string name = tag.actor_name();
  TR_ASSERT(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos);
  const Result<Tag> named = Tag::from_actor_name(name);
  TR_ASSERT(named);
  TR_ASSERT(*named == tag);
  for (const std::string& typed : {tag.canonical(), "#" + tag.canonical(), name}) {
    const Result<Tag> taken = parse_typed_tag(typed);
    TR_ASSERT(taken && *taken == tag);
  }
}

}  // namespace

void fuzz(std::string_view text) {
  const Result<Tag> tag = Tag::parse(text);
  if (tag) check_tag(*tag);
  const Result<Tag> typed = parse_typed_tag(text);
  if (typed) check_tag(*typed);
  TR_ASSERT(typed || typed.error().code == ErrorCode::kInvalid);
  TR_ASSERT(tags_meant_by(text).size() <= 5);
  const Result<Tag> with_hash = Tag::parse("#" + std::string(text));
  if (tag && with_hash) TR_ASSERT(*with_hash == *tag);
  const Result<Tag> named = Tag::from_actor_name(text);
  if (named) check_tag(*named);
  // No hashtag has two names in Punycode.
  const std::string lower = ascii_lower(text);
  if (named && lower.starts_with("xn--")) TR_ASSERT(named->actor_name() == lower);
  // What decodes, encodes to what decodes to the same.
  if (text.size() > 1024) return;
  if (const auto decoded = punycode_decode(text))
    TR_ASSERT(punycode_decode(punycode_encode(*decoded)) == decoded);
}

}  // namespace tagring::fuzzing
