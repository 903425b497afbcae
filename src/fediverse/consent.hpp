// What authors have said about being found: FEP-5feb (`indexable`) and the words that people put into their
// profiles. Only posts addressed to the public are ever asked about; see Visibility.
#pragma once

#include "fediverse/actor.hpp"

namespace tagring::fediverse {

struct Wishes {
  bool relay = true;     // posts may be passed on under their hashtags
  bool archive = false;  // and be found there later

  friend bool operator==(const Wishes&, const Wishes&) = default;
};

// No to everything if the profile (summary or fields) has one of #nobot, #nobots, #noindex or #notagring as a
// word of its own, in whatever case and markup. To be archived an author says `indexable`; absent means no.
Wishes wishes_of(const RemoteActor& actor);

}  // namespace tagring::fediverse
