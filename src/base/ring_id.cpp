#include "base/ring_id.hpp"

#include <bit>
#include <cmath>

#include "base/assert.hpp"
#include "base/bytes.hpp"

namespace tagring {

RingId RingId::from_bytes(std::span<const std::uint8_t, 32> big_endian) {
  RingId id;
  for (std::size_t i = 0; i < 32; ++i) id.words_[i / 8] = id.words_[i / 8] << 8 | big_endian[i];
  return id;
}

std::optional<RingId> RingId::from_hex(std::string_view hex) {
  const std::optional<std::string> bytes = tagring::from_hex(hex);
  if (!bytes || bytes->size() != 32) return std::nullopt;
  return from_bytes(
      std::span<const std::uint8_t, 32>(reinterpret_cast<const std::uint8_t*>(bytes->data()), 32));
}

RingId RingId::power_of_two(unsigned bit) {
  TR_ASSERT(bit < kBits);
  RingId id;
  id.words_[3 - bit / 64] = std::uint64_t{1} << (bit % 64);
  return id;
}

std::array<std::uint8_t, 32> RingId::bytes() const {
  std::array<std::uint8_t, 32> result{};
  for (std::size_t i = 0; i < 32; ++i) {
    result[i] = static_cast<std::uint8_t>(words_[i / 8] >> (56 - 8 * (i % 8)));
  }
  return result;
}

std::string RingId::hex() const { return to_hex(bytes()); }

double RingId::fraction() const { return std::ldexp(static_cast<double>(words_[0] >> 11), -53); }

RingId operator+(const RingId& a, const RingId& b) {
  RingId sum;
  std::uint64_t carry = 0;
  for (int i = 3; i >= 0; --i) {
    const auto n = static_cast<std::size_t>(i);
    const std::uint64_t partial = a.words_[n] + carry;
    const std::uint64_t overflow = partial < carry ? 1 : 0;
    sum.words_[n] = partial + b.words_[n];
    carry = overflow + (sum.words_[n] < b.words_[n] ? 1 : 0);
  }
  return sum;
}

RingId operator-(const RingId& a, const RingId& b) {
  RingId difference;
  std::uint64_t borrow = 0;
  for (int i = 3; i >= 0; --i) {
    const auto n = static_cast<std::size_t>(i);
    const std::uint64_t partial = a.words_[n] - b.words_[n];
    const std::uint64_t underflow = a.words_[n] < b.words_[n] ? 1 : 0;
    difference.words_[n] = partial - borrow;
    borrow = underflow + (partial < borrow ? 1 : 0);
  }
  return difference;
}

bool in_open(const RingId& a, const RingId& x, const RingId& b) {
  if (a == b) return x != a;
  return x != a && x != b && x - a < b - a;
}

bool in_half_open(const RingId& a, const RingId& x, const RingId& b) {
  if (a == b) return true;
  return x != a && x - a <= b - a;
}

namespace {
RingId replica_offset(unsigned index, unsigned replicas) {
  TR_ASSERT(std::has_single_bit(replicas) && replicas <= 256 && index < replicas);
  if (index == 0) return {};
  const unsigned bits = static_cast<unsigned>(std::countr_zero(replicas));
  RingId offset;
  for (unsigned bit = 0; bit < bits; ++bit) {
    if ((index >> bit & 1U) != 0) offset = offset + RingId::power_of_two(RingId::kBits - bits + bit);
  }
  return offset;
}
}  // namespace

RingId replica_key(const RingId& key, unsigned index, unsigned replicas) {
  return key + replica_offset(index, replicas);
}

RingId key_of_replica(const RingId& position, unsigned index, unsigned replicas) {
  return position - replica_offset(index, replicas);
}

std::vector<Segment> key_segments(const Segment& positions, unsigned replicas) {
  if (positions.from == positions.to) return {positions};
  std::vector<Segment> segments;
  for (unsigned i = 0; i < replicas; ++i) {
    segments.push_back(
        {key_of_replica(positions.from, i, replicas), key_of_replica(positions.to, i, replicas)});
  }
  return segments;
}

}  // namespace tagring
