#include "followers/digest.hpp"

#include <algorithm>
#include <set>

#include "base/bytes.hpp"
#include "crypto/hash.hpp"

namespace tagring::followers {

Digest Digest::of(std::span<const std::string> ids) {
  Digest digest;
  for (const std::string_view id : std::set<std::string_view>(ids.begin(), ids.end())) digest.add(id);
  return digest;
}

std::optional<Digest> Digest::from_hex(std::string_view hex) {
  const std::optional<std::string> bytes = tagring::from_hex(hex);
  Digest digest;
  if (!bytes || bytes->size() != digest.bytes_.size()) return std::nullopt;
  std::ranges::transform(*bytes, digest.bytes_.begin(), [](char c) { return static_cast<std::uint8_t>(c); });
  return digest;
}

void Digest::add(std::string_view id) {
  const crypto::Hash256 hash = crypto::sha256(id);
  for (std::size_t i = 0; i < hash.size(); ++i) bytes_[i] ^= hash[i];
}

std::string Digest::hex() const { return to_hex(bytes_); }

}  // namespace tagring::followers
