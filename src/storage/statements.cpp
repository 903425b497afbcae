#include "storage/statements.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "redundancy/partition.hpp"

namespace tagring::storage {
namespace {

using crypto::Hash256;

Result<void> check_path(const Hash256& leaf, std::uint64_t index, std::uint64_t size,
                        const std::vector<Hash256>& path, const Hash256& root) {
  if (crypto::is_in_tree(leaf, index, size, path, root)) return {};
  return fail(ErrorCode::kInvalid, "a path does not lead to the signed root");
}

}  // namespace

std::string_view ring_name(Ring ring) { return ring == Ring::kRelay ? "relay" : "storage"; }

std::string_view to_string(PostState state) {
  switch (state) {
    case PostState::kLive:
      return "live";
    case PostState::kRemoved:
      return "removed";
    case PostState::kTakenDown:
      return "taken_down";
    case PostState::kCorrected:
      return "corrected";
    case PostState::kAbsent:
      break;
  }
  return "absent";
}

Hash256 post_id(std::string_view uri) { return crypto::sha256(uri); }

// --- receipts ------------------------------------------------------------------------------------------

Hash256 TakenItem::leaf() const {
  return crypto::leaf_hash(fmt::format("{}\n{}\n{}\n{}\n{}", removal ? "remove" : "add", partition.name(),
                                       to_ms(published), indexable ? "indexable" : "", uri));
}

std::string Receipt::signed_text() const {
  return fmt::format("tagring receipt\n{}\n{}\n{}\n{}\n{}\n{}", network, ring_name(ring), actor, to_ms(at),
                     size, to_hex(root));
}

Result<void> ItemReceipt::check(const crypto::PublicKey& key) const {
  TRY_VOID(check_path(item.leaf(), index, batch.size, path, batch.root));
  if (key.verify(batch.signed_text(), batch.signature)) return {};
  return fail(ErrorCode::kInvalid, "the receipt is not signed with that key");
}

// --- heads ---------------------------------------------------------------------------------------------

std::string Head::signed_text() const {
  return fmt::format("tagring head\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", network, actor, partition.name(),
                     hour, to_ms(kept_from), to_ms(begun), to_ms(at), size, to_hex(root));
}

Hash256 HeadPlace::leaf() const {
  std::string data(id.begin(), id.end());
  data += static_cast<char>(state);
  return crypto::leaf_hash(data);
}

Result<PostState> HeadProof::state(const Head& head, const Hash256& id) const {
  for (const auto& place : {here, before, after}) {
    if (!place) continue;
    TRY_VOID(check_path(place->leaf(), place->index, head.size, place->path, head.root));
  }
  if (here) {
    if (here->id == id) return here->state;
    return fail(ErrorCode::kInvalid, "the proof is about another post");
  }
  // Nothing stands between neighbours, before the first or after the last.
  const bool begins = !before && (after ? after->index == 0 : head.size == 0);
  const bool ends = !after && (!before || before->index + 1 == head.size);
  const bool meets = before && after && before->index + 1 == after->index;
  const bool sorted = (!before || before->id < id) && (!after || id < after->id);
  const bool empty = !before && !after && (head.size != 0 || head.root != crypto::tree_root({}));
  if (sorted && !empty && (begins || ends || meets)) return PostState::kAbsent;
  return fail(ErrorCode::kInvalid, "the proof says neither that the post is there nor that it is not");
}

std::vector<Hash256> leaf_hashes(const std::vector<HeadLeaf>& leaves) {
  std::vector<Hash256> hashes;
  hashes.reserve(leaves.size());
  for (const HeadLeaf& leaf : leaves) hashes.push_back(HeadPlace{leaf.id, leaf.state, 0, {}}.leaf());
  return hashes;
}

HeadProof prove(const std::vector<HeadLeaf>& leaves, const crypto::HashTree& tree, const Hash256& id) {
  const auto at =
      static_cast<std::size_t>(std::ranges::lower_bound(leaves, id, {}, &HeadLeaf::id) - leaves.begin());
  const auto place = [&](std::size_t index) {
    return HeadPlace{leaves[index].id, leaves[index].state, index, tree.path(index)};
  };
  HeadProof proof;
  if (at < leaves.size() && leaves[at].id == id) {
    proof.here = place(at);
    return proof;
  }
  if (at > 0) proof.before = place(at - 1);
  if (at < leaves.size()) proof.after = place(at);
  return proof;
}

std::string TakeDown::signed_text() const {
  return fmt::format("tagring take-down\n{}\n{}\n{}\n{}\n{}\n{}", network, actor, tag.canonical(), uri,
                     to_ms(at), reason);
}

}  // namespace tagring::storage
