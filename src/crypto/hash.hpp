// The hash functions of the protocols (OpenSSL).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/rng.hpp"

namespace tagring::crypto {

using Hash512 = std::array<std::uint8_t, 64>;
using Hash256 = std::array<std::uint8_t, 32>;
using Hash128 = std::array<std::uint8_t, 16>;

Hash256 sha256(std::string_view bytes);                             // Digest headers, FEP-8fcf
Hash256 hmac_sha256(std::string_view key, std::string_view bytes);  // RFC 2104
Hash512 sha512(std::string_view bytes);                             // Content-Digest headers
Hash256 sha3_256(std::string_view bytes);                           // hk of the paper's §5.1
Hash128 shake128_128(
    std::string_view bytes);  // the hash inside hn, paper §5.2: SHAKE128 with 128 bits of output

// The beginning of SHA-256 as a number: for tables and decisions about what others write. It is the same on
// every machine, and unlike std::hash's nobody can choose many texts that share one.
std::uint64_t hash64(std::string_view bytes);

// A draw that others may be told, as a part of an id: 16 hexadecimal digits, a one-way function of it. From a
// bare Rng::next() anybody can compute the seed, and all that the node will ever draw, as which posts it
// checks.
std::string public_draw(Rng& rng);
inline std::string public_draw(Rng&& rng) { return public_draw(rng); }

}  // namespace tagring::crypto
