// Hash trees as in Certificate Transparency (RFC 6962 §2.1, RFC 9162 §2.1) on SHA-256: one hash stands for a
// list, and a short path shows that something is at a place in it. Leaves and inner nodes are hashed
// differently, so that neither passes for the other.
#pragma once

#include <span>
#include <vector>

#include "crypto/hash.hpp"

namespace tagring::crypto {

// SHA-256(0x00 ‖ data).
Hash256 leaf_hash(std::string_view data);

// Of a list of leaf hashes; that of the empty list is SHA-256 of nothing.
Hash256 tree_root(std::span<const Hash256> leaves);

// The whole tree of a list, for who needs more than one path.
class HashTree {
 public:
  // Hashes about as often as there are leaves.
  explicit HashTree(std::vector<Hash256> leaves);

  [[nodiscard]] Hash256 root() const;
  // The hashes beside the way from a leaf to the root, lowest first. `index` must be in the list.
  [[nodiscard]] std::vector<Hash256> path(std::size_t index) const;

 private:
  std::vector<std::vector<Hash256>> levels_;  // leaves first; one without a neighbour goes up as it is
};

// Whether the list of that size and root has that leaf hash at that place.
bool is_in_tree(const Hash256& leaf, std::uint64_t index, std::uint64_t size, std::span<const Hash256> path,
                const Hash256& root);

}  // namespace tagring::crypto
