// Whom a WebFinger query means: the answer, asked for again, is itself.
#include "fediverse/documents.hpp"
#include "fuzz/target.hpp"

namespace tagring::fuzzing {

void fuzz(std::string_view text) {
  const fediverse::NodeUrls urls("https://tags.example.org:8443");
  const Result<fediverse::WebfingerTarget> target = fediverse::parse_webfinger_resource(text, urls);
  if (!target) return;
  TR_ASSERT(target->subject.starts_with("acct:") && target->subject.ends_with("@tags.example.org:8443"));
  TR_ASSERT(target->actor.starts_with(urls.origin() + "/"));
  for (const std::string& name : {target->subject, target->actor}) {
    const Result<fediverse::WebfingerTarget> again = fediverse::parse_webfinger_resource(name, urls);
    TR_ASSERT(again);
    TR_ASSERT(again->subject == target->subject && again->actor == target->actor &&
              again->tag == target->tag);
  }
  TR_ASSERT(urls.tag_of_actor(target->actor) == target->tag);
}

}  // namespace tagring::fuzzing
