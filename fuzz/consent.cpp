// Nobody's wish gets lost in the rest of a profile.
#include "fediverse/consent.hpp"

#include <string>

#include "fuzz/target.hpp"

namespace tagring::fuzzing {
void fuzz(std::string_view text) {
  static_cast<void>(fediverse::refuses(text));
  TR_ASSERT(fediverse::refuses(std::string(text) + "<p>#NoBot</p>"));
  TR_ASSERT(fediverse::refuses(std::string(text) + " #nobot"));
}

}  // namespace tagring::fuzzing
