#include "redundancy/relay_place.hpp"

#include <bit>

#include "base/assert.hpp"
#include "crypto/hash.hpp"

namespace tagring::redundancy {

bool is_relay_count(std::int64_t count) {
  return count >= 1 && count <= kRelaysMax && std::has_single_bit(static_cast<std::uint64_t>(count));
}

unsigned interval_of_post(std::string_view uri, unsigned intervals) {
  TR_ASSERT(is_relay_count(intervals));
  if (intervals == 1) return 0;
  const auto hash = crypto::sha3_256(uri);
  static_assert(kRelaysMax <= 256, "one byte of the hash has to suffice");
  return hash[0] >> (8U - static_cast<unsigned>(std::countr_zero(intervals)));
}

unsigned relay_of_post(std::string_view uri, unsigned copy, unsigned copies, unsigned relays) {
  TR_ASSERT(copies >= 1 && copy < copies && copies <= relays && is_relay_count(relays));
  const unsigned intervals = relays / copies;
  return interval_of_post(uri, intervals) + copy * intervals;
}

}  // namespace tagring::redundancy
