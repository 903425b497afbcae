// What authors have said about being found: FEP-5feb (`indexable`) and the words that people put into their
// profiles. Only posts addressed to the public are ever asked about; see Visibility.
#pragma once

#include "base/json.hpp"
#include "fediverse/actor.hpp"

namespace tagring::fediverse {

struct Wishes {
  bool relay = true;     // posts may be passed on under their hashtags
  bool archive = false;  // and be found there later

  friend bool operator==(const Wishes&, const Wishes&) = default;
};

// No to everything if the profile (RemoteActor::words) has one of #nobot, #nobots, #noindex or #notagring as
// a word of its own, in whatever case and markup. To be archived an author says `indexable`; absent means no.
// Nor to anything if the account is suspended, and no to the archive if its posts are hidden from the web.
Wishes wishes_of(const RemoteActor& actor);

// Posts of that actor (its document) may be shown to anybody: it has none of these words, is not suspended,
// and does not hide its posts from who is not logged in (GoToSocial: hidesToPublicFromUnauthedWeb). A node
// fetches with its own signature, so it could read for others what they could not.
bool is_for_everybody(const json::object& actor);

}  // namespace tagring::fediverse
