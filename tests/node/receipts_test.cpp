// What an owner signs about posts that it takes, and what a sender keeps of it.
#include "audit/receipts.hpp"

#include "base/bytes.hpp"
#include "node/fixture.hpp"
#include "redundancy/storage_place.hpp"
#include "storage/statements.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::node {
namespace {

using storage::PostState;
using ::testing::HasSubstr;

class ReceiptsTest : public NodeTest {
 protected:
  const Author other = make_node_author("https://tags.other.example");
  const crypto::PublicKey key = crypto::PrivateKey::ed25519_from_seed(std::string(32, 'n')).public_key();

  static PostText post(int number, bool indexable = true) {
    PostText text;
    text.uri = "https://other.example/p/" + std::to_string(number);
    text.author = "https://other.example/users/ada";
    text.tags = {"cats"};
    text.indexable = indexable;
    return text;
  }
  json::object send(const std::string& type, const std::string& role, const std::vector<PostText>& posts) {
    return answered(batch_text(type, other, origin + role, posts));
  }
  json::object answered(const std::string& body) {
    const HttpResponse response = post_signed(body, other);
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse_object(response.body).value();
  }
  static storage::Receipt receipt_in(const json::object& answer) {
    const json::object* receipt = json::get_object(answer, "receipt");
    return storage::receipt_from_json(receipt == nullptr ? json::object() : *receipt).value();
  }
  // Whether that receipt is for these posts, and genuine.
  bool is_for(const storage::Receipt& receipt, std::vector<storage::TakenItem> items) {
    std::ranges::sort(items);
    const auto leaves = audit::KeptReceipt{0, {}, {}, items}.leaves();
    const storage::ItemReceipt first{receipt, items.front(), 0, crypto::HashTree(leaves).path(0)};
    return receipt.size == items.size() && first.check(key).has_value();
  }
  static storage::TakenItem item(int number, WallTime published = date()) {
    return {"cats"_tag, post(number).uri, false, published, true};
  }
  static WallTime date() { return *from_rfc3339("2025-12-31T12:00:00Z"); }

  // Of everything: what others compare with theirs.
  storage::HourDigest digest() {
    const storage::HourRange everything{{RingId(), 0}, {RingId() - RingId::power_of_two(0), 1'000'000}};
    return run(stores->history.digests({everything}, 0)).value().front();
  }

  // Somebody told this node, which lacks the post.
  void hear_removal(int number, unsigned part = 0) {
    ASSERT_TRUE(run(stores->history.put({{{"cats"_tag, part},
                                          post(number).uri,
                                          post(number).author,
                                          date(),
                                          true,
                                          false,
                                          storage::kBeforeAll}})));
  }

  struct Proven {
    storage::Head head;
    PostState state;
    std::string reason;
  };
  HttpResponse ask_for_head(unsigned part, int number) {
    return get("/tagring/v1/history/proof?tag=cats&slot=" + std::to_string(part) +
               "&hour=" + std::to_string(storage::hour_of(date())) +
               "&id=" + to_hex(storage::post_id(post(number).uri)));
  }
  Proven prove(int number, unsigned part = 0) {
    const std::string uri = post(number).uri;
    const HttpResponse response = ask_for_head(part, number);
    EXPECT_EQ(response.status, 200) << response.body;
    const json::object body = json::parse_object(response.body).value();
    const auto head = storage::head_from_json(body.at("head").get_object()).value();
    EXPECT_TRUE(key.verify(head.signed_text(), head.signature));
    const auto proof = storage::proof_from_json(body.at("proofs").get_array().at(0).get_object()).value();
    std::string reason;
    if (const json::value* notices = json::find(body, "taken_down")) {
      const auto notice = storage::take_down_from_json(notices->get_array().at(0).get_object()).value();
      EXPECT_TRUE(key.verify(notice.signed_text(), notice.signature));
      reason = notice.reason;
    }
    return {head, proof.state(head, storage::post_id(uri)).value(), reason};
  }
};

TEST_F(ReceiptsTest, AnOwnerSignsWhatItTook) {
  for (const char* role : {"/relay", "/storage"}) {
    const storage::Receipt receipt = receipt_in(send("Add", role, {post(1), post(2), post(3)}));
    EXPECT_TRUE(is_for(receipt, {item(1), item(2), item(3)})) << role;
    EXPECT_FALSE(is_for(receipt, {item(1), item(2), item(4)}));
    EXPECT_EQ(receipt.actor, origin + "/actor");
    EXPECT_EQ(receipt.network, "tagring");
    EXPECT_EQ("/" + std::string(storage::ring_name(receipt.ring)), role);
  }
}

TEST_F(ReceiptsTest, WhatIsRefusedIsNotInIt) {
  const storage::Receipt receipt =
      receipt_in(send("Add", "/storage", {post(1), post(2, /*indexable=*/false)}));
  EXPECT_TRUE(is_for(receipt, {item(1)}));
  EXPECT_FALSE(send("Add", "/storage", {post(2, /*indexable=*/false)}).contains("receipt"));
}

TEST_F(ReceiptsTest, TheDateUnderWhichThePostIsKeptIsSigned) {
  send("Add", "/storage", {post(1)});
  json::object moved = json::parse_object(batch_text("Add", other, origin + "/storage", {post(1)})).value();
  moved["object"].get_array()[0].get_object()["published"] = "2025-12-31T15:00:00Z";
  const json::object answer = answered(json::serialize(moved));
  EXPECT_TRUE(is_for(receipt_in(answer), {item(1)}));
  const json::array& differs = answer.at("receipt").get_object().at("differs").get_array();
  ASSERT_EQ(differs.size(), 1U);
  EXPECT_EQ(differs[0].get_object().at("published").get_int64(), date().time_since_epoch().count());
}

// As whoever gives up a place does, though the new owner has all of it: else each change of the ring would
// have the servers of all posts asked.
TEST_F(ReceiptsTest, NobodyIsAskedAboutWhatAnyNodeSaysAndIsKeptJustSo) {
  send("Add", "/storage", {post(1)});
  const Author stranger = make_node_author("https://tags.stranger.test");
  const auto say = [&](int number) {
    const std::string body = batch_text("Add", stranger, origin + "/storage", {post(number)});
    return json::parse_object(post_signed(body, stranger).body).value();
  };
  const auto requests = [&] {
    return std::ranges::count_if(internet.calls, [&](const HttpCall& call) {
      return call.url.origin() == "https://other.example" && call.url.path().starts_with("/p/");
    });
  };
  EXPECT_TRUE(is_for(receipt_in(say(1)), {item(1)}));
  EXPECT_EQ(requests(), 0);
  EXPECT_FALSE(say(2).contains("receipt"));
  EXPECT_GT(requests(), 0) << "what is not kept is looked at";
}

TEST_F(ReceiptsTest, AHeadIsLaterThanTheReceiptsBeforeIt) {
  const storage::Receipt receipt = receipt_in(send("Add", "/storage", {post(1)}));
  const Proven proven = prove(1);
  EXPECT_GT(proven.head.at, receipt.at);
  EXPECT_GT(receipt_in(send("Add", "/storage", {post(2)})).at, proven.head.at);
}

// The posts that went are counted on in their hour.
TEST_F(ReceiptsTest, AnHourOfWhichAPartWasLetGoIsProvedStill) {
  json::object early = json::parse_object(batch_text("Add", other, origin + "/storage", {post(1)})).value();
  early["object"].get_array()[0].get_object()["published"] = "2025-12-31T12:10:00Z";
  answered(json::serialize(early));
  send("Add", "/storage", {post(2), post(3)});
  ASSERT_TRUE(run(stores->history.let_go("cats"_tag, 1, date() + std::chrono::hours(48))));
  EXPECT_EQ(ask_for_head(0, 2).status, 200);
  EXPECT_EQ(ask_for_head(0, 1).status, 200);
}

TEST_F(ReceiptsTest, AHeadFollowsTheHistory) {
  EXPECT_EQ(prove(1).state, PostState::kAbsent);
  send("Add", "/storage", {post(1), post(2), post(3)});
  EXPECT_EQ(prove(1).state, PostState::kLive);
  EXPECT_EQ(prove(4).state, PostState::kAbsent);
  EXPECT_EQ(prove(1).head.size, 3U);
  send("Remove", "/storage", {post(2)});
  EXPECT_EQ(prove(2).state, PostState::kRemoved);
  EXPECT_EQ(prove(1).state, PostState::kLive);
}

// An hour that is again as it was before the post came has another head than then.
TEST_F(ReceiptsTest, AHeadNamesWhatTheOwnerTookAndItsServerDenied) {
  send("Add", "/storage", {post(1)});
  EXPECT_EQ(prove(2).state, PostState::kAbsent);
  send("Add", "/storage", {post(2)});
  ASSERT_TRUE(run(stores->history.correct("cats"_tag, post(2).uri, std::nullopt, true)));
  const Proven proven = prove(2);
  EXPECT_EQ(proven.state, PostState::kCorrected);
  EXPECT_EQ(proven.head.size, 2U);
  send("Add", "/storage", {post(2)});
  EXPECT_EQ(prove(2).state, PostState::kLive);
}

TEST_F(ReceiptsTest, AHeadNamesNoRemovalThatItsOwnerHasOnlyHeard) {
  send("Add", "/storage", {post(1), post(3)});
  ASSERT_TRUE(run(stores->history.correct("cats"_tag, post(3).uri, std::nullopt, true)));
  hear_removal(2);
  hear_removal(3);
  EXPECT_EQ(prove(2).state, PostState::kAbsent);
  EXPECT_EQ(prove(3).state, PostState::kCorrected) << "whatever was heard since";
  EXPECT_EQ(prove(1).state, PostState::kLive);
  EXPECT_EQ(prove(1).head.size, 2U);
  send("Remove", "/storage", {post(2)});  // which changes no digest
  settle(std::chrono::minutes(1));
  EXPECT_EQ(prove(2).state, PostState::kRemoved);
  EXPECT_EQ(prove(2).head.size, 3U);
}

// Anybody may place one there, and each question would cost the whole hour.
TEST_F(ReceiptsTest, AnHourWithRemovalsThatWereOnlyHeardIsReadOnceAMinute) {
  send("Add", "/storage", {post(1)});
  hear_removal(2);
  const WallTime read_at = prove(2).head.at;
  const storage::Receipt taken = receipt_in(send("Add", "/storage", {post(2)}));
  send("Remove", "/storage", {post(2)});
  const Proven before = prove(2);
  EXPECT_EQ(before.head.at, read_at) << "the digest is as it was";
  EXPECT_LT(before.head.at, taken.at) << "so that it breaks no promise";
  send("Add", "/storage", {post(3)});
  EXPECT_EQ(prove(3).state, PostState::kLive) << "what changes shows at once";
  hear_removal(4);
  const WallTime again = prove(4).head.at;
  settle(std::chrono::minutes(2));
  EXPECT_GT(prove(4).head.at, again);
}

TEST_F(ReceiptsTest, ATakeDownHidesThePostAndShowsTheReason) {
  send("Add", "/storage", {post(1), post(2)});
  const storage::HourDigest before = digest();
  const std::string request = json::serialize(
      json::object{{"tag", "#Cats"}, {"uri", post(1).uri}, {"reason", "order 7 of the court of Ghent"}});
  ASSERT_EQ(control("/takedown", request).status, 200);
  const Proven proven = prove(1);
  EXPECT_EQ(proven.state, PostState::kTakenDown);
  EXPECT_EQ(proven.reason, "order 7 of the court of Ghent");
  EXPECT_EQ(history("cats").size(), 1U);
  // Others see no difference, so nobody brings it back or loses their own.
  EXPECT_EQ(digest(), before);
  const auto shown = run(stores->history.segment({RingId(), RingId()}, {}, {}, 10)).value();
  EXPECT_EQ(shown.size(), 1U);
  send("Add", "/storage", {post(1)});  // and it does not come back
  EXPECT_EQ(history("cats").size(), 1U);
  send("Remove", "/storage", {post(1)});  // the author's own deletion wins
  EXPECT_EQ(prove(1).state, PostState::kRemoved);
}

TEST_F(ReceiptsTest, ATakeDownThatIsUndoneShowsThePostAndTheHeadSaysSo) {
  send("Add", "/storage", {post(1), post(2)});
  const auto change = [&](const char* path) {
    return control(path,
                   json::serialize(json::object{{"tag", "cats"}, {"uri", post(1).uri}, {"reason", "why"}}))
        .status;
  };
  EXPECT_EQ(change("/takedown/undo"), 404);
  ASSERT_EQ(change("/takedown"), 200);
  const Proven down = prove(1);
  ASSERT_EQ(change("/takedown/undo"), 200);
  EXPECT_EQ(history("cats").size(), 2U);
  const Proven up = prove(1);
  EXPECT_EQ(up.state, PostState::kLive);
  EXPECT_EQ(up.reason, "");
  EXPECT_GT(up.head.at, down.head.at);
  start(config());
  EXPECT_EQ(history("cats").size(), 2U);
}

// A set of eight: two parts.
class DividedReceiptsTest : public ReceiptsTest {
 protected:
  DividedReceiptsTest() {
    must_keep(1, 8, 8);
    start(config());
    while (redundancy::partition_of_post(post(in_upper).uri, 4, 8) == 0) ++in_upper;
    while (redundancy::partition_of_post(post(in_lower).uri, 4, 8) != 0) ++in_lower;
  }
  void must_keep(std::uint64_t version, unsigned replicas, unsigned reach) {
    ASSERT_TRUE(run(stores->history.save_set({"cats"_tag, version, replicas, reach, date()})));
  }
  static storage::TakenItem in_part(int number) {
    storage::TakenItem taken = item(number);
    taken.partition.number = redundancy::partition_of_post(taken.uri, 4, 8);
    return taken;
  }
  int in_lower = 1;
  int in_upper = 1;
};

TEST_F(DividedReceiptsTest, ThePartitionInWhichThePostIsKeptIsSigned) {
  const json::object answer = send("Add", "/storage", {post(in_lower), post(in_upper)});
  EXPECT_TRUE(is_for(receipt_in(answer), {in_part(in_lower), in_part(in_upper)}));
  const json::array& differs = answer.at("receipt").get_object().at("differs").get_array();
  ASSERT_EQ(differs.size(), 1U);
  EXPECT_EQ(differs[0].get_object().at("slot").to_number<int>(), 32);
  EXPECT_EQ(differs[0].get_object().at("uri").get_string(), post(in_upper).uri);
}

TEST_F(DividedReceiptsTest, APostFromBeforeTheDivisionIsSignedForThePartitionWhereItIs) {
  send("Add", "/storage", {post(in_upper)});
  must_keep(2, 16, 16);
  start(config());
  // Where it would be put now it is as well: that is what the owner answers for.
  const json::object again = send("Add", "/storage", {post(in_upper)});
  storage::TakenItem moved = item(in_upper);
  moved.partition.number = redundancy::partition_of_post(moved.uri, 4, 16);
  EXPECT_TRUE(is_for(receipt_in(again), {moved}));
  EXPECT_EQ(prove(in_upper, moved.partition.number).state, PostState::kLive);
  EXPECT_EQ(prove(in_upper, 32).state, PostState::kLive);
}

TEST_F(DividedReceiptsTest, APostThatIsTooOldIsNotSignedForWhereItsRemovalWasOnlyHeard) {
  send("Add", "/storage", {post(in_upper)});
  ASSERT_TRUE(run(stores->history.let_go({"cats"_tag, 32}, 1, date() + std::chrono::hours(48))));
  hear_removal(in_upper);
  EXPECT_FALSE(send("Add", "/storage", {post(in_upper)}).contains("receipt"));
}

TEST_F(DividedReceiptsTest, EachPartitionHasHeadsOfItsOwn) {
  send("Add", "/storage", {post(in_lower), post(in_upper)});
  EXPECT_EQ(prove(in_lower).state, PostState::kLive);
  EXPECT_EQ(prove(in_upper).state, PostState::kAbsent);
  EXPECT_EQ(prove(in_upper, 32).state, PostState::kLive);
  EXPECT_EQ(prove(in_lower, 32).state, PostState::kAbsent);
  EXPECT_EQ(prove(in_upper, 32).head.partition.number, 32U);
  EXPECT_EQ(prove(in_upper, 32).head.size, 1U);
  send("Remove", "/storage", {post(in_upper)});
  EXPECT_EQ(prove(in_upper, 32).state, PostState::kRemoved);
}

TEST_F(DividedReceiptsTest, NothingIsSignedOfAPartitionThatIsWithOthers) {
  send("Add", "/storage", {post(in_upper)});
  EXPECT_EQ(ask_for_head(16, in_upper).status, 421);
  must_keep(2, 4, 4);
  start(config());
  EXPECT_EQ(ask_for_head(32, in_upper).status, 421);
  EXPECT_EQ(ask_for_head(0, in_upper).status, 200);
  EXPECT_EQ(ask_for_head(256, in_upper).status, 400);
}

TEST_F(DividedReceiptsTest, ATakeDownReachesEveryPartition) {
  send("Add", "/storage", {post(in_lower), post(in_upper)});
  for (const int number : {in_lower, in_upper}) {
    const json::object request = {{"tag", "cats"}, {"uri", post(number).uri}, {"reason", "an order"}};
    ASSERT_EQ(control("/takedown", json::serialize(request)).status, 200);
  }
  EXPECT_TRUE(history("cats").empty());
  EXPECT_EQ(prove(in_lower).reason, "an order");
  EXPECT_EQ(prove(in_upper, 32).reason, "an order");
}

TEST_F(ReceiptsTest, ATakeDownNeedsAPostAndAReason) {
  const auto ask = [&](const char* tag, int number, const char* reason) {
    return control("/takedown",
                   json::serialize(json::object{{"tag", tag}, {"uri", post(number).uri}, {"reason", reason}}))
        .status;
  };
  send("Add", "/storage", {post(1)});
  EXPECT_EQ(ask("cats", 1, ""), 400);
  EXPECT_EQ(ask("cats", 1, "two\nlines"), 400);
  EXPECT_EQ(ask("cats", 2, "why"), 404);
  EXPECT_EQ(ask("dogs", 1, "why"), 404);
}

TEST_F(ReceiptsTest, AProofIsAskedForInForm) {
  const std::string id(64, 'a');
  EXPECT_EQ(get("/tagring/v1/history/proof?tag=cats&hour=5&id=" + id).status, 200);
  EXPECT_EQ(get("/tagring/v1/history/proof?tag=cats&hour=x&id=" + id).status, 400);
  EXPECT_EQ(get("/tagring/v1/history/proof?tag=cats&hour=-1&id=" + id).status, 400);
  EXPECT_EQ(get("/tagring/v1/history/proof?tag=cats&hour=5&id=" + id + "0").status, 400);
  EXPECT_EQ(get("/tagring/v1/history/proof?tag=cats&hour=5").status, 200);  // the head alone
  EXPECT_EQ(get("/tagring/v1/history/proof?tag=cats&hour=5&id=").status, 200);
  EXPECT_EQ(get("/tagring/v1/history/proof?tag=cats&hour=5&id=aa").status, 400);
  std::string many = id;
  for (int i = 0; i < 16; ++i) many += "," + id;
  EXPECT_EQ(get("/tagring/v1/history/proof?tag=cats&hour=5&id=" + many).status, 400);
}

// --- as a sender -------------------------------------------------------------------------------------------

class KeptReceiptsTest : public ReceiptsTest {
 protected:
  const std::vector<delivery::TagEvent> events = {event(1), event(2), event(3)};

  static delivery::TagEvent event(int number) {
    return {"cats"_tag, delivery::Op::kAdd, post(number).uri, post(number).author, date(), true};
  }
  // What the other node answers that took these.
  std::string answer(std::vector<storage::TakenItem> items,
                     std::function<void(storage::Receipt&)> spoil = {}) {
    const auto leaves = audit::KeptReceipt{0, {}, {}, items}.leaves();
    storage::Receipt receipt{
        "tagring", Ring::kStorage, other.id, clock.wall_now(), items.size(), crypto::tree_root(leaves), {}};
    receipt.signature = other.key.sign(receipt.signed_text());
    if (spoil) spoil(receipt);
    return json::serialize(json::object{{"accepted", items.size()}, {"receipt", storage::to_json(receipt)}});
  }
  void note(const std::string& text, const std::vector<delivery::Refusal>& refusals = {}) {
    node->receipts().note("https://tags.other.example", Ring::kStorage, events, refusals, text);
    settle();
  }
  std::size_t held() {
    const auto found = run(node->receipts().held("cats"_tag)).value();
    for (const auto& one : found) EXPECT_TRUE(one.receipt.check(other.key.public_key()));
    return found.size();
  }
};

TEST_F(KeptReceiptsTest, AGoodReceiptIsKeptAndSurvivesARestart) {
  note(answer({item(1), item(2), item(3)}));
  EXPECT_EQ(held(), 3U);
  start(config());
  EXPECT_EQ(held(), 3U);
}

TEST_F(KeptReceiptsTest, ARefusedPostIsNotExpectedInIt) {
  const std::vector<delivery::Refusal> refusals = {{post(2).uri, "cats"_tag, {ErrorCode::kDenied, "no"}}};
  note(answer({item(1), item(3)}), refusals);
  EXPECT_EQ(held(), 2U);
  note(answer({item(1), item(2), item(3)}), refusals);  // another batch than was sent
  EXPECT_EQ(node->receipts().counters().bad, 1U);
}

TEST_F(KeptReceiptsTest, OfAPostInAnotherPartitionTheOwnerSaysWhichIfItCanBeThere) {
  const unsigned possible = redundancy::partition_of_post(post(2).uri, 4, 256);
  for (const unsigned part : {possible, possible + 1}) {
    storage::TakenItem moved = item(2);
    moved.partition.number = part;
    json::object text = json::parse_object(answer({item(1), moved, item(3)})).value();
    text["receipt"].get_object()["differs"] =
        json::array{json::object{{"tag", "cats"},
                                 {"uri", moved.uri},
                                 {"published", moved.published.time_since_epoch().count()},
                                 {"slot", part}}};
    note(json::serialize(text));
  }
  EXPECT_EQ(node->receipts().counters().bad, 1U);
  const auto found = run(node->receipts().held("cats"_tag)).value();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[1].receipt.item.partition.number, possible);
}

TEST_F(KeptReceiptsTest, AnythingElseIsNotKeptAndHindersNothing) {
  const auto forger = crypto::PrivateKey::ed25519_from_seed(std::string(32, 'f'));
  const std::vector<std::function<void(storage::Receipt&)>> spoilers = {
      [](storage::Receipt& r) { r.root[5] ^= 1U; },
      [](storage::Receipt& r) { ++r.size; },
      [](storage::Receipt& r) { r.at += Duration(1); },
      [](storage::Receipt& r) { r.ring = Ring::kRelay; },
      [](storage::Receipt& r) { r.network = "other"; },
      [](storage::Receipt& r) { r.actor = "https://tags.third.example/actor"; },
      [&](storage::Receipt& r) { r.signature = forger.sign(r.signed_text()); },
      [&](storage::Receipt& r) {
        r.at += std::chrono::minutes(6);
        r.signature = other.key.sign(r.signed_text());
      },
  };
  for (const auto& spoil : spoilers) note(answer({item(1), item(2), item(3)}, spoil));
  EXPECT_EQ(node->receipts().counters().bad, spoilers.size());
  EXPECT_EQ(held(), 0U);
  note("{}");
  note("not even JSON");
  EXPECT_EQ(node->receipts().counters().absent, 2U);
  EXPECT_EQ(held(), 0U);
}

// Which is nothing that an owner is to be blamed for.
TEST_F(KeptReceiptsTest, AnOwnerWhoseKeyCannotBeFetchedIsNotSaidToHaveSignedWrongly) {
  internet.answers["https://tags.cut-off.example/actor"] = [](const HttpCall&) { return with_status(503); };
  const std::string text = answer({item(1), item(2), item(3)}, [](storage::Receipt& receipt) {
    receipt.actor = "https://tags.cut-off.example/actor";
  });
  node->receipts().note("https://tags.cut-off.example", Ring::kStorage, events, {}, text);
  settle();
  EXPECT_EQ(node->receipts().counters().bad, 0U);
  EXPECT_EQ(node->receipts().counters().unchecked, 1U);
  EXPECT_THAT(log_lines, testing::Not(testing::Contains(testing::HasSubstr("bad_receipt"))));
  EXPECT_EQ(held(), 0U);
}

TEST_F(KeptReceiptsTest, OthersAreShownWhatStorageOwnersSigned) {
  note(answer({item(1), item(2), item(3)}));
  const HttpResponse response = get("/tagring/v1/receipts?tag=cats");
  ASSERT_EQ(response.status, 200);
  const json::object body = json::parse_object(response.body).value();
  audit::Receipts::Source source{"https://a.example"};
  const auto read = [&](const json::object& shown) {
    const audit::Receipts::KnownKeys nobodys;
    return run(node->receipts().read(shown, "cats"_tag, &nobodys, &source));
  };
  const auto found = read(body);
  EXPECT_EQ(found.size(), 3U);
  EXPECT_EQ(source.after, 0U);
  EXPECT_FALSE(source.is_cut);
  for (const auto& held : found) {
    EXPECT_TRUE(held.receipt.check(other.key.public_key()));
    EXPECT_EQ(held.key, other.key.public_key().pem());
  }
  // Anything that is not what was signed is left out.
  json::object forged = body;
  forged["receipts"].get_array()[0].get_object()["items"].get_array()[0].get_object()["uri"] =
      "https://x.example/";
  EXPECT_EQ(read(forged).size(), 2U);
  forged["receipts"].get_array()[0].get_object()["leaves"].get_array().pop_back();
  EXPECT_EQ(read(forged).size(), 0U);
  EXPECT_EQ(json::find(json::parse_object(get("/tagring/v1/receipts?tag=dogs").body).value(), "receipts")
                ->get_array()
                .size(),
            0U);
}

TEST_F(KeptReceiptsTest, WhatIsAskedForInAnotherFormIsRefusedInWords) {
  const auto refusal = [this](const std::string& target) {
    const HttpResponse response = get("/tagring/v1/" + target);
    EXPECT_EQ(response.status, 400) << target;
    return response.body;
  };
  for (const char* after : {"x", "1x", "-1", "99999999999999999999"})
    EXPECT_THAT(refusal(std::string("receipts?tag=cats&after=") + after),
                HasSubstr("'after' must be a number"));
  EXPECT_EQ(get("/tagring/v1/receipts?tag=cats&after=1").status, 200);
  for (const char* target : {"receipts", "history", "history?limit=3",
                             "history/days?from=2026-01-01&to=2026-01-03", "relays", "stores"})
    EXPECT_THAT(refusal(target), HasSubstr("'tag' is missing")) << target;
  EXPECT_THAT(refusal("history?tag=cats&limit=3x"), HasSubstr("'limit' must be a number"));
}

}  // namespace
}  // namespace tagring::node
