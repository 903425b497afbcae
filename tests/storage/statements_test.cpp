#include "storage/statements.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "audit/evidence.hpp"
#include "storage/history.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::storage {
namespace {

const WallTime kPublished{std::chrono::hours(490'000) + Duration(123)};

const crypto::PrivateKey& owner_key() {
  static const crypto::PrivateKey key = crypto::PrivateKey::ed25519_from_seed(std::string(32, 'o'));
  return key;
}

TakenItem item(int number) {
  return {"cats"_tag, "https://a.example/" + std::to_string(number), false, kPublished, true};
}

ItemReceipt receipt(int number, int size = 5, Ring ring = Ring::kStorage) {
  std::vector<crypto::Hash256> leaves;
  for (int i = 0; i < size; ++i) leaves.push_back(item(i).leaf());
  storage::Receipt batch{"net",
                         ring,
                         "https://owner.example/actor",
                         kPublished + Duration(1000),
                         leaves.size(),
                         crypto::tree_root(leaves),
                         {}};
  batch.signature = owner_key().sign(batch.signed_text());
  const auto index = static_cast<std::uint64_t>(number);
  return {batch, item(number), index, crypto::HashTree(leaves).path(index)};
}

std::vector<HeadLeaf> leaves_of(const std::vector<int>& posts) {
  std::vector<HeadLeaf> leaves;
  for (const int post : posts)
    leaves.push_back({post_id(item(post).uri), post % 5 == 4 ? PostState::kRemoved : PostState::kLive});
  std::ranges::sort(leaves);
  return leaves;
}

struct Proven {
  Head head;
  HeadProof proof;
};
Proven head_of(const std::vector<int>& posts, int about, WallTime kept_from = {}) {
  const std::vector<HeadLeaf> leaves = leaves_of(posts);
  const auto hashes = leaf_hashes(leaves);
  Head head{"net",     "https://owner.example/actor", "cats"_tag,    hour_of(kPublished),
            kept_from, kPublished + Duration(5000),   leaves.size(), crypto::tree_root(hashes),
            {}};
  head.signature = owner_key().sign(head.signed_text());
  return {head, prove(leaves, crypto::HashTree(hashes), post_id(item(about).uri))};
}

audit::Evidence evidence(const std::vector<int>& posts = {0, 1, 2, 4}, WallTime kept_from = {}) {
  auto [head, proof] = head_of(posts, 3, kept_from);
  return {receipt(3), head, proof, owner_key().public_key().pem(), "https://owner.example/actor", kPublished};
}

std::string why_not(const audit::Evidence& evidence) {
  const Result<void> checked = audit::check(evidence);
  return checked ? "" : checked.error().message;
}

TEST(Receipt, IsGoodForEveryItemOfItsBatch) {
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(receipt(i).check(owner_key().public_key()));
  EXPECT_TRUE(receipt(0, 1).check(owner_key().public_key()));
}

TEST(Receipt, IsRefusedWhenAnythingOfItIsChanged) {
  const crypto::PublicKey key = owner_key().public_key();
  const std::vector<std::function<void(ItemReceipt&)>> changes = {
      [](ItemReceipt& r) { r.item.uri += "x"; },
      [](ItemReceipt& r) { r.item.partition.tag = "dogs"_tag; },
      [](ItemReceipt& r) { r.item.removal = true; },
      [](ItemReceipt& r) { r.item.published += Duration(1); },
      [](ItemReceipt& r) { r.item.indexable = false; },
      [](ItemReceipt& r) { ++r.index; },
      [](ItemReceipt& r) { r.path[0][31] ^= 1U; },
      [](ItemReceipt& r) { r.path.pop_back(); },
      [](ItemReceipt& r) { r.batch.root[0] ^= 1U; },
      [](ItemReceipt& r) { r.batch.at += Duration(1); },
      [](ItemReceipt& r) { ++r.batch.size; },
      [](ItemReceipt& r) { r.batch.ring = Ring::kRelay; },
      [](ItemReceipt& r) { r.batch.network = "other"; },
      [](ItemReceipt& r) { r.batch.actor = "https://other.example/actor"; },
      [](ItemReceipt& r) { r.batch.signature.back() ^= 1; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    ItemReceipt changed = receipt(2);
    changes[i](changed);
    EXPECT_FALSE(changed.check(key)) << "change " << i;
  }
  const auto other = crypto::PrivateKey::ed25519_from_seed(std::string(32, 'x'));
  EXPECT_FALSE(receipt(2).check(other.public_key()));
}

TEST(Head, SaysOfEveryPostWhatItIs) {
  const std::vector<std::vector<int>> histories = {{}, {0}, {0, 1}, {0, 1, 2, 4, 7, 9, 14}};
  for (const std::vector<int>& posts : histories) {
    for (int post = 0; post < 20; ++post) {
      const auto [head, proof] = head_of(posts, post);
      const bool there = std::ranges::find(posts, post) != posts.end();
      const PostState expected = !there          ? PostState::kAbsent
                                 : post % 5 == 4 ? PostState::kRemoved
                                                 : PostState::kLive;
      const Result<PostState> state = proof.state(head, post_id(item(post).uri));
      ASSERT_TRUE(state) << state.error().message;
      EXPECT_EQ(*state, expected);
    }
  }
}

TEST(Head, AbsenceNeedsNeighboursThatMeet) {
  const std::vector<int> posts = {0, 1, 2, 4, 7, 9, 14};
  const std::vector<HeadLeaf> leaves = leaves_of(posts);
  const auto hashes = leaf_hashes(leaves);
  const Head head = head_of(posts, 0).head;
  const auto place = [&](std::size_t i) {
    return HeadPlace{leaves[i].id, leaves[i].state, i, crypto::HashTree(hashes).path(i)};
  };
  // That of a post that is there, left out.
  const crypto::Hash256 id = leaves[3].id;
  EXPECT_FALSE((HeadProof{{}, place(2), place(4)}.state(head, id)));
  EXPECT_FALSE((HeadProof{{}, place(2), {}}.state(head, id)));
  EXPECT_FALSE((HeadProof{{}, {}, place(4)}.state(head, id)));
  EXPECT_FALSE((HeadProof{{}, {}, {}}.state(head, id)));
  EXPECT_FALSE((HeadProof{{}, place(3), place(4)}.state(head, id)));
  EXPECT_FALSE((HeadProof{{}, {}, place(0)}.state(head, id)));
  EXPECT_FALSE((HeadProof{place(2), {}, {}}.state(head, id)));
  HeadPlace renamed = place(3);
  renamed.state = PostState::kTakenDown;
  EXPECT_FALSE((HeadProof{renamed, {}, {}}.state(head, id)));
}

TEST(Evidence, ProvesAnOmissionAndSurvivesItsText) {
  for (const std::vector<int>& posts :
       {std::vector<int>{0, 1, 2, 4}, std::vector<int>{}, std::vector<int>{7}}) {
    const audit::Evidence made = evidence(posts);
    EXPECT_EQ(why_not(made), "");
    const auto read = json::parse_object(json::serialize(to_json(made)));
    ASSERT_TRUE(read);
    const Result<audit::Evidence> again = audit::evidence_from_json(*read);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(why_not(*again), "");
    EXPECT_EQ(to_json(*again), to_json(made));
  }
}

TEST(Evidence, IsRefusedWhereItProvesNothing) {
  EXPECT_EQ(why_not([] {
              audit::Evidence there = evidence();
              const auto [head, proof] = head_of({0, 3}, 3);
              there.head = head;
              there.proof = proof;
              return there;
            }()),
            "the post is in the head");
  EXPECT_EQ(why_not(evidence({0}, kPublished + Duration(1))), "the owner says that it let go what is so old");
  audit::Evidence early = evidence();
  early.head.at = early.receipt.batch.at;
  early.head.signature = owner_key().sign(early.head.signed_text());
  EXPECT_EQ(why_not(early), "the head is older than the receipt");
  audit::Evidence relay = evidence();
  relay.receipt = receipt(3, 5, Ring::kRelay);
  EXPECT_EQ(why_not(relay), "the receipt is of a relay, which keeps no history");
  audit::Evidence hour = evidence();
  ++hour.head.hour;
  hour.head.signature = owner_key().sign(hour.head.signed_text());
  EXPECT_EQ(why_not(hour), "the head is about another hashtag, part of it, or hour");
  audit::Evidence part = evidence();
  part.head.partition.number = 128;
  part.head.signature = owner_key().sign(part.head.signed_text());
  EXPECT_EQ(why_not(part), "the head is about another hashtag, part of it, or hour");
}

// Receipt and head of partition 128, which was begun at that time.
audit::Evidence evidence_of_part(WallTime begun) {
  audit::Evidence made = evidence();
  TakenItem& item = made.receipt.item;
  item.partition.number = made.head.partition.number = 128;
  made.head.begun = begun;
  made.receipt.batch.size = 1;
  made.receipt.batch.root = crypto::tree_root(std::vector{item.leaf()});
  made.receipt.index = 0;
  made.receipt.path.clear();
  made.receipt.batch.signature = owner_key().sign(made.receipt.batch.signed_text());
  made.head.signature = owner_key().sign(made.head.signed_text());
  return made;
}

TEST(Evidence, OfAPartHoldsUnlessThePartWasGivenAwaySince) {
  const audit::Evidence made = evidence_of_part({});
  EXPECT_EQ(why_not(made), "");
  const auto read = json::parse_object(json::serialize(to_json(made)));
  ASSERT_TRUE(read);
  const Result<audit::Evidence> again = audit::evidence_from_json(*read);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(why_not(*again), "");
  const WallTime taken = made.receipt.batch.at;
  EXPECT_EQ(why_not(evidence_of_part(taken - Duration(1))), "");
  EXPECT_EQ(why_not(evidence_of_part(taken)),
            "the owner says that what it took then is with the owners of another part");
  // A hashtag's own partition is never given away.
  audit::Evidence own = evidence();
  own.head.begun = own.head.at;
  own.head.signature = owner_key().sign(own.head.signed_text());
  EXPECT_EQ(why_not(own), "");
}

TEST(Evidence, CannotBeForgedWithoutTheOwnersKey) {
  const auto forger = crypto::PrivateKey::ed25519_from_seed(std::string(32, 'f'));
  audit::Evidence head = evidence();
  head.head.signature = forger.sign(head.head.signed_text());
  EXPECT_EQ(why_not(head), "the head is not signed with that key");
  audit::Evidence receipt = evidence();
  receipt.receipt.batch.signature = forger.sign(receipt.receipt.batch.signed_text());
  EXPECT_EQ(why_not(receipt), "the receipt is not signed with that key");
  audit::Evidence later = evidence();
  later.head.at += std::chrono::hours(1);
  EXPECT_EQ(why_not(later), "the head is not signed with that key");
  audit::Evidence other = evidence();
  other.receipt.item.uri = "https://a.example/never";
  EXPECT_EQ(why_not(other), "a path does not lead to the signed root");
  audit::Evidence key = evidence();
  key.key = forger.public_key().pem();
  EXPECT_NE(why_not(key), "");
}

TEST(Statements, ReadersRefuseWhatIsNotInForm) {
  const json::object whole = to_json(evidence());
  EXPECT_TRUE(audit::evidence_from_json(whole));
  for (const char* part : {"kind", "receipt", "head"}) {
    json::object lacks = whole;
    lacks.erase(part);
    EXPECT_FALSE(audit::evidence_from_json(lacks)) << part;
  }
  for (const char* part : {"receipt", "head"}) {
    for (const auto& [name, value] : whole.at(part).get_object()) {
      json::object lacks = whole;
      lacks[part].get_object().erase(name);
      EXPECT_FALSE(audit::evidence_from_json(lacks)) << part << ' ' << std::string_view(name);
    }
  }
  json::object breaks = whole;
  for (const char* tag : {"cats\n1", "Cats", "cats/1"}) {
    breaks["head"].get_object()["tag"] = tag;
    EXPECT_FALSE(audit::evidence_from_json(breaks)) << tag;
  }
}

}  // namespace
}  // namespace tagring::storage
