// What moves when owners change: a kind at the old owner answers, and the same kind at the new one takes it.
#include "handover/kinds.hpp"

#include "belief/servers.hpp"
#include "delivery/role_fixture.hpp"
#include "delivery/wire.hpp"
#include "handover/transfer.hpp"
#include "hashtag/tag.hpp"
#include "storage/entries_json.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::handover {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

const RingId kKey = "cats"_tag.key();
const RingId kOne = RingId::power_of_two(0);
const Segment kCats{kKey - kOne, kKey};
const std::string kFrom = "https://tags.old.example";  // the old owner

Request request(const Segment& segment) {
  Request made;
  made.segment = segment;
  made.requester = ring::real_contact(2);
  return made;
}

MATCHER(IsInvalid, "") { return !arg && arg.error().code == ErrorCode::kInvalid; }

json::array items_of(const json::object& page) { return page.at("items").as_array(); }

class KindsTest : public RoleTest {
 protected:
  ~KindsTest() override { finish(disputes.stop()); }
  void keep(const redundancy::Partition& partition, const std::string& uri) {
    ASSERT_TRUE(run(stores->history.put({{partition, uri, "https://a.example/u", clock.wall_now()}})));
  }
  std::vector<storage::HistoryEntry> kept_of(const redundancy::Partition& partition) {
    return run(stores->history.page(partition, {}, 100))->entries;
  }

  void serve_node(const std::string& actor, const std::string& inbox) {
    servers.documents[actor] = json::serialize(json::object{{"id", actor},
                                                            {"type", "Application"},
                                                            {"preferredUsername", "n"},
                                                            {"inbox", inbox},
                                                            {"tagring", 1}});
  }

  // Votes count for a host at which something was seen.
  void look_at_a_post_of_a() {
    const std::string uri = "https://a.example/0";
    servers.publish(uri, "https://a.example/u", "cats", clock.wall_now());
    ASSERT_TRUE(
        run(origins.ask_of_post({"cats"_tag, uri, "https://a.example/u", false, clock.wall_now(), {}})));
  }

  Servers servers;
  federation::SignedClient speaker{identity, servers, runtime};
  redundancy::StorageHints hints{4, clock};
  budget::Manager budget{budget::default_budgets(), clock};
  belief::OriginChecker origins{budget, speaker, runtime};
  storage::Disputes disputes{stores->history, origins, runtime};
  storage::KeptPartitions kept{disputes, hints, *rings, runtime};
  delivery::Followers followers;
  ReadSegments reads{clock};
};

TEST_F(KindsTest, HistoryIsGivenByKey) {
  keep("cats"_tag, "https://a.example/1");
  keep("dogs"_tag, "https://a.example/2");
  HistoryKind history(kept, disputes, reads);
  const Instant before = clock.now();
  const auto page = run(history.page(request(kCats)));
  ASSERT_THAT(items_of(*page), SizeIs(1));
  EXPECT_EQ(items_of(*page)[0].at("uri"), "https://a.example/1");
  EXPECT_FALSE(reads.has(kCats, before)) << "it may never arrive";
  Request next = request(kCats);
  next.after_tag = "cats";
  next.after = storage::HistoryCursor::of(kept_of("cats"_tag).front()).text();
  EXPECT_THAT(items_of(*run(history.page(next))), IsEmpty());
  EXPECT_TRUE(reads.has(kCats, before)) << "who asks what comes then has it";
}

TEST_F(KindsTest, HistoryIsTakenAndTheRequestMovesOn) {
  HistoryKind history(kept, disputes, reads);
  Request next = request(kCats);
  ASSERT_TRUE(run(history.absorb(&next, kFrom,
                                 {json::object{{"tag", "cats"},
                                               {"uri", "https://a.example/1"},
                                               {"author", "https://a.example/u"},
                                               {"published", 1'763'691'840'000}}})));
  EXPECT_THAT(kept_of("cats"_tag), SizeIs(1));
  EXPECT_EQ(next.after_tag, "cats");
  EXPECT_THAT(next.after, HasSubstr("1763691840000~"));
}

TEST_F(KindsTest, WhatIsGivenSaysWhatItsOwnerHasOnlyHeard) {
  keep("cats"_tag, "https://a.example/1");
  ASSERT_TRUE(run(disputes.adopt(
      {{"cats"_tag, "https://a.example/2", "https://a.example/u", clock.wall_now()}}, kFrom, 2)));
  HistoryKind history(kept, disputes, reads);
  const auto page = run(history.page(request(kCats)));
  std::map<std::string, bool> heard;
  for (const json::value& item : items_of(*page))
    heard[std::string(item.at("uri").as_string())] = item.as_object().contains("heard");
  EXPECT_EQ(heard,
            (std::map<std::string, bool>{{"https://a.example/1", false}, {"https://a.example/2", true}}));
}

// Else a liar and one that it has told would be two.
TEST_F(KindsTest, WhoHasOnlyHeardItIsNoSecondSource) {
  look_at_a_post_of_a();
  HistoryKind history(kept, disputes, reads);
  const auto take = [&](const std::string& from, bool heard) {
    json::object item{{"tag", "cats"},
                      {"uri", "https://a.example/1"},
                      {"author", "https://a.example/u"},
                      {"published", 1'763'691'840'000}};
    if (heard) item["heard"] = true;
    Request next = request(kCats);
    ASSERT_TRUE(run(history.absorb(&next, from, {item})));
  };
  take("https://tags.b.example", /*heard=*/true);
  take("https://tags.liar.example", /*heard=*/false);
  take("https://tags.c.example", /*heard=*/true);
  EXPECT_EQ(disputes.open(), 1U) << "is looked at";
  take("https://tags.d.example", /*heard=*/false);
  EXPECT_EQ(disputes.open(), 0U) << "two say so";
}

// Two of four owners may lie, and say the same.
TEST_F(KindsTest, WhatHalfOfItsSourcesSayANewOwnerLooksAt) {
  look_at_a_post_of_a();
  HistoryKind history(kept, disputes, reads);
  const auto take = [&](const std::string& from) {
    Request next = request(kCats);
    next.sources = 4;
    ASSERT_TRUE(run(history.absorb(&next, from,
                                   {json::object{{"tag", "cats"},
                                                 {"uri", "https://a.example/1"},
                                                 {"author", "https://a.example/u"},
                                                 {"published", 1'763'691'840'000}}})));
  };
  take("https://tags.liar.example");
  for (int i = 0; i < 2; ++i) take("https://tags.crony.example");
  EXPECT_EQ(disputes.open(), 1U);
  take("https://tags.c.example");
  EXPECT_EQ(disputes.open(), 0U);
}

// Of a hashtag with two of them.
std::string post_of_part(unsigned number) {
  for (int n = 1;; ++n) {
    std::string uri = "https://a.example/" + std::to_string(n);
    if (redundancy::partition_of_post(uri, 4, 8) == number) return uri;
  }
}

// It belongs to others, who would be asked about it.
TEST_F(KindsTest, APostThatWasNeverToBeInAPartitionIsNotTaken) {
  ASSERT_TRUE(run(kept.adopt({"cats"_tag, 1, 8, 8, clock.wall_now()})));
  HistoryKind history(kept, disputes, reads);
  const RingId key = redundancy::partition_key(kKey, 32);
  Request next = request({key - kOne, key});
  const auto item = [](const std::string& uri, int published) {
    return json::object{
        {"tag", "cats/32"}, {"uri", uri}, {"author", "https://a.example/u"}, {"published", published}};
  };
  ASSERT_TRUE(run(history.absorb(&next, kFrom, {item(post_of_part(0), 2), item(post_of_part(32), 1)})));
  EXPECT_THAT(kept_of({"cats"_tag, 32}),
              testing::ElementsAre(testing::Field(&storage::HistoryEntry::uri, post_of_part(32))));
}

// Else the two that are asked first could decide for the two others, which go.
TEST_F(KindsTest, WhatHalfOfTheOwnersOfAPartSayIsLookedAtByWhoTakesItUp) {
  look_at_a_post_of_a();
  SetsKind sets(kept);
  HistoryKind history(kept, disputes, reads);
  Transfer transfer({.network = "tagring"}, *rings, {sets, sets, sets, history}, disputes, client, runtime);
  const auto fetch = [&](const std::string& origin) {
    const auto item = [](const std::string& uri, std::int64_t published) {
      return json::object{{"tag", "cats/32"},
                          {"uri", uri},
                          {"author", "https://a.example/u"},
                          {"published", published},
                          {"removed", true}};
    };
    web.bodies[origin + std::string(Transfer::kPath)] =
        json::serialize(json::object{{"version", 3},
                                     {"items", json::array{item(post_of_part(32), 1'763'691'840'000),
                                                           item(post_of_part(0), 1'763'691'839'000)}}});
    ASSERT_TRUE(run(transfer.fetch_partition(origin, ring::real_contact(1), {"cats"_tag, 32}, {"cats"_tag, 0},
                                             3, /*sources=*/4)));
  };
  fetch("https://tags.liar.example");
  fetch("https://tags.crony.example");
  EXPECT_EQ(disputes.open(), 1U);
  ASSERT_THAT(kept_of("cats"_tag), SizeIs(1)) << "the other one is not of that part";
  EXPECT_TRUE(kept_of("cats"_tag).front().is_hearsay());
  fetch("https://tags.c.example");
  EXPECT_EQ(disputes.open(), 0U);
  EXPECT_FALSE(kept_of("cats"_tag).front().is_hearsay());
  finish(transfer.stop());
}

TEST_F(KindsTest, HistoryOfOtherKeysIsRefusedWhole) {
  HistoryKind history(kept, disputes, reads);
  Request next = request(kCats);
  const auto item = [](const char* tag, const char* uri) {
    return json::object{{"tag", tag}, {"uri", uri}, {"author", "https://a.example/u"}, {"published", 1}};
  };
  const Result<void> done = run(history.absorb(
      &next, kFrom, {item("cats", "https://a.example/1"), item("dogs", "https://a.example/2")}));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("not of the segment that was asked for"));
  EXPECT_THAT(kept_of("cats"_tag), IsEmpty());
}

json::object post_at(std::int64_t published) {
  return {{"tag", "cats"},
          {"uri", "https://a.example/" + std::to_string(published)},
          {"author", "https://a.example/u"},
          {"published", published}};
}

TEST_F(KindsTest, APageOfHistoryThatDoesNotMoveOnIsRefused) {
  HistoryKind history(kept, disputes, reads);
  Request next = request(kCats);
  ASSERT_TRUE(run(history.absorb(&next, kFrom, {post_at(9'000), post_at(8'000)})));
  const Request second = next;
  EXPECT_THAT(run(history.absorb(&next, kFrom, {post_at(8'000)})), IsInvalid());
  next = second;
  EXPECT_THAT(run(history.absorb(&next, kFrom, {post_at(8'500)})), IsInvalid());
  next = second;
  EXPECT_THAT(run(history.absorb(&next, kFrom, {post_at(7'000), post_at(7'500)})), IsInvalid());
  next = second;
  EXPECT_TRUE(run(history.absorb(&next, kFrom, {post_at(7'000)})));
}

// As an older version kept it. Everything behind it is fetched all the same.
TEST_F(KindsTest, AnItemThatNobodyTakesAnyMoreHoldsNothingElseBack) {
  HistoryKind history(kept, disputes, reads);
  Request next = request(kCats);
  json::object old = post_at(8'000);
  old["uri"] = "https://a.example/\u200F8000";
  ASSERT_TRUE(run(history.absorb(&next, kFrom, {post_at(9'000), old, post_at(7'000)})));
  EXPECT_THAT(kept_of("cats"_tag), SizeIs(2));

  delivery::FeedEntry entry{
      7,
      {"cats"_tag, delivery::Op::kAdd, "https://a.example/\u200F1", "https://a.example/u", clock.wall_now()}};
  const json::value page = delivery::to_json(std::vector{entry});
  ASSERT_TRUE(delivery::feed_from_json(&page));
  EXPECT_EQ(delivery::feed_from_json(&page)->front().seq, 7U);
}

TEST_F(KindsTest, APartitionThatNobodyReadsIsNotTaken) {
  HistoryKind history(kept, disputes, reads);
  const RingId key = redundancy::partition_key(kKey, 32);
  Request next = request({key - kOne, key});
  ASSERT_TRUE(run(history.absorb(&next, kFrom,
                                 {json::object{{"tag", "cats/32"},
                                               {"uri", "https://a.example/1"},
                                               {"author", "https://a.example/u"},
                                               {"published", 1}}})));
  EXPECT_THAT(kept_of({"cats"_tag, 32}), IsEmpty()) << "at rest there is one partition";
  EXPECT_EQ(next.after_tag, "cats/32") << "and the next page is another all the same";
}

TEST_F(KindsTest, SetsAreAskedForByPositionAndKept) {
  ASSERT_TRUE(run(kept.adopt({"cats"_tag, 3, 8, 8, clock.wall_now()})));
  SetsKind sets(kept);
  const RingId replica = replica_key(kKey, 5, 8);
  const auto page = run(sets.page(request({replica - kOne, replica})));
  ASSERT_THAT(items_of(*page), SizeIs(1));

  db::TemporaryDirectory elsewhere;
  auto other = db::open_stores({.path = elsewhere.file("db"), .vfs = {}, .mode = db::Mode::kInline}, clock);
  redundancy::StorageHints other_hints{4, clock};
  storage::Disputes other_disputes((*other)->history, origins, runtime);
  storage::KeptPartitions other_kept(other_disputes, other_hints, *rings, runtime);
  Request next = request({});
  ASSERT_TRUE(run(SetsKind(other_kept).absorb(&next, kFrom, items_of(*page))));
  EXPECT_EQ(other_kept.of("cats"_tag).replicas, 8U);
  EXPECT_THAT(run(SetsKind(other_kept).absorb(&next, kFrom, items_of(*page))), IsInvalid()) << "no next page";
  finish(other_kept.stop());
}

// Whoever is asked could say anything of any hashtag, and keep this node from taking its posts.
TEST_F(KindsTest, SetsThatHaveNoPlaceThereAreNotKeptAndHoldNothingUp) {
  SetsKind sets(kept);
  Request next = request({kKey, kKey + kOne});
  const json::value list =
      redundancy::to_json(std::vector{redundancy::StorageSet{"cats"_tag, 1, 8, 8, clock.wall_now()},
                                      redundancy::StorageSet{"dogs"_tag, 1, 16, 16, clock.wall_now()}});
  EXPECT_TRUE(run(sets.absorb(&next, kFrom, list.as_array())));
  EXPECT_EQ(kept.of("cats"_tag).version, 0U);
  EXPECT_EQ(kept.of("dogs"_tag).version, 0U);
  EXPECT_EQ(next.after_tag, "dogs");
  next = request({kKey - kOne, kKey});
  json::array impossible = list.as_array();
  impossible[0].as_object()["version"] = std::int64_t{1} << 52U;
  EXPECT_TRUE(run(sets.absorb(&next, kFrom, impossible)));
  EXPECT_EQ(kept.of("cats"_tag).version, 0U);
}

TEST_F(KindsTest, APartitionIsTheBusinessOfAllOwnersOfItsHashtag) {
  ASSERT_TRUE(run(kept.adopt({"cats"_tag, 3, 4, 16, clock.wall_now()})));
  PartitionKind partitions(stores->history, kept);
  Request asked = request({});
  asked.partition = "cats/16";
  const Result<Kind::Place> place = partitions.place(asked);
  EXPECT_EQ(place->key, kKey);
  EXPECT_EQ(place->replicas, 16U) << "the read factor";
  asked.partition = "cats/1600";
  EXPECT_FALSE(partitions.place(asked));
}

TEST_F(KindsTest, APageOfAPartitionSaysForWhichVersionItIsComplete) {
  ASSERT_TRUE(run(kept.adopt({"cats"_tag, 3, 4, 16, clock.wall_now()})));
  keep({"cats"_tag, 16}, "https://a.example/1");
  Request asked = request({});
  asked.partition = "cats/16";
  const auto page = run(PartitionKind(stores->history, kept).page(asked));
  EXPECT_EQ(page->at("version"), 3);
  EXPECT_THAT(items_of(*page), SizeIs(1));
}

TEST_F(KindsTest, APageOfAPartitionSaysWhatItsOwnerHasOnlyHeard) {
  keep({"cats"_tag, 16}, "https://a.example/1");
  ASSERT_TRUE(run(disputes.adopt(
      {{{"cats"_tag, 16}, "https://a.example/2", "https://a.example/u", clock.wall_now()}}, kFrom, 2)));
  Request asked = request({});
  asked.partition = "cats/16";
  const auto page = run(PartitionKind(stores->history, kept).page(asked));
  const json::value list = items_of(*page);
  auto entries = storage::entries_from_json(&list);
  ASSERT_THAT(*entries, SizeIs(2));
  EXPECT_THAT(take_heard(&*entries),
              testing::ElementsAre(testing::Field(&storage::HistoryEntry::uri, "https://a.example/2")));
  EXPECT_THAT(*entries,
              testing::ElementsAre(testing::Field(&storage::HistoryEntry::uri, "https://a.example/1")));
}

TEST(Entries, APostThatItsOwnerHasOnlyHeardIsReadAsSuch) {
  storage::HistoryEntry heard{"cats"_tag, "https://a.example/1", "https://a.example/u",
                              WallTime(Duration(5))};
  const storage::HistoryEntry sure = heard;
  heard.changed = storage::kBeforeAll;
  const json::value list = storage::to_json({heard, sure}, true);
  EXPECT_EQ(storage::entries_from_json(&list).value(), (std::vector{heard, sure}));
}

TEST(Entries, ARemovalThatWasOnlyHeardIsReadAsSuch) {
  const storage::HistoryEntry heard{
      "cats"_tag, "https://a.example/1", "https://a.example/u", WallTime(Duration(5)), true,
      false,      storage::kBeforeAll};
  storage::HistoryEntry final = heard;
  final.changed = WallTime();
  const json::value list = storage::to_json({heard, final}, true);
  EXPECT_EQ(storage::entries_from_json(&list).value(), (std::vector{heard, final}));
}

TEST_F(KindsTest, WhomTheNewOwnerFollowedItselfIsNoFollower) {
  redundancy::RelayHints relays{2, clock, [](const Tag&) {}};
  relay::RelayPlaces places{*rings, relays, identity.origin(), budget};
  belief::NodeActors nodes{budget, speaker, runtime};
  relay::FollowerLists lists{stores->relay, followers, places, identity, nodes, clock};
  serve_node("https://other.example/actor", "https://other.example/inbox");
  servers.refusals["https://victim.example/actor"] = 503;  // is down, and follows nothing
  FollowersKind kind(stores->relay, lists, *rings, 2);
  const auto item = [](const std::string& host, const char* tag = "cats") {
    return json::object{{"tag", tag},
                        {"actor", "https://" + host + "/actor"},
                        {"inbox", "https://" + host + "/inbox"},
                        {"follow_id", "https://" + host + "/follows/1"}};
  };
  Request next = request(kCats);
  ASSERT_TRUE(
      run(kind.absorb(&next, kFrom, {item("n2.example"), item("other.example"), item("victim.example")})));
  EXPECT_FALSE(followers.follows("cats"_tag, "https://victim.example/actor"));
  EXPECT_FALSE(followers.follows("cats"_tag, "https://n2.example/actor"));
  EXPECT_TRUE(followers.follows("cats"_tag, "https://other.example/actor"));
  EXPECT_EQ(next.after, "https://victim.example/actor");
  EXPECT_THAT(run(kind.absorb(&next, kFrom, {item("victim.example")})), IsInvalid()) << "the same page again";
  EXPECT_THAT(run(kind.absorb(&next, kFrom, {item("n3.example")})), IsInvalid()) << "an earlier one";
  EXPECT_FALSE(run(kind.absorb(&next, kFrom, {item("other.example", "Cats")}))) << "not canonical";
}

TEST_F(KindsTest, WhatAFollowWasCalledIsNotTakenFromOthers) {
  redundancy::RelayHints relays{2, clock, [](const Tag&) {}};
  relay::RelayPlaces places{*rings, relays, identity.origin(), budget};
  belief::NodeActors nodes{budget, speaker, runtime};
  relay::FollowerLists lists{stores->relay, followers, places, identity, nodes, clock};
  FollowersKind kind(stores->relay, lists, *rings, 2);
  const auto item = [](const std::string& actor, const std::string& inbox) {
    return json::object{{"tag", "cats"},
                        {"actor", actor},
                        {"inbox", inbox},
                        {"follow_id", std::string(1, '\0') + std::string(600'000, 'x')}};
  };
  const std::string other = "https://other.example/actor";
  serve_node(other, "https://other.example/inbox");
  Request next = request(kCats);
  ASSERT_TRUE(run(kind.absorb(&next, kFrom, {item(other, "https://other.example/inbox")})));
  EXPECT_TRUE(followers.follows("cats"_tag, other));
  const json::object page = run(kind.page(request(kCats))).value();
  EXPECT_THAT(json::text_of(page.at("items").at(0).as_object(), "follow_id"), StartsWith(identity.origin()));
  const std::string longer = "https://other.example/" + std::string(fediverse::kSharedIdSizeMax, 'x');
  serve_node(longer, "https://other.example/inbox");
  ASSERT_TRUE(run(kind.absorb(&next, kFrom, {item(longer, "https://other.example/inbox")})));
  EXPECT_FALSE(followers.follows("cats"_tag, longer));
}

TEST(Pages, OfTheLongestIdsAreReadByWhoAsks) {
  const std::string id = "https://a.example/" + std::string(fediverse::kSharedIdSizeMax - 18, 'x');
  ASSERT_TRUE(belief::is_sound(id, id, WallTime(Duration(1))));
  ASSERT_FALSE(belief::is_sound(id + "x", id, WallTime(Duration(1))));
  const Tag tag = Tag::parse(std::string(250, 'a')).value();
  const WallTime late(Duration(253'402'300'799'000));
  const delivery::TagEvent event{tag,
                                 delivery::Op::kRemove,
                                 id,
                                 id,
                                 late,
                                 true,
                                 std::string(64, 'f') + " https://" + std::string(253, 'a'),
                                 late};
  const std::vector<delivery::FeedEntry> feed(kPage, {UINT64_MAX, event});
  const storage::HistoryEntry entry{redundancy::Partition(tag, 127), id, id, late, true, true, late};
  const std::vector<storage::HistoryEntry> history(kPage, entry);
  const std::size_t most = HttpCall("POST", Url(), Instant()).response_size_max;
  EXPECT_LT(json::serialize(json::object{{"items", delivery::to_json(feed)}}).size(), most);
  EXPECT_LT(json::serialize(json::object{{"items", storage::to_json(history, true)}}).size() +
                kPage * std::string_view(R"(,"heard":true)").size(),
            most);
}

// --- the feed ----------------------------------------------------------------------------------------------

class FeedKindTest : public KindsTest {
 protected:
  ~FeedKindTest() override {
    finish(announcer.stop());
    finish(owners.stop());
  }
  void take(const std::string& uri) {
    ASSERT_TRUE(run(stores->relay.accept(
        {{"cats"_tag, delivery::Op::kAdd, uri, "https://a.example/u", clock.wall_now(), true}}, 0)));
  }

  federation::Blocks blocks;
  federation::RemoteKeys keys{budget, client, runtime};
  federation::Authenticator authenticator{{}, {}, keys, runtime};
  delivery::PartialCollections partials{{false, {}}, followers, identity, authenticator, observer, runtime};
  delivery::AnnouncementSender sender{followers, partials, client, observer, runtime};
  delivery::Announcer announcer{{}, stores->relay, followers, blocks, sender, runtime};
  redundancy::RelayHints relays{1, clock, [](const Tag&) {}};
  delivery::OwnerQueue owners{{}, stores->relay, {*rings, relays, hints}, client, observer, runtime};
  delivery::Feed feed{stores->relay, owners, announcer, observer};
  belief::PostChecker checker{{}, identity, blocks, origins, runtime};
  belief::Doubts doubts{checker, runtime};
  FeedKind kind{stores->relay, feed, doubts, 1, 2};
};

TEST_F(FeedKindTest, OfWhatIsKeptADayIsGivenPageByPage) {
  take("https://a.example/1");
  loop.run_for(std::chrono::hours(25));
  for (int i = 2; i <= 4; ++i) take("https://a.example/" + std::to_string(i));
  const json::array first = items_of(*run(kind.page(request(kCats))));
  ASSERT_THAT(first, SizeIs(2));
  EXPECT_EQ(first[0].at("uri"), "https://a.example/2");
  Request next = request(kCats);
  next.after = "3";
  const json::array second = items_of(*run(kind.page(next)));
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_EQ(second[0].at("uri"), "https://a.example/4");
}

// --- requests ----------------------------------------------------------------------------------------------

TEST(Requests, AreReadAsTheyWereWritten) {
  Request asked = request(kCats);
  asked.ring = Ring::kStorage;
  asked.kind = "shelf";
  asked.partition = "cats/16";
  asked.after = "7~x";
  const Result<Request> read = request_from_json(to_json(asked, "tagring"), "tagring");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->ring, Ring::kStorage);
  EXPECT_EQ(read->requester, asked.requester);
  EXPECT_EQ(read->segment, kCats);
  EXPECT_EQ(read->kind, "shelf");
  EXPECT_EQ(read->partition, "cats/16");
  EXPECT_EQ(read->after, "7~x");
}

TEST(Requests, OfAnotherNetworkAreRefused) {
  EXPECT_FALSE(request_from_json(to_json(request(kCats), "elsewhere"), "tagring"));
}

TEST(Items, AreOfTheSegment) {
  EXPECT_TRUE(check_item(kCats, "cats"_tag));
  EXPECT_FALSE(check_item(kCats, "dogs"_tag)) << "of elsewhere";
}

}  // namespace
}  // namespace tagring::handover
