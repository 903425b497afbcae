// Where on the relay ring the posts of a hashtag go (paper §7, §7.1).
//
// A hashtag has R relays, at the R equidistant positions of its key; R is a power of two and changes with the
// load. Its posts are divided by a hash of their URIs, and each goes to `copies` of the relays: to relay i
// and to the one opposite, i + R/2; where the network keeps one relay at rest, to one. So each relay gets
// copies/R of the posts, and a doubling of R halves that. (The paper sends to log2 R of R at random: as much
// to each of four as to each of two.) The hash picks an interval, and a doubling splits every interval in the
// middle: the lower half stays where it was.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace tagring::redundancy {

inline constexpr unsigned kRelaysMax = 256;

// A power of two from 1 to kRelaysMax.
bool is_relay_count(std::int64_t count);

// Copies of each post, in a network with so many relays at rest: 1 for 1, else 2.
inline unsigned copies_of_post(unsigned relays_at_rest) { return std::min(2U, relays_at_rest); }

// Which of that many equal intervals, a power of two up to 256, the hash of the post's URI is in.
unsigned interval_of_post(std::string_view uri, unsigned intervals);

// The index, below `relays`, of the relay that gets copy number `copy` (below `copies`) of the post. `copies`
// is at most `relays`.
unsigned relay_of_post(std::string_view uri, unsigned copy, unsigned copies, unsigned relays);

// The halves of a hashtag's relays: a post goes to one relay of each, whatever their number. As bits, of who
// stands at several places.
using RelayHalves = unsigned;
inline constexpr RelayHalves kBothHalves = 3;
// Of the place `index` of so many. Where there is one relay, it stands for both.
inline RelayHalves half_of_relay(unsigned index, unsigned relays) {
  if (relays < 2) return kBothHalves;
  return index < relays / 2 ? 1 : 2;
}

}  // namespace tagring::redundancy
