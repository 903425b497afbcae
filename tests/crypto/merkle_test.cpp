#include "crypto/merkle.hpp"

#include <gtest/gtest.h>

#include "base/bytes.hpp"

namespace tagring::crypto {
namespace {

std::vector<Hash256> leaves_of(std::size_t count) {
  std::vector<Hash256> leaves;
  for (std::size_t i = 0; i < count; ++i) leaves.push_back(leaf_hash("entry " + std::to_string(i)));
  return leaves;
}

// From the test data of Google's Certificate Transparency.
TEST(Merkle, AgreesWithTheVectorsOfCertificateTransparency) {
  std::vector<Hash256> leaves;
  EXPECT_EQ(to_hex(tree_root(leaves)), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  for (const char* hex :
       {"", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"})
    leaves.push_back(leaf_hash(*from_hex(hex)));
  EXPECT_EQ(to_hex(tree_root(std::span(leaves).first(1))),
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
  EXPECT_EQ(to_hex(tree_root(std::span(leaves).first(5))),
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4");
  EXPECT_EQ(to_hex(tree_root(leaves)), "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328");
}

TEST(Merkle, EveryLeafHasAPathAndOnlyAtItsPlace) {
  for (std::size_t size = 1; size <= 33; ++size) {
    const std::vector<Hash256> leaves = leaves_of(size);
    const Hash256 root = tree_root(leaves);
    const HashTree tree(leaves);
    EXPECT_EQ(tree.root(), root);
    for (std::size_t i = 0; i < size; ++i) {
      const std::vector<Hash256> path = tree.path(i);
      for (std::size_t place = 0; place <= size; ++place)
        EXPECT_EQ(is_in_tree(leaves[i], place, size, path, root), place == i) << size << ' ' << i;
    }
  }
}

TEST(Merkle, ATamperedPathLeadsNowhere) {
  const std::vector<Hash256> leaves = leaves_of(11);
  const Hash256 root = tree_root(leaves);
  const std::vector<Hash256> path = HashTree(leaves).path(4);
  EXPECT_FALSE(is_in_tree(leaf_hash("another"), 4, 11, path, root));
  EXPECT_FALSE(is_in_tree(leaves[4], 4, 11, path, leaf_hash("another root")));
  for (std::size_t i = 0; i < path.size(); ++i) {
    std::vector<Hash256> changed = path;
    changed[i][0] ^= 1U;
    EXPECT_FALSE(is_in_tree(leaves[4], 4, 11, changed, root));
  }
  std::vector<Hash256> longer = path;
  longer.push_back(root);
  EXPECT_FALSE(is_in_tree(leaves[4], 4, 11, longer, root));
  EXPECT_FALSE(is_in_tree(leaves[4], 4, 11, std::span(path).first(path.size() - 1), root));
}

// An inner node must not pass for a leaf: that is what the marks are for.
TEST(Merkle, ANodeIsNoLeaf) {
  const std::vector<Hash256> leaves = leaves_of(2);
  std::string both(leaves[0].begin(), leaves[0].end());
  both.append(leaves[1].begin(), leaves[1].end());
  EXPECT_NE(leaf_hash(both), tree_root(leaves));
}

}  // namespace
}  // namespace tagring::crypto
