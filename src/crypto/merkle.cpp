#include "crypto/merkle.hpp"

#include <bit>
#include <string>

#include "base/assert.hpp"

namespace tagring::crypto {
namespace {

Hash256 node_hash(const Hash256& left, const Hash256& right) {
  std::string data(1, '\x01');
  data.append(left.begin(), left.end());
  data.append(right.begin(), right.end());
  return sha256(data);
}

// How many leaves go to the left: the largest power of two below the size, which is at least 2.
std::size_t left_size(std::size_t size) { return std::bit_floor(size - 1); }

}  // namespace

Hash256 leaf_hash(std::string_view data) {
  std::string marked(1, '\0');
  marked += data;
  return sha256(marked);
}

Hash256 tree_root(std::span<const Hash256> leaves) {
  if (leaves.empty()) return sha256("");
  if (leaves.size() == 1) return leaves.front();
  const std::size_t left = left_size(leaves.size());
  return node_hash(tree_root(leaves.first(left)), tree_root(leaves.subspan(left)));
}

HashTree::HashTree(std::vector<Hash256> leaves) {
  levels_.push_back(std::move(leaves));
  while (levels_.back().size() > 1) {
    const std::vector<Hash256>& below = levels_.back();
    std::vector<Hash256> level;
    for (std::size_t i = 0; i + 1 < below.size(); i += 2) level.push_back(node_hash(below[i], below[i + 1]));
    if (below.size() % 2 == 1) level.push_back(below.back());
    levels_.push_back(std::move(level));
  }
}

Hash256 HashTree::root() const { return levels_.back().empty() ? tree_root({}) : levels_.back().front(); }

std::vector<Hash256> HashTree::path(std::size_t index) const {
  TR_ASSERT(index < levels_.front().size());
  std::vector<Hash256> path;
  for (const std::vector<Hash256>& level : levels_) {
    const std::size_t beside = index ^ 1U;
    if (beside < level.size()) path.push_back(level[beside]);
    index /= 2;
  }
  return path;
}

bool is_in_tree(const Hash256& leaf, std::uint64_t index, std::uint64_t size, std::span<const Hash256> path,
                const Hash256& root) {
  if (index >= size) return false;
  std::uint64_t last = size - 1;
  Hash256 hash = leaf;
  for (const Hash256& beside : path) {
    if (last == 0) return false;
    if ((index & 1U) != 0 || index == last) {
      hash = node_hash(beside, hash);
      while ((index & 1U) == 0 && index != 0) {
        index >>= 1U;
        last >>= 1U;
      }
    } else {
      hash = node_hash(hash, beside);
    }
    index >>= 1U;
    last >>= 1U;
  }
  return last == 0 && hash == root;
}

}  // namespace tagring::crypto
