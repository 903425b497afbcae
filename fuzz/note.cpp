// Posts, whole and as references.
#include "fediverse/note.hpp"

#include "fuzz/checks.hpp"
#include "fuzz/target.hpp"

namespace tagring::fuzzing {

void fuzz(std::string_view text) {
  constexpr fediverse::ParseLimits kLimits{.tags_max = 4, .items_max = 8};
  const Result<json::value> parsed = json::parse(text);
  if (!parsed) return;
  const Result<fediverse::PostRef> post = fediverse::parse_post_ref(*parsed, kNow, kLimits);
  if (post) check_post(*post, kLimits);
  if (!parsed->is_object()) return;
  const json::object& object = parsed->get_object();
  const json::value* by = json::find(object, "attributedTo");
  const std::string author =
      by == nullptr ? ""
                    : json::id_of(by->is_array() && !by->get_array().empty() ? by->get_array().back() : *by);
  const Result<fediverse::Note> note = fediverse::parse_note(object, author, kNow, kLimits);
  if (!note) return;
  check_note(*note, kLimits);
  TR_ASSERT(fediverse::is_post(object));
  // A whole post is a reference too, to the same.
  TR_ASSERT(post);
  TR_ASSERT(post->uri == note->id);
  TR_ASSERT(post->tags == note->tags);
}

}  // namespace tagring::fuzzing
