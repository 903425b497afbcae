// What servers tell a FASP: announcements of objects, and answers to a registration. Text: any of these.
#include "fediverse/fasp.hpp"

#include <set>

#include "crypto/key.hpp"
#include "fuzz/checks.hpp"

namespace tagring::fuzzing {

void fuzz(std::string_view text) {
  constexpr std::size_t kUrisMax = 16;
  const auto announcement = fediverse::parse_fasp_announcement(text, kUrisMax);
  if (announcement) {
    TR_ASSERT(announcement->subscription.empty() != announcement->backfill_request.empty());
    TR_ASSERT(announcement->backfill_request.empty() || announcement->event == fediverse::FaspEvent::kNew);
    TR_ASSERT(!announcement->uris.empty() && announcement->uris.size() <= kUrisMax);
    TR_ASSERT(std::set<std::string>(announcement->uris.begin(), announcement->uris.end()).size() ==
              announcement->uris.size());
    for (const std::string& uri : announcement->uris) check_id(uri);
  }
  const auto registration = fediverse::parse_fasp_registration(text);
  if (registration) {
    TR_ASSERT(!registration->fasp_id.empty());
    TR_ASSERT(crypto::PublicKey::from_ed25519(registration->public_key).has_value());
  }
  for (const std::string_view key : {"subscription", "backfillRequest"}) {
    const auto created = fediverse::parse_fasp_created(text, key);
    if (created) TR_ASSERT(!created->empty() && created->size() <= text.size());
  }
}

}  // namespace tagring::fuzzing
