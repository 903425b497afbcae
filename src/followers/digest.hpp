// The partial collection digest of FEP-8fcf: SHA-256 of each follower's id, all XORed together.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tagring::followers {

// The digest of a set of ids, kept up to date in constant time: store the 32 bytes beside the set, and add
// or remove an id where it enters or leaves the set. The order does not matter.
//
// Adding and removing are the same operation, so an id that is added twice is gone again: whoever keeps a
// digest must know that the id was really new, or really there.
class Digest {
 public:
  using Bytes = std::array<std::uint8_t, 32>;

  // Of the empty set: all zero.
  Digest() = default;
  explicit Digest(const Bytes& bytes) : bytes_(bytes) {}
  // Of the set of these ids; repeated ones count once.
  static Digest of(std::span<const std::string> ids);
  // 64 hexadecimal digits of either case, or nothing.
  static std::optional<Digest> from_hex(std::string_view hex);

  // `id` is hashed byte by byte, as its origin publishes it: https://example.org/u and
  // https://example.org/u/ are unrelated.
  void add(std::string_view id);
  void remove(std::string_view id) { add(id); }

  [[nodiscard]] std::string hex() const;  // lower case
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

  friend bool operator==(const Digest&, const Digest&) = default;

 private:
  Bytes bytes_{};
};

}  // namespace tagring::followers
