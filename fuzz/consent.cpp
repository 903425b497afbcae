// Nobody's wish gets lost in the rest of a profile.
#include "fediverse/consent.hpp"

#include "fuzz/target.hpp"

namespace tagring::fuzzing {
void fuzz(std::string_view text) {
  fediverse::RemoteActor actor;
  actor.indexable = true;
  actor.words = text;
  TR_ASSERT(fediverse::wishes_of(actor).archive == fediverse::wishes_of(actor).relay);
  actor.words = std::string(text) + "<p>#NoBot</p>";
  TR_ASSERT(!fediverse::wishes_of(actor).relay);
  actor.words = std::string(text) + " #nobot";
  TR_ASSERT(!fediverse::wishes_of(actor).relay);
}

}  // namespace tagring::fuzzing
