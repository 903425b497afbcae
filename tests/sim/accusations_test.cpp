// What an audit finds: each kind of finding where there is reason for it, and not where only a liar says so.
#include <fmt/format.h>
#include <functional>
#include <map>
#include <optional>

#include "audit/evidence.hpp"
#include "audit/receipts.hpp"
#include "audit/signed_tree_heads.hpp"
#include "base/bytes.hpp"
#include "crypto/merkle.hpp"
#include "http/url.hpp"
#include "storage/statements.hpp"
#include "tests/sim/fixture.hpp"

namespace tagring::sim {
namespace {

using storage::PostState;
// The owners named, by the kind of the finding.
using Accused = std::map<std::string, std::set<std::string>>;
constexpr const char* kAuditedHashtag = "caturday";
constexpr std::size_t kInWorld = 8;

struct Told {
  std::string uri;
  WallTime date;
};

// What a storage owner says in place of the truth, of these posts; nothing of others.
struct FalseHead {
  std::map<std::string, std::pair<PostState, WallTime>> posts = {};
  WallTime kept_from = {};
  std::vector<storage::TakeDown> notices = {};
};

Tag audited_hashtag() { return Tag::from_canonical(kAuditedHashtag); }

// Eight nodes, of which one, which owns nothing of the hashtag, has published under it, and audits it. All
// are honest at first.
class Accusations : public testing::Test {
 protected:
  Accusations() : world_(11, options()) {
    for (std::size_t i = 0; i < kInWorld; ++i) world_.start_node(i);
    EXPECT_TRUE(world_.run_until(std::chrono::minutes(10), [&] { return world_.is_settled(); }));
    relays_ = owners(Ring::kRelay, 2);
    stores_ = owners(Ring::kStorage, 4);
    auditor_ = stranger(0);
    other_ = stranger(auditor_ + 1);
    EXPECT_LT(other_, kInWorld);
    for (const std::size_t i : {auditor_, auditor_, other_}) world_.publish(i, {kAuditedHashtag});
    EXPECT_TRUE(world_.run_until(std::chrono::minutes(2), [&] { return world_.is_quiet(); }))
        << world_.unrest();
    world_.loop.run_for(std::chrono::minutes(11));  // nobody is accused before that
    for (const World::Post& post : world_.posts()) posts_.push_back({post.uri, post.dated});
  }

  WorldOptions options() {
    WorldOptions options;
    options.posts_an_hour = 1'000'000;
    options.lie = [this](std::size_t node, const HttpRequest& request) { return lie(node, request); };
    return options;
  }

  std::optional<HttpResponse> lie(std::size_t node, const HttpRequest& request) {
    const std::string_view path = path_of(request.target);
    if (path == audit::Receipts::kPath && silent_.contains(node)) return json_answer({}, 503);
    if (path == audit::Receipts::kPath && shown_.contains(node))
      return json_answer({{"receipts", shown_.at(node)}});
    if (path == audit::SignedTreeHeads::kPath && mute_.contains(node)) return json_answer({}, 503);
    if (path == audit::SignedTreeHeads::kPath && heads_.contains(node))
      return false_head(node, heads_.at(node), std::string(query_of(request.target)));
    return std::nullopt;
  }

  static HttpResponse json_answer(const json::object& body, unsigned status = 200) {
    HttpResponse response;
    response.status = status;
    response.headers.add("Content-Type", "application/json");
    response.body = json::serialize(body);
    return response;
  }

  HttpResponse false_head(std::size_t node, const FalseHead& said, const std::string& query) {
    const std::int64_t hour = std::stoll(query_value(query, "hour"));
    std::vector<storage::HeadLeaf> leaves;
    for (const auto& [uri, state] : said.posts) {
      if (storage::hour_of(state.second) == hour && state.first != PostState::kAbsent)
        leaves.push_back({storage::post_id(uri), state.first});
    }
    std::ranges::sort(leaves);
    const crypto::HashTree tree(storage::leaf_hashes(leaves));
    redundancy::Partition partition(audited_hashtag());
    storage::Head head{"tagring",     actor(node), partition, hour, said.kept_from, world_.loop.wall_now(),
                       leaves.size(), tree.root(), {}};
    head.signature = world_.key(node).sign(head.signed_text());
    json::array proofs;
    const std::string list = query_value(query, "id");
    for (std::string_view ids = list; !ids.empty();) {
      const auto id = storage::hash_from(ids.substr(0, 64)).value();
      proofs.push_back(storage::to_json(storage::prove(leaves, tree, id)));
      ids.remove_prefix(std::min<std::size_t>(65, ids.size()));
    }
    json::array notices;
    for (const storage::TakeDown& notice : said.notices) notices.push_back(storage::to_json(notice));
    return json_answer({{"head", storage::to_json(head)}, {"proofs", proofs}, {"taken_down", notices}});
  }

  static bool contains(const std::vector<std::size_t>& all, std::size_t one) {
    return std::ranges::find(all, one) != all.end();
  }
  // The first, from that one on, that owns nothing of the hashtag.
  [[nodiscard]] std::size_t stranger(std::size_t i) const {
    while (contains(relays_, i) || contains(stores_, i)) ++i;
    return i;
  }
  // Each node once, in the order of their names.
  std::vector<std::size_t> owners(Ring ring, unsigned replicas) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < kInWorld; ++i) {
      for (unsigned replica = 0; replica < replicas && !contains(found, i); ++replica) {
        const RingId key = replica_key(audited_hashtag().key(), replica, replicas);
        if (world_.node(i).rings().of(ring).owning(key) != nullptr) found.push_back(i);
      }
    }
    return found;
  }

  static std::string actor(std::size_t i) { return World::node_origin(i) + "/actor"; }
  static std::set<std::string> named(const std::vector<std::size_t>& nodes) {
    std::set<std::string> names;
    for (const std::size_t i : nodes) names.insert(World::node_origin(i));
    return names;
  }
  static storage::TakenItem item_of(const Told& post) {
    return {audited_hashtag(), post.uri, false, post.date, true};
  }

  // A batch as relays show it, in the name of that actor, with that key.
  json::object batch(const std::string& actor, const crypto::PrivateKey& key,
                     const std::vector<storage::TakenItem>& items, Duration age = std::chrono::minutes(11)) {
    const std::vector<crypto::Hash256> leaves = audit::leaves_of(items);
    storage::Receipt receipt{"tagring",
                             Ring::kStorage,
                             actor,
                             world_.loop.wall_now() - age,
                             items.size(),
                             crypto::tree_root(leaves),
                             {}};
    receipt.signature = key.sign(receipt.signed_text());
    json::object object = storage::to_json(receipt);
    object["key"] = key.public_key().pem();
    json::array hashes;
    for (const crypto::Hash256& leaf : leaves) hashes.push_back(storage::to_json(leaf));
    object["leaves"] = std::move(hashes);
    json::array list;
    for (std::size_t i = 0; i < items.size(); ++i) {
      json::object item = storage::to_json(items[i]);
      item["index"] = i;
      list.push_back(std::move(item));
    }
    object["items"] = std::move(list);
    return object;
  }
  json::object signed_by(std::size_t node, const Told& post) {
    return batch(actor(node), world_.key(node), {item_of(post)});
  }
  // In that node's name, with a key that is not its own.
  json::object forged(std::size_t node, const Told& post) {
    return batch(actor(node), throw_away_, {item_of(post)});
  }

  // All storage owners but these have these posts alone; those have nothing.
  void all_hold(const std::vector<Told>& posts, const std::vector<std::size_t>& but = {}) {
    for (const std::size_t i : stores_) heads_[i] = contains(but, i) ? FalseHead{} : head_of(posts);
  }
  static FalseHead head_of(const std::vector<Told>& posts, PostState state = PostState::kLive) {
    FalseHead said;
    for (const Told& post : posts) said.posts.emplace(post.uri, std::pair(state, post.date));
    return said;
  }

  json::object report() {
    HttpRequest request;
    request.target = std::string("/audit?tag=") + kAuditedHashtag;
    const auto answer =
        world_.await(world_.node(auditor_).control(std::move(request)), std::chrono::minutes(20));
    const auto body = answer ? json::parse_object(answer->body) : fail(ErrorCode::kTimedOut, "no answer");
    EXPECT_TRUE(body && body->contains("findings")) << (answer ? answer->body : "");
    return body ? *body : json::object();
  }
  // Of one post, or of all.
  Accused audit(const std::string& uri = {}) {
    last_ = report();
    Accused found;
    json::for_each(json::find(last_, "findings"), [&](const json::value& element) {
      const json::object& finding = element.get_object();
      if (uri.empty() || json::text_of(finding, "uri") == uri)
        found[json::text_of(finding, "kind")].insert(json::text_of(finding, "owner"));
    });
    return found;
  }
  // Findings of the last audit with evidence that holds, against that node.
  std::size_t proved(std::size_t node) {
    std::size_t count = 0;
    json::for_each(json::find(last_, "findings"), [&](const json::value& element) {
      const json::object* object = json::get_object(element.get_object(), "evidence");
      const auto evidence =
          object == nullptr ? fail(ErrorCode::kNotFound, "") : audit::evidence_from_json(*object);
      if (evidence && audit::check(*evidence) && evidence->head.actor == actor(node) &&
          evidence->key == world_.key(node).public_key().pem())
        ++count;
    });
    return count;
  }

  Told never(const char* name = "never") {
    return {fmt::format("https://n{}.example/p/{}", other_, name), posts_[0].date};
  }

  std::set<std::size_t> silent_;              // relays that do not show their receipts
  std::set<std::size_t> mute_;                // storage owners that say nothing of what they have
  std::map<std::size_t, json::array> shown_;  // what a relay shows in place of its own
  std::map<std::size_t, FalseHead> heads_;    // what a storage owner says
  const crypto::PrivateKey throw_away_ = crypto::PrivateKey::ed25519_from_seed(std::string(32, 'x'));
  World world_;
  std::size_t auditor_ = 0;
  std::size_t other_ = 0;            // has published the last post, and owns nothing either
  std::vector<std::size_t> relays_;  // of the hashtag, as are
  std::vector<std::size_t> stores_;
  std::vector<Told> posts_;
  json::object last_;
};

TEST_F(Accusations, ThatNoOwnerOfAPartAnswersIsSaidAndHeldAgainstNobody) {
  mute_ = {stores_.begin() + 1, stores_.end()};
  EXPECT_EQ(audit(), Accused()) << "one answers";
  mute_.insert(stores_.front());
  EXPECT_EQ(audit(), (Accused{{"unanswered", {""}}}));
  mute_.clear();
  world_.loop.run_for(std::chrono::minutes(11));  // who does not answer is left alone for a while
  EXPECT_EQ(audit(), Accused());
}

TEST_F(Accusations, OfHonestNodesNobodyIsNamed) {
  EXPECT_EQ(audit(), Accused());
  EXPECT_GE(json::get_int(last_, "receipts").value_or(0), 12);
  EXPECT_EQ(json::get_int(last_, "unchecked"), 0);
}

// --- omitted -----------------------------------------------------------------------------------------------

TEST_F(Accusations, WhoSignedAndHasNotIsProvedToHaveOmitted) {
  heads_[stores_[0]] = {};
  EXPECT_EQ(audit(), (Accused{{"omitted", named({stores_[0]})}}));
  EXPECT_EQ(proved(stores_[0]), 3U);
}

TEST_F(Accusations, AReceiptSignedWithAnotherKeyThanTheOwnersSaysNothing) {
  for (const std::size_t relay : relays_) {
    for (const std::size_t owner : stores_) shown_[relay].push_back(forged(owner, never()));
    for (const Told& post : posts_) shown_[relay].push_back(signed_by(stores_[0], post));
  }
  EXPECT_EQ(audit(), Accused());
}

// One that was let go long ago would be no omission.
TEST_F(Accusations, WhatOneRelayShowsHidesNoOmissionThatAnotherOneShows) {
  const std::size_t owner = stores_[0];
  const Told long_ago{posts_[2].uri, posts_[2].date - std::chrono::days(730)};
  const json::object later = batch(actor(owner), throw_away_, {item_of(long_ago)}, std::chrono::seconds(10));
  const json::object of_its_own =
      batch(actor(owner), world_.key(owner), {item_of(long_ago)}, std::chrono::seconds(5));
  heads_[owner] = head_of({posts_[0], posts_[1]});
  heads_[owner].kept_from = posts_[0].date - std::chrono::days(400);
  for (const std::size_t relay : relays_) {
    shown_ = {{relay, {later, of_its_own}}};
    EXPECT_EQ(audit(posts_[2].uri)["omitted"], named({owner})) << relay;
    EXPECT_EQ(proved(owner), 1U);
  }
}

// Each that is asked is bounded by itself.
TEST_F(Accusations, WhatOneRelayInventsLeavesRoomForWhatAnotherShows) {
  const std::size_t liar = relays_[0];  // that is asked first
  const std::size_t owner = stores_[0] == liar ? stores_[1] : stores_[0];
  heads_[owner] = head_of({posts_[0], posts_[1]});
  std::vector<storage::TakenItem> invented;
  for (int i = 0; i < 5000; ++i) invented.push_back(item_of(never(fmt::format("a/{:04}", i).c_str())));
  shown_[liar].push_back(batch(actor(liar), world_.key(liar), invented));
  EXPECT_EQ(audit(posts_[2].uri)["omitted"], named({owner}));
  EXPECT_EQ(proved(owner), 1U);
  for (const json::value& finding : last_.at("findings").as_array())
    EXPECT_TRUE(named({owner, liar}).contains(json::text_of(finding.get_object(), "owner"))) << finding;
}

// --- omitted_unproved --------------------------------------------------------------------------------------

TEST_F(Accusations, AReceiptThatIsLaterThanTheHeadIsNamedAndNotProved) {
  const std::size_t owner = stores_[0];
  const auto in_an_hour = -std::chrono::hours(1);
  shown_[relays_[0]] = {batch(actor(owner), world_.key(owner), {item_of(never())},
                              std::chrono::duration_cast<Duration>(in_an_hour))};
  EXPECT_EQ(audit(never().uri)["omitted_unproved"], named({owner}));
  EXPECT_EQ(proved(owner), 0U);
  shown_[relays_[0]] = {
      batch(actor(owner), throw_away_, {item_of(never())}, std::chrono::duration_cast<Duration>(in_an_hour))};
  EXPECT_EQ(audit(never().uri), Accused());
}

// --- not_removed, taken_down, taken_down_unexplained -------------------------------------------------------

TEST_F(Accusations, WhoSaysThatALivingPostWasRemovedIsNamed) {
  heads_[stores_[0]] = head_of(posts_, PostState::kRemoved);
  EXPECT_EQ(audit(), (Accused{{"not_removed", named({stores_[0]})}}));
}

// It is relayed on; owners were told to take it out by the node that audits them.
TEST_F(Accusations, WhoRemovedWhatAnAuthorWantsToBeKeptNoMoreIsNotNamed) {
  world_.set_indexable(auditor_, false);
  world_.publish(auditor_, {"dogs"});  // so that its author's profile is looked at
  world_.loop.run_for(std::chrono::minutes(1));
  ASSERT_TRUE(world_.run_until(std::chrono::minutes(2), [&] { return world_.is_quiet(); }))
      << world_.unrest();
  world_.loop.run_for(std::chrono::minutes(11));
  EXPECT_EQ(audit(), Accused());
  for (const json::value& owner : last_.at("owners").as_array())
    EXPECT_EQ(json::get_int(owner.get_object(), "removed"), 2) << owner;
  world_.set_indexable(auditor_, true);
  world_.publish(auditor_, {"dogs"});
  world_.loop.run_for(std::chrono::minutes(1));
  EXPECT_EQ(audit(), Accused()) << "what was taken out does not come back";
}

TEST_F(Accusations, AHashtagThatCameOrCameBackAMomentAgoMayBeOnItsWay) {
  const std::size_t number = world_.publish(auditor_, {"dogs"});
  world_.loop.run_for(std::chrono::seconds(10));
  world_.edit(number, {kAuditedHashtag, "dogs"});
  world_.loop.run_for(std::chrono::seconds(10));
  ASSERT_TRUE(world_.run_until(std::chrono::minutes(2), [&] { return world_.is_quiet(); }))
      << world_.unrest();
  const World::Post& post = world_.posts()[number];
  heads_[stores_[0]] = head_of(posts_);
  heads_[stores_[0]].posts.emplace(post.uri, std::pair(PostState::kRemoved, post.dated));
  EXPECT_EQ(audit(), Accused());
  world_.loop.run_for(std::chrono::minutes(11));
  EXPECT_EQ(audit(), (Accused{{"not_removed", named({stores_[0]})}}));
}

// A relay that is a storage owner as well, or has a friend who is one, could say so of each post.
TEST_F(Accusations, ARemovalThatOneRelayShowsHidesNothing) {
  storage::TakenItem removal = item_of(posts_[0]);
  removal.removal = true;
  heads_[stores_[0]] = head_of({posts_[1], posts_[2]});
  shown_[relays_[0]] = {batch(actor(relays_[0]), world_.key(relays_[0]), {removal}),
                        batch(actor(stores_[0]), world_.key(stores_[0]), {removal})};
  EXPECT_EQ(audit(posts_[0].uri)["omitted"], named({stores_[0]}));
  all_hold({posts_[1], posts_[2]}, {});
  shown_[relays_[1]] = shown_[relays_[0]];
  EXPECT_EQ(audit(posts_[0].uri)["not_passed_on"], named(relays_));
}

TEST_F(Accusations, ATakeDownIsExplainedByWhoeverTookThePostDownAndNobodyElse) {
  const std::size_t owner = stores_[0];
  heads_[owner] = head_of({posts_[0]}, PostState::kTakenDown);
  for (const Told& post : {posts_[1], posts_[2]})
    heads_[owner].posts.emplace(post.uri, std::pair(PostState::kLive, post.date));
  EXPECT_EQ(audit(), (Accused{{"taken_down_unexplained", named({owner})}}));
  storage::TakeDown notice{
      "tagring", actor(owner), audited_hashtag(), posts_[0].uri, "an order", world_.loop.wall_now(), {}};
  notice.signature = throw_away_.sign(notice.signed_text());
  heads_[owner].notices = {notice};
  EXPECT_EQ(audit(), (Accused{{"taken_down_unexplained", named({owner})}}));
  notice.signature = world_.key(owner).sign(notice.signed_text());
  heads_[owner].notices = {notice};
  EXPECT_EQ(audit(), (Accused{{"taken_down", named({owner})}}));
}

// --- let_go_early ------------------------------------------------------------------------------------------

TEST_F(Accusations, WhoLetsAPostGoWithinTheYearIsNamed) {
  const std::size_t owner = stores_[0];
  heads_[owner].kept_from = posts_[2].date + std::chrono::minutes(1);
  EXPECT_EQ(audit(), (Accused{{"let_go_early", named({owner})}}));
  // Of a post that never was, by what one shows who may have made it up, nobody has let go anything.
  shown_[relays_[0]] = {signed_by(stores_[1], never())};
  EXPECT_FALSE(audit(never().uri).contains("let_go_early"));
  shown_[relays_[0]] = {forged(owner, never())};
  EXPECT_EQ(audit(never().uri), Accused());
}

// --- missing, disputed -------------------------------------------------------------------------------------

TEST_F(Accusations, WhoLacksWhatMostOwnersHaveIsNamed) {
  const std::size_t owner = stores_[0];
  const Told post = never("of-others");
  std::vector<Told> all = posts_;
  all.push_back(post);
  all_hold(all, {});
  heads_[owner] = head_of(posts_);
  for (std::size_t i = 1; i < stores_.size(); ++i) shown_[relays_[0]].push_back(signed_by(stores_[i], post));
  EXPECT_EQ(audit(post.uri), (Accused{{"missing", named({owner})}}));
}

TEST_F(Accusations, APostThatOneOwnerAloneSwearsToAccusesNobody) {
  const Told post = never();
  std::vector<Told> all = posts_;
  all.push_back(post);
  heads_[stores_[0]] = head_of(all);
  shown_[relays_[0]] = {signed_by(stores_[0], post)};
  EXPECT_EQ(audit(post.uri), (Accused{{"disputed", {""}}}));
  // Nor does one that has signed for others' parts.
  heads_.clear();
  shown_[relays_[0]] = {forged(stores_[0], post), forged(stores_[1], post)};
  EXPECT_EQ(audit(post.uri), Accused());
}

// --- not_handed_over ---------------------------------------------------------------------------------------

TEST_F(Accusations, AFormerOwnerWhosePostIsNowhereIsNamedByItsOwnSignatureOnly) {
  const Told post = never("handed");
  for (const bool genuine : {true, false}) {
    for (const std::size_t relay : relays_)
      shown_[relay] = {genuine ? signed_by(other_, post) : forged(other_, post)};
    EXPECT_EQ(audit(post.uri), genuine ? (Accused{{"not_handed_over", named({other_})}}) : Accused());
  }
  // It says that the author removed it: of others' posts nobody here knows better.
  storage::TakenItem removal = item_of(post);
  removal.removal = true;
  shown_[relays_[0]] = {signed_by(other_, post), batch(actor(other_), world_.key(other_), {removal})};
  shown_[relays_[1]] = {};
  EXPECT_EQ(audit(post.uri), Accused());
}

// --- not_passed_on, no_trace, unproved ---------------------------------------------------------------------

TEST_F(Accusations, RelaysThatPassedNothingOnAreNamedWhateverTheyForge) {
  const std::string uri = posts_[0].uri;
  all_hold({posts_[1], posts_[2]}, {});
  for (const std::size_t relay : relays_) shown_[relay] = {};
  EXPECT_EQ(audit(uri), (Accused{{"not_passed_on", named(relays_)}}));
  for (const std::size_t relay : relays_) {
    for (const std::size_t owner : stores_) shown_[relay].push_back(forged(owner, posts_[0]));
  }
  EXPECT_EQ(audit(uri), (Accused{{"not_passed_on", named(relays_)}}));
}

// Who has signed it answers for it; whether the relay had reason to give it to them nobody knows.
TEST_F(Accusations, AStrangersSignatureClearsNoRelay) {
  const std::string uri = posts_[0].uri;
  all_hold({posts_[1], posts_[2]}, {});
  shown_[relays_[0]] = {signed_by(other_, posts_[0])};
  shown_[relays_[1]] = {};
  EXPECT_EQ(audit(uri), (Accused{{"not_handed_over", named({other_})},
                                 {"not_passed_on", named({relays_[1]})},
                                 {"unproved", {""}}}));
}

TEST_F(Accusations, WhereTheSignerOrTheRelayCannotBeAskedNobodyIsBlamed) {
  const std::string uri = posts_[0].uri;
  all_hold({posts_[1], posts_[2]}, {});
  silent_.insert(relays_[0]);
  shown_[relays_[1]] = {batch("https://tags.gone.example/actor", throw_away_, {item_of(posts_[0])})};
  EXPECT_EQ(audit(uri), (Accused{{"unproved", {""}}}));
  EXPECT_EQ(json::get_int(last_, "unchecked"), 1);
  // Nor is anything to be found of a post of which nobody else knows.
  shown_[relays_[1]] = {batch("https://tags.gone.example/actor", throw_away_, {item_of(never())})};
  EXPECT_EQ(audit(never().uri), Accused());
}

TEST_F(Accusations, ARelayWithoutATraceIsNamedWhateverItForges) {
  const std::string uri = posts_[0].uri;
  shown_[relays_[0]] = {};
  EXPECT_EQ(audit(uri), (Accused{{"no_trace", named({relays_[0]})}}));
  shown_[relays_[0]] = {forged(stores_[0], posts_[0])};
  EXPECT_EQ(audit(uri), (Accused{{"no_trace", named({relays_[0]})}}));
  shown_[relays_[0]] = {signed_by(other_, posts_[0])};
  EXPECT_EQ(audit(uri), (Accused{{"disputed", {""}}}));
  shown_[relays_[0]] = {signed_by(stores_[0], posts_[0])};
  EXPECT_EQ(audit(uri), Accused());
}

}  // namespace
}  // namespace tagring::sim
