// What owners of hashtags sign about posts, so that nothing is dropped in secret (paper §3.4, docs/audit.md):
// that they took a post, what the history of a hashtag had in an hour, and why a post was taken down. All
// are signed with the key of the node's actor, and anybody can check them.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/ring_id.hpp"
#include "base/time.hpp"
#include "crypto/key.hpp"
#include "crypto/merkle.hpp"
#include "redundancy/partition.hpp"

namespace tagring::storage {

std::string_view ring_name(Ring ring);

// When an owner says what it signs, and since when it has a partition. Never the same twice and never earlier
// than before, although clocks are set back: who shows two statements relies on their order. Taken after a
// write for what says that it is done, and before a read for what says that something is not there.
class SignedTime {
 public:
  explicit SignedTime(const Clock& clock) : clock_(clock) {}
  [[nodiscard]] WallTime now() { return last_ = std::max(clock_.wall_now(), last_ + Duration(1)); }

 private:
  const Clock& clock_;
  WallTime last_{};
};

// --- receipts ------------------------------------------------------------------------------------------

// A post of a batch, as the owner keeps it.
struct TakenItem {
  redundancy::Partition partition;  // into which the owner has put it; of a removal that of the whole hashtag
  std::string uri;
  bool removal = false;
  WallTime published;
  bool indexable = false;

  [[nodiscard]] crypto::Hash256 leaf() const;
  friend auto operator<=>(const TakenItem&, const TakenItem&) = default;
};

// "I took this batch": one signature over the tree of its items, which are sorted by tag, then URI.
struct Receipt {
  std::string network;
  Ring ring = Ring::kStorage;  // as what it took it
  std::string actor;           // of the owner: {origin}/actor
  WallTime at;                 // after it was on disk
  std::uint64_t size = 0;      // items
  crypto::Hash256 root{};
  std::string signature;

  [[nodiscard]] std::string signed_text() const;
};

// The same about one of the items.
struct ItemReceipt {
  Receipt batch;
  TakenItem item;
  std::uint64_t index = 0;
  std::vector<crypto::Hash256> path;

  // kInvalid unless `key` has signed it and the item is in it.
  [[nodiscard]] Result<void> check(const crypto::PublicKey& key) const;
};

// --- heads ---------------------------------------------------------------------------------------------

// Of a post in a history.
enum class PostState : std::uint8_t {
  kLive = 0,
  kRemoved = 1,    // by its author
  kTakenDown = 2,  // by the owner's administrator; see TakeDown
  kCorrected = 3,  // the owner had it there, and its server said otherwise: of the post, or of its date
  kAbsent = 4,     // in no head
};
std::string_view to_string(PostState state);

// Posts stand in a head by the hashes of their URIs, so that a proof about one does not name others.
crypto::Hash256 post_id(std::string_view uri);

// "In this partition of a hashtag I have these posts that were published in this hour": the root of
// the tree of them, sorted by id.
struct Head {
  std::string network;
  std::string actor;
  redundancy::Partition partition;
  std::int64_t hour = 0;  // since 1970
  WallTime kept_from{};   // what is older was let go to make room (paper §5.7)
  WallTime at;            // before the history was read
  std::uint64_t size = 0;
  crypto::Hash256 root{};
  std::string signature;
  WallTime begun{};  // what was put into the partition before is with the owners of another; never of 0

  [[nodiscard]] std::string signed_text() const;
};

struct HeadPlace {
  crypto::Hash256 id{};
  PostState state = PostState::kLive;  // not kAbsent
  std::uint64_t index = 0;
  std::vector<crypto::Hash256> path;

  [[nodiscard]] crypto::Hash256 leaf() const;
};

// Where a post stands in a head; or the places on both sides of where it would stand, next to each other.
struct HeadProof {
  std::optional<HeadPlace> here;
  std::optional<HeadPlace> before;
  std::optional<HeadPlace> after;

  // kInvalid if it proves nothing about that post.
  [[nodiscard]] Result<PostState> state(const Head& head, const crypto::Hash256& id) const;
};

// What a head is made of: sorted by id, once each.
struct HeadLeaf {
  crypto::Hash256 id{};
  PostState state = PostState::kLive;

  friend auto operator<=>(const HeadLeaf&, const HeadLeaf&) = default;
};
std::vector<crypto::Hash256> leaf_hashes(const std::vector<HeadLeaf>& leaves);
// `tree`: of their hashes.
HeadProof prove(const std::vector<HeadLeaf>& leaves, const crypto::HashTree& tree, const crypto::Hash256& id);

// --- take-downs ----------------------------------------------------------------------------------------

// "I do not show this post any more, because": of one owner, and only there. Under one hashtag.
struct TakeDown {
  std::string network;
  std::string actor;
  Tag tag;
  std::string uri;
  std::string reason;
  WallTime at;
  std::string signature;

  static constexpr std::size_t kReasonMax = 1'000;
  [[nodiscard]] std::string signed_text() const;
};

// --- JSON ----------------------------------------------------------------------------------------------

// Readers: kInvalid unless all members are there and in form.
json::object to_json(const Receipt& receipt);
Result<Receipt> receipt_from_json(const json::object& object);
json::object to_json(const TakenItem& item);
Result<TakenItem> item_from_json(const json::object& object);
json::object to_json(const ItemReceipt& receipt);
Result<ItemReceipt> item_receipt_from_json(const json::object& object);
json::object to_json(const Head& head);
Result<Head> head_from_json(const json::object& object);
json::object to_json(const HeadProof& proof);
Result<HeadProof> proof_from_json(const json::object& object);
json::object to_json(const TakeDown& notice);
Result<TakeDown> take_down_from_json(const json::object& object);
json::value to_json(const crypto::Hash256& hash);  // 64 hexadecimal digits
Result<crypto::Hash256> hash_from(std::string_view hex);
Result<std::vector<crypto::Hash256>> hashes_from_json(const json::value* list, std::size_t most);

}  // namespace tagring::storage
