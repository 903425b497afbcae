#include "net/address_guard.hpp"

#include <algorithm>
#include <span>

namespace tagring::net {
namespace {

struct Range4 {
  std::uint32_t network;
  int bits;
};

constexpr std::uint32_t v4(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24U | b << 16U | c << 8U | d;
}

constexpr Range4 kSpecial4[] = {
    {v4(0, 0, 0, 0), 8},        // this network
    {v4(10, 0, 0, 0), 8},       // private
    {v4(100, 64, 0, 0), 10},    // carrier NAT
    {v4(127, 0, 0, 0), 8},      // loopback
    {v4(169, 254, 0, 0), 16},   // link local, cloud metadata
    {v4(172, 16, 0, 0), 12},    // private
    {v4(192, 0, 0, 0), 24},     // IETF protocol assignments
    {v4(192, 0, 2, 0), 24},     // documentation
    {v4(192, 88, 99, 0), 24},   // 6to4 relay anycast
    {v4(192, 168, 0, 0), 16},   // private
    {v4(198, 18, 0, 0), 15},    // benchmarks
    {v4(198, 51, 100, 0), 24},  // documentation
    {v4(203, 0, 113, 0), 24},   // documentation
    {v4(224, 0, 0, 0), 4},      // multicast
    {v4(240, 0, 0, 0), 4},      // reserved, broadcast
};

struct Range6 {
  std::uint64_t network;  // the first 64 bits
  int bits;
};

constexpr Range6 kGlobalUnicast = {0x2000'0000'0000'0000, 3};

// What is special within the global unicast space; all outside of it is refused anyway.
constexpr Range6 kSpecial6[] = {
    {0x2001'0000'0000'0000, 23},  // IETF protocol assignments: Teredo, ORCHID, benchmarks
    {0x2001'0db8'0000'0000, 32},  // documentation
    {0x2002'0000'0000'0000, 16},  // 6to4
    {0x2620'004f'8000'0000, 48},  // AS112
    {0x3fff'0000'0000'0000, 20},  // documentation
};

template <class Word, class Range>
bool is_in(Word address, const Range& range) {
  const int rest = static_cast<int>(sizeof(Word)) * 8 - range.bits;
  return address >> rest == range.network >> rest;
}

template <class Word>
Word big_endian(std::span<const std::uint8_t> bytes) {
  Word word = 0;
  for (const std::uint8_t byte : bytes.first(sizeof(Word))) word = word << 8U | byte;
  return word;
}

}  // namespace

bool is_public(const IpAddress& address) {
  const std::span bytes(address.bytes);
  if (address.is_v4()) {
    const auto word = big_endian<std::uint32_t>(bytes.subspan(12));
    return std::ranges::none_of(kSpecial4, [word](const Range4& range) { return is_in(word, range); });
  }
  const auto word = big_endian<std::uint64_t>(bytes);
  return is_in(word, kGlobalUnicast) &&
         std::ranges::none_of(kSpecial6, [word](const Range6& range) { return is_in(word, range); });
}

}  // namespace tagring::net
