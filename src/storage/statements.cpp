#include "storage/statements.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "http/url.hpp"
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

// --- JSON: what is read comes from strangers ---------------------------------------------------------------

namespace {

constexpr std::size_t kPathMax = 64;  // of a tree of 2^64
constexpr std::size_t kSignatureMax = 2048;
constexpr std::size_t kTextMax = 4096;

// The members of an object, with the first that is missing or out of form remembered.
class Reader {
 public:
  explicit Reader(const json::object& object) : object_(object) {}

  std::string text(std::string_view name) {
    const auto value = json::get_string(object_, name);
    const bool good = value && !value->empty() && value->size() <= kTextMax && !value->contains('\n');
    return good ? *value : bad<std::string>(name);
  }
  std::int64_t number(std::string_view name) {
    const auto value = json::get_int(object_, name);
    return value ? *value : bad<std::int64_t>(name);
  }
  std::uint64_t count(std::string_view name) {
    const std::int64_t value = number(name);
    return value >= 0 ? static_cast<std::uint64_t>(value) : bad<std::uint64_t>(name);
  }
  Tag tag() {
    Result<Tag> tag = Tag::parse_canonical(text("tag"));
    if (!tag) bad<int>("tag");
    return tag ? *std::move(tag) : Tag::from_canonical("-");  // which done() lets nobody see
  }
  // Of the whole hashtag if no number is there.
  redundancy::Partition partition() {
    const std::int64_t value = json::find(object_, "slot") == nullptr ? 0 : number("slot");
    const bool good = value >= 0 && value < redundancy::kPartitionsMax;
    return {tag(), good ? static_cast<unsigned>(value) : bad<unsigned>("slot")};
  }
  WallTime time(std::string_view name) { return WallTime(Duration(number(name))); }
  bool flag(std::string_view name) { return json::get_flag(object_, name); }
  std::string signature() {
    const auto bytes = from_base64(json::text_of(object_, "signature"));
    const bool good = bytes && !bytes->empty() && bytes->size() <= kSignatureMax;
    return good ? *bytes : bad<std::string>("signature");
  }
  Hash256 hash(std::string_view name) {
    const auto value = hash_from(json::text_of(object_, name));
    return value ? *value : bad<Hash256>(name);
  }
  std::vector<Hash256> path() {
    auto hashes = hashes_from_json(json::find(object_, "path"), kPathMax);
    return hashes ? std::move(*hashes) : bad<std::vector<Hash256>>("path");
  }
  std::string actor() {
    std::string id = text("actor");
    const Result<Url> url = Url::parse(id);
    return url && id == url->origin() + "/actor" ? id : bad<std::string>("actor");
  }
  template <class T>
  T bad(std::string_view name) {
    if (bad_.empty()) bad_ = name;
    return T();
  }
  template <class T>
  Result<T> done(T value) const {
    if (bad_.empty()) return value;
    return fail(ErrorCode::kInvalid, "'" + bad_ + "' is missing or not in form");
  }

 private:
  const json::object& object_;
  std::string bad_;
};

json::value list(const std::vector<Hash256>& hashes) {
  json::array result;
  for (const Hash256& hash : hashes) result.push_back(to_json(hash));
  return result;
}

json::object to_json(const HeadPlace& place) {
  return {{"id", storage::to_json(place.id)},
          {"state", to_string(place.state)},
          {"index", place.index},
          {"path", list(place.path)}};
}

Result<std::optional<HeadPlace>> place_from(const json::object& object, std::string_view name) {
  const json::object* found = json::get_object(object, name);
  if (found == nullptr) return std::nullopt;
  Reader in(*found);
  HeadPlace place{in.hash("id"), PostState::kAbsent, in.count("index"), in.path()};
  const std::string state = in.text("state");
  for (const PostState known :
       {PostState::kLive, PostState::kRemoved, PostState::kTakenDown, PostState::kCorrected}) {
    if (state == to_string(known)) place.state = known;
  }
  if (place.state == PostState::kAbsent) in.bad<int>("state");
  return in.done(std::optional(std::move(place)));
}

}  // namespace

json::value to_json(const Hash256& hash) { return json::value(to_hex(hash)); }

Result<Hash256> hash_from(std::string_view hex) {
  Hash256 hash{};
  const auto bytes = from_hex(hex);
  if (!bytes || bytes->size() != hash.size())
    return fail(ErrorCode::kInvalid, "a hash has 64 hexadecimal digits");
  std::ranges::copy(*bytes, hash.begin());
  return hash;
}

Result<std::vector<Hash256>> hashes_from_json(const json::value* list, std::size_t most) {
  if (list == nullptr || !list->is_array() || list->get_array().size() > most)
    return fail(ErrorCode::kInvalid, "a list of hashes is missing or too long");
  std::vector<Hash256> hashes;
  for (const json::value& element : list->get_array()) {
    if (!element.is_string()) return fail(ErrorCode::kInvalid, "a hash is a text");
    TRY(hashes.emplace_back(), hash_from(element.get_string()));
  }
  return hashes;
}

json::object to_json(const Receipt& receipt) {
  return {{"network", receipt.network},
          {"ring", ring_name(receipt.ring)},
          {"actor", receipt.actor},
          {"at", to_ms(receipt.at)},
          {"size", receipt.size},
          {"root", to_json(receipt.root)},
          {"signature", to_base64(receipt.signature)}};
}

Result<Receipt> receipt_from_json(const json::object& object) {
  Reader in(object);
  Receipt receipt{in.text("network"), Ring::kStorage,  in.actor(),    in.time("at"),
                  in.count("size"),   in.hash("root"), in.signature()};
  const std::string ring = in.text("ring");
  if (ring == ring_name(Ring::kRelay)) {
    receipt.ring = Ring::kRelay;
  } else if (ring != ring_name(Ring::kStorage)) {
    in.bad<int>("ring");
  }
  return in.done(std::move(receipt));
}

json::object to_json(const TakenItem& item) {
  json::object object = {
      {"tag", item.partition.tag.canonical()}, {"uri", item.uri}, {"published", to_ms(item.published)}};
  if (item.removal) object["removal"] = true;
  if (item.indexable) object["indexable"] = true;
  if (item.partition.number != 0) object["slot"] = item.partition.number;
  return object;
}

Result<TakenItem> item_from_json(const json::object& object) {
  Reader in(object);
  TakenItem item{in.partition(), in.text("uri"), in.flag("removal"), in.time("published"),
                 in.flag("indexable")};
  return in.done(std::move(item));
}

json::object to_json(const ItemReceipt& receipt) {
  json::object object = to_json(receipt.batch);
  object["item"] = to_json(receipt.item);
  object["index"] = receipt.index;
  object["path"] = list(receipt.path);
  return object;
}

Result<ItemReceipt> item_receipt_from_json(const json::object& object) {
  TRY(Receipt batch, receipt_from_json(object));
  const json::object* found = json::get_object(object, "item");
  TRY(TakenItem item, item_from_json(found == nullptr ? json::object() : *found));
  Reader in(object);
  ItemReceipt receipt{std::move(batch), std::move(item), in.count("index"), in.path()};
  return in.done(std::move(receipt));
}

json::object to_json(const Head& head) {
  json::object object = {{"network", head.network},
                         {"actor", head.actor},
                         {"tag", head.partition.tag.canonical()},
                         {"hour", head.hour},
                         {"kept_from", to_ms(head.kept_from)},
                         {"at", to_ms(head.at)},
                         {"size", head.size},
                         {"root", to_json(head.root)},
                         {"signature", to_base64(head.signature)}};
  if (head.partition.number != 0) object["slot"] = head.partition.number;
  if (head.begun != WallTime()) object["begun"] = to_ms(head.begun);
  return object;
}

Result<Head> head_from_json(const json::object& object) {
  Reader in(object);
  Head head{in.text("network"), in.actor(),       in.partition(),  in.number("hour"), in.time("kept_from"),
            in.time("at"),      in.count("size"), in.hash("root"), in.signature()};
  if (json::find(object, "begun") != nullptr) head.begun = in.time("begun");
  return in.done(std::move(head));
}

json::object to_json(const HeadProof& proof) {
  json::object object;
  if (proof.here) object["here"] = to_json(*proof.here);
  if (proof.before) object["before"] = to_json(*proof.before);
  if (proof.after) object["after"] = to_json(*proof.after);
  return object;
}

Result<HeadProof> proof_from_json(const json::object& object) {
  HeadProof proof;
  TRY(proof.here, place_from(object, "here"));
  TRY(proof.before, place_from(object, "before"));
  TRY(proof.after, place_from(object, "after"));
  return proof;
}

json::object to_json(const TakeDown& notice) {
  return {{"network", notice.network},
          {"actor", notice.actor},
          {"tag", notice.tag.canonical()},
          {"uri", notice.uri},
          {"at", to_ms(notice.at)},
          {"reason", notice.reason},
          {"signature", to_base64(notice.signature)}};
}

Result<TakeDown> take_down_from_json(const json::object& object) {
  Reader in(object);
  TakeDown notice{in.text("network"), in.actor(),    in.tag(),      in.text("uri"),
                  in.text("reason"),  in.time("at"), in.signature()};
  return in.done(std::move(notice));
}

}  // namespace tagring::storage
