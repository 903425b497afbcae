// Identifiers of the Chord ring (paper §5.1): 256 bits, big endian, arithmetic modulo 2^256.
//
// Keys of hashtags and IDs of vservers share this space. Intervals are clockwise and may wrap.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tagring {

// The two rings of the network (paper §5.1): who relays a hashtag, and who stores its history.
enum class Ring : std::uint8_t { kRelay = 0, kStorage = 1 };

class RingId {
 public:
  static constexpr unsigned kBits = 256;

  constexpr RingId() = default;  // zero
  static RingId from_bytes(std::span<const std::uint8_t, 32> big_endian);
  // Exactly 64 hexadecimal digits, else nothing.
  static std::optional<RingId> from_hex(std::string_view hex);
  // 2^bit, for bit in [0, 256).
  static RingId power_of_two(unsigned bit);

  [[nodiscard]] std::array<std::uint8_t, 32> bytes() const;                   // big endian
  [[nodiscard]] std::string hex() const;                                      // 64 lower-case digits
  [[nodiscard]] std::string short_hex() const { return hex().substr(0, 8); }  // for logs and pictures
  // Position on the ring in [0, 1), for pictures and estimates only.
  [[nodiscard]] double fraction() const;
  // The most significant 64 bits.
  [[nodiscard]] std::uint64_t top() const { return words_[0]; }

  friend RingId operator+(const RingId& a, const RingId& b);
  friend RingId operator-(const RingId& a, const RingId& b);
  friend constexpr auto operator<=>(const RingId&, const RingId&) = default;

 private:
  std::array<std::uint64_t, 4> words_{};  // most significant first
};

// How far one goes clockwise from `from` to reach `to`; zero if they are the same.
inline RingId clockwise_distance(const RingId& from, const RingId& to) { return to - from; }

// x strictly inside the clockwise interval (a, b). With a == b that is everything but a.
bool in_open(const RingId& a, const RingId& x, const RingId& b);
// x in (a, b]. With a == b that is the whole ring: a lone vserver owns everything.
bool in_half_open(const RingId& a, const RingId& x, const RingId& b);

// A clockwise interval (from, to]: what a vserver owns is (predecessor, self].
struct Segment {
  RingId from;
  RingId to;

  [[nodiscard]] bool contains(const RingId& key) const { return in_half_open(from, key, to); }
  friend bool operator==(const Segment&, const Segment&) = default;
};

// The key of replica `index` of `replicas` equidistant ones (paper §7): key + index · 2^256 / replicas.
// `replicas` is a power of two in [1, 256], index < replicas.
RingId replica_key(const RingId& key, unsigned index, unsigned replicas);
// The inverse: the key whose replica `index` lies at `position`.
RingId key_of_replica(const RingId& position, unsigned index, unsigned replicas);
// The segments of keys whose replicas lie at those positions.
std::vector<Segment> key_segments(const Segment& positions, unsigned replicas);

}  // namespace tagring

// IDs are hashes already.
template <>
struct std::hash<tagring::RingId> {
  std::size_t operator()(const tagring::RingId& id) const noexcept { return id.top(); }
};
