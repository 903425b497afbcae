// The words by which people say in their profiles that they do not want to be found. What follows from them,
// and from FEP-5feb (`indexable`), is in actor.hpp.
#pragma once

#include <string_view>

namespace tagring::fediverse {

struct Wishes {
  bool relay = true;     // posts may be passed on under their hashtags
  bool archive = false;  // and be found there later

  friend bool operator==(const Wishes&, const Wishes&) = default;
};

// HTML has one of #nobot, #nobots, #noindex or #notagring as a word of its own, in whatever case and markup.
bool refuses(std::string_view html);

}  // namespace tagring::fediverse
