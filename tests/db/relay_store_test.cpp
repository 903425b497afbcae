#include "db/relay_store.hpp"

#include <algorithm>
#include <set>

#include "base/rng.hpp"
#include "federation/letter_store.hpp"
#include "sql/keys.hpp"
#include "tests/db/fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::db {

using namespace sql;

namespace {

using delivery::FeedEntry;
using delivery::Follower;
using delivery::Op;
using delivery::OutboxEntry;
using delivery::PublishedPost;
using delivery::Subscription;
using delivery::TagEvent;
using Tags = std::vector<Tag>;

const std::string kUri = "https://a.example/users/u/1";
const std::string kAuthor = "https://a.example/users/u";

class RelayStore : public StoresTest {
 protected:
  SqliteRelayStore& store() { return stores->relay; }
  std::vector<OutboxEntry> publish(Tags tags, std::int64_t published = 5) {
    PublishedPost post{kUri, kAuthor, at(published), std::move(tags)};
    post.is_edit = true;
    return must(store().publish(std::move(post), 2));
  }
  std::vector<OutboxEntry> remove_post(const std::string& signed_copy = "") {
    PublishedPost post{kUri, kAuthor, at(99), {}};
    post.deleted = true;
    post.signed_copy = signed_copy;
    return must(store().publish(std::move(post), 2));
  }
  std::vector<OutboxEntry> edit(Tags tags, const std::string& signed_copy) {
    PublishedPost post{kUri, kAuthor, at(5), std::move(tags)};
    post.is_edit = true;
    post.signed_copy = signed_copy;
    return must(store().publish(std::move(post), 2));
  }
  // As its server dated that.
  std::vector<OutboxEntry> edit_at(WallTime changed, Tags tags) {
    PublishedPost post{kUri, kAuthor, at(5), std::move(tags)};
    post.is_edit = true;
    post.changed = changed;
    return must(store().publish(std::move(post), 2));
  }
  std::vector<delivery::Store::Accepted> accept(std::vector<TagEvent> events, unsigned storage_replicas = 0) {
    return must(store().accept(std::move(events), storage_replicas));
  }
  std::int64_t count_rows(const char* sql) {
    return must(stores->database->read([sql](Connection& db) -> Result<std::int64_t> {
      Statement row = db.query(sql);
      TRY_VOID(row.step());
      return row.integer(0);
    }));
  }
  std::vector<FeedEntry> feed(std::uint64_t after = 0, std::size_t limit = 100'000) {
    return must(store().feed(after, limit));
  }
  std::vector<OutboxEntry> outbox() { return must(store().outbox(0, 100'000)); }
};

TagEvent event(Tag tag, Op op, std::string uri) {
  return {std::move(tag), op, std::move(uri), kAuthor, at(5)};
}
TagEvent add(Tag tag, std::string uri = kUri) { return event(std::move(tag), Op::kAdd, std::move(uri)); }
TagEvent removal(Tag tag, std::string uri = kUri) {
  return event(std::move(tag), Op::kRemove, std::move(uri));
}
TagEvent changed(WallTime at, TagEvent event) {
  event.changed = at;
  return event;
}
Follower follower(Tag tag, std::string actor, std::string inbox = "https://f.example/inbox") {
  return {std::move(tag),        std::move(actor),
          std::move(inbox),      "https://f.example/follow/1",
          delivery::Via::kBoost, 0};
}

Tag numbered(std::uint64_t number) { return Tag::from_canonical("tag" + std::to_string(number)); }

// --- publisher -----------------------------------------------------------------------------------------

INSTANTIATE_TEST_SUITE_P(, RelayStore, every_database(), name_of);

TEST_P(RelayStore, APostIsOwedToTheRelaysOfEachTag) {
  const auto owed = publish({"cats"_tag, "dogs"_tag});
  ASSERT_EQ(owed.size(), 2U);
  EXPECT_EQ(owed[0].event, add("cats"_tag));
  EXPECT_EQ(owed[1].event, add("dogs"_tag));
  EXPECT_EQ(owed[0].ring, Ring::kRelay);
  EXPECT_EQ(owed[0].replicas_left, 0b11U);
  EXPECT_LT(owed[0].seq, owed[1].seq);
  EXPECT_EQ(outbox().size(), 2U);
  const PublishedPost found = must(store().find_post(kUri)).value();
  EXPECT_EQ(found.tags, (Tags{"cats"_tag, "dogs"_tag}));
  EXPECT_EQ(found.author, kAuthor);
  EXPECT_EQ(found.published, at(5));
}

TEST_P(RelayStore, AnUnchangedPostOwesNothing) {
  publish({"cats"_tag, "dogs"_tag});
  EXPECT_TRUE(publish({"cats"_tag, "dogs"_tag}).empty());
  EXPECT_TRUE(publish({"dogs"_tag, "cats"_tag, "dogs"_tag}).empty());
  EXPECT_EQ(outbox().size(), 2U);
}

TEST_P(RelayStore, AnEditOwesTheDifference) {
  publish({"ants"_tag, "cats"_tag});
  const auto owed = publish({"bees"_tag, "cats"_tag}, 77);
  ASSERT_EQ(owed.size(), 2U);
  EXPECT_EQ(owed[0].event, changed(clock.wall, removal("ants"_tag)));  // with the date that it had
  EXPECT_EQ(owed[1].event, (TagEvent{"bees"_tag, Op::kAdd, kUri, kAuthor, at(77)}));
  EXPECT_EQ(must(store().find_post(kUri))->published, at(77));
}

TEST_P(RelayStore, ADeletionRemovesEveryTagAndIsFinal) {
  publish({"cats"_tag, "dogs"_tag});
  const auto owed = remove_post();
  ASSERT_EQ(owed.size(), 2U);
  EXPECT_EQ(owed[0].event, removal("cats"_tag));
  EXPECT_EQ(owed[1].event, removal("dogs"_tag));
  reopen();
  EXPECT_TRUE(publish({"cats"_tag}).empty());
  EXPECT_TRUE(publish({}).empty());
  EXPECT_FALSE(must(store().find_post(kUri)));
}

TEST_P(RelayStore, APostWithoutTagsIsNotDeleted) {
  publish({"cats"_tag});
  const auto owed = publish({});
  ASSERT_EQ(owed.size(), 1U);
  EXPECT_EQ(owed[0].event, changed(clock.wall, removal("cats"_tag)));
  reopen();
  EXPECT_EQ(must(store().find_post(kUri))->tags, Tags{});
  EXPECT_EQ(must(store().find_post(kUri))->former, Tags{"cats"_tag});
  ASSERT_EQ(publish({"dogs"_tag}).size(), 1U);
  EXPECT_EQ(must(store().find_post(kUri))->tags, Tags{"dogs"_tag});
}

TEST_P(RelayStore, AnAuthorsPostsAreThoseWithHashtagsOrThoseThatHadSomeToo) {
  using PostsOf = delivery::Store::PostsOf;
  const auto posts = [&](PostsOf which, const std::string& after = "") {
    return must(store().posts_of(kAuthor, after, 10, which));
  };
  publish({"cats"_tag, "dogs"_tag});
  publish({"cats"_tag});
  ASSERT_EQ(posts(PostsOf::kRelayed).size(), 1U);
  EXPECT_EQ(posts(PostsOf::kRelayed).front().tags, Tags{"cats"_tag});
  EXPECT_EQ(posts(PostsOf::kRelayed).front().former, Tags{"dogs"_tag});
  publish({});
  EXPECT_TRUE(posts(PostsOf::kRelayed).empty());
  ASSERT_EQ(posts(PostsOf::kAll).size(), 1U);
  EXPECT_EQ(posts(PostsOf::kAll).front().former, (Tags{"cats"_tag, "dogs"_tag}));
  EXPECT_TRUE(posts(PostsOf::kAll, kUri).empty());
  remove_post();
  EXPECT_TRUE(posts(PostsOf::kAll).empty());
}

TEST_P(RelayStore, AHashtagThatIsPutBackIsLaterThanItsRemoval) {
  publish({"ants"_tag, "cats"_tag});
  const WallTime second = clock.wall;
  const auto out = edit_at(second, {"ants"_tag});
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].event, changed(second, removal("cats"_tag)));
  // Its server names the second. What was there all the time stays as it was.
  const auto back = edit_at(second, {"ants"_tag, "cats"_tag});
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0].event, changed(second + Duration(1), add("cats"_tag)));
  EXPECT_EQ(outbox().back().event.changed, second + Duration(1));
  // Or it does not say when: then it is now.
  clock.wall += std::chrono::minutes(1);
  EXPECT_EQ(publish({"ants"_tag}).at(0).event.changed, clock.wall);
  clock.wall += std::chrono::minutes(1);
  EXPECT_EQ(publish({"ants"_tag, "cats"_tag}).at(0).event.changed, clock.wall);
}

TEST_P(RelayStore, WhenTheNewestPostWasWrittenIsKnownWhereAnOlderProgramDidNotNoteIt) {
  const auto write = [&](std::int64_t published) {
    const std::string uri = "https://a.example/" + std::to_string(published);
    must(store().publish({uri, kAuthor, at(published), {"cats"_tag}}, 1));
  };
  EXPECT_EQ(must(store().newest_post()), WallTime::min());
  write(10);
  write(30);
  write(20);
  EXPECT_EQ(must(store().newest_post()), at(30));
  must(stores->database->write(
      [](Connection& db) { return db.execute("DELETE FROM counters WHERE name = 'posts:newest'"); }));
  EXPECT_EQ(must(store().newest_post()), at(30));
  write(25);
  EXPECT_EQ(must(store().newest_post()), at(30));
  write(40);
  EXPECT_EQ(must(store().newest_post()), at(40));
}

TEST_P(RelayStore, WhatIsOlderThanTheLastEditOwesNothing) {
  publish({"cats"_tag});
  edit_at(clock.wall, {"cats"_tag, "dogs"_tag});
  EXPECT_TRUE(edit_at(clock.wall - std::chrono::seconds(2), {"cats"_tag}).empty());
  EXPECT_TRUE(must(store().publish({kUri, kAuthor, at(5), {"bees"_tag}}, 2)).empty()) << "the Create, late";
  EXPECT_EQ(must(store().find_post(kUri))->tags, (Tags{"cats"_tag, "dogs"_tag}));
}

// [Mastodon shows a post without `updated` until it is edited, and for three minutes after that]
TEST_P(RelayStore, WhatACacheMayHaveShownUndatedIsOlderThanTheEditsSince) {
  const auto shown = [&](WallTime as_of) {
    PublishedPost post{kUri, kAuthor, at(5), {"cats"_tag}};
    post.is_edit = true;
    post.as_of = as_of;
    return must(store().publish(std::move(post), 2));
  };
  must(store().bury(kUri, clock.wall));
  EXPECT_TRUE(shown(clock.wall - std::chrono::minutes(3)).empty()) << "of a post that was not known";
  edit_at(clock.wall, {"dogs"_tag});
  EXPECT_TRUE(shown(clock.wall - std::chrono::minutes(3)).empty());
  EXPECT_EQ(shown(clock.wall + std::chrono::seconds(1)).size(), 2U);
}

TEST_P(RelayStore, ADeletionIsForEverUnderTheTagsThatThePostHadBefore) {
  publish({"ants"_tag, "cats"_tag});
  publish({"cats"_tag});
  const auto owed = remove_post();
  ASSERT_EQ(owed.size(), 2U);
  EXPECT_EQ(owed[0].event, removal("cats"_tag));
  EXPECT_EQ(owed[1].event, removal("ants"_tag));
}

TEST_P(RelayStore, APutBackWithACopyIsAnEditForWhoGotThePostBefore) {
  publish({"cats"_tag});
  edit({}, "copy https://tags.a.example");
  const auto back = edit({"cats"_tag}, "other https://tags.a.example");
  ASSERT_EQ(back.size(), 2U);
  EXPECT_FALSE(back[0].event.is_edit());
  EXPECT_TRUE(back[1].event.is_edit());
}

TEST_P(RelayStore, WhatItsServerSignedOfAPostGoesToTheTagsThatItHadAsWell) {
  publish({"ants"_tag, "bees"_tag, "cats"_tag});
  edit({"bees"_tag, "cats"_tag}, "");
  const auto edited = edit({"cats"_tag}, "copy https://tags.a.example");
  ASSERT_EQ(edited.size(), 3U);
  for (const OutboxEntry& entry : edited) EXPECT_EQ(entry.event.signed_copy, "copy https://tags.a.example");
  EXPECT_EQ(edited[0].event.op, Op::kRemove);
  EXPECT_EQ(edited[0].event.tag, "bees"_tag);
  EXPECT_EQ(edited[1].event.op, Op::kAdd);
  EXPECT_EQ(edited[1].event.tag, "cats"_tag);
  EXPECT_EQ(edited[2].event.op, Op::kRemove);
  EXPECT_EQ(edited[2].event.tag, "ants"_tag);
  const auto deleted = remove_post("other https://tags.a.example");
  Tags told;
  for (const OutboxEntry& entry : deleted) told.push_back(entry.event.tag);
  std::ranges::sort(told);
  EXPECT_EQ(told, (Tags{"ants"_tag, "bees"_tag, "cats"_tag}));
  EXPECT_TRUE(remove_post("third https://tags.a.example").empty());
}

// It may be found gone before its server says so.
TEST_P(RelayStore, TheFirstSignedCopyOfADeletionIsOwedToTheTagsThatThePostHadAndNoOther) {
  publish({"ants"_tag, "cats"_tag});
  publish({"cats"_tag});
  EXPECT_FALSE(must(store().find_unsigned_deletion(kUri))) << "it is there";
  remove_post();
  reopen();
  ASSERT_TRUE(must(store().find_unsigned_deletion(kUri)));
  EXPECT_EQ(must(store().find_unsigned_deletion(kUri))->former, (Tags{"ants"_tag, "cats"_tag}));
  EXPECT_TRUE(remove_post().empty());
  const auto owed = remove_post("copy https://tags.a.example");
  ASSERT_EQ(owed.size(), 2U);
  EXPECT_EQ(owed[0].event.tag, "ants"_tag);
  EXPECT_EQ(owed[1].event.tag, "cats"_tag);
  for (const OutboxEntry& entry : owed) {
    EXPECT_TRUE(entry.event.is_deletion());
    EXPECT_EQ(entry.event.signed_copy, "copy https://tags.a.example");
  }
  EXPECT_FALSE(must(store().find_unsigned_deletion(kUri)));
  EXPECT_TRUE(remove_post("other https://tags.a.example").empty());
  EXPECT_TRUE(publish({"cats"_tag}).empty()) << "it stays deleted";
  EXPECT_FALSE(must(store().find_post(kUri)));
}

TEST_P(RelayStore, ARemovalIsNewsAgainWithACopyOfItsOwn) {
  accept({add("cats"_tag)});
  TagEvent with_copy = removal("cats"_tag);
  with_copy.signed_copy = "copy https://tags.a.example";
  EXPECT_TRUE(accept({removal("cats"_tag)})[0].fresh);
  EXPECT_FALSE(accept({removal("cats"_tag)})[0].fresh);
  EXPECT_EQ(must(store().news_of({with_copy})).size(), 1U);
  EXPECT_TRUE(accept({with_copy})[0].fresh);
  EXPECT_EQ(must(store().news_of({with_copy})).size(), 0U);
  EXPECT_FALSE(accept({with_copy})[0].fresh);
  EXPECT_FALSE(accept({add("cats"_tag)})[0].fresh) << "it is removed";
}

TEST_P(RelayStore, WhatIsPutOffWaitsUntilItIsDueAndIsBounded) {
  const auto put_off = [&](const std::string& uri, const std::string& author, std::int64_t due) {
    return must(store().put_off({uri, author, at(5), {"cats"_tag, "dogs"_tag}}, at(due)));
  };
  EXPECT_TRUE(put_off("https://a.example/2", kAuthor, 20));
  EXPECT_TRUE(put_off("https://a.example/1", kAuthor, 10));
  reopen();
  EXPECT_EQ(must(store().put_off_until(at(9), 9)).size(), 0U);
  ASSERT_EQ(must(store().put_off_until(at(20), 9)).size(), 2U);
  EXPECT_EQ(must(store().put_off_until(at(20), 9))[0].tags, (Tags{"cats"_tag, "dogs"_tag}));
  for (std::uint64_t i = 3; i <= delivery::Store::kPutOffOfAuthorMax; ++i)
    EXPECT_TRUE(put_off("https://a.example/" + std::to_string(i), kAuthor, 30));
  EXPECT_FALSE(put_off("https://a.example/x", kAuthor, 30));
  EXPECT_TRUE(put_off("https://a.example/2", kAuthor, 30)) << "it waits already";
  EXPECT_TRUE(put_off("https://a.example/y", kAuthor + "2", 30));
  EXPECT_EQ(must(store().count_put_off()), delivery::Store::kPutOffOfAuthorMax + 1);
  EXPECT_TRUE(put_off("https://a.example/z", kAuthor + "2", 30));
  must(store().drop_put_off("https://a.example/y", at(29)));
  EXPECT_EQ(must(store().count_put_off()), delivery::Store::kPutOffOfAuthorMax + 2) << "it is not due yet";
  must(store().drop_put_off("https://a.example/y", at(30)));
  must(store().drop_put_off_of(kAuthor + "2"));
  EXPECT_EQ(must(store().count_put_off()), delivery::Store::kPutOffOfAuthorMax);
}

// Or as many as are tried at once of servers that are down would keep all others from their turn.
TEST_P(RelayStore, WhatIsPutOffAgainIsBehindWhatWasDueBeforeIt) {
  const auto put_off = [&](const std::string& uri, std::int64_t due) {
    EXPECT_TRUE(must(store().put_off({uri, kAuthor, at(5), {"cats"_tag}}, at(due))));
  };
  const auto first = [&] { return must(store().put_off_until(at(40), 1)).at(0).uri; };
  put_off("https://a.example/1", 10);
  put_off("https://a.example/2", 10);
  put_off("https://a.example/3", 20);
  EXPECT_EQ(first(), "https://a.example/1");
  put_off("https://a.example/1", 30);
  EXPECT_EQ(first(), "https://a.example/2");
  put_off("https://a.example/2", 30);
  EXPECT_EQ(first(), "https://a.example/3");
}

// Of a domain there may be as many hosts as somebody likes.
TEST_P(RelayStore, OneDomainLeavesHalfOfWhatMayBePutOffToOthers) {
  const auto put_off = [&](const std::string& origin, const std::string& name) {
    return must(store().put_off({origin + name, origin, at(5), {}}, at(20)));
  };
  must(stores->database->write([](Connection& db) -> Result<std::int64_t> {
    for (std::uint64_t i = 0; i < delivery::Store::kPutOffMax / 2; ++i) {
      const std::string origin = "https://host" + std::to_string(i / 200) + ".flood.example";
      TRY_VOID(db.send("INSERT INTO put_off(uri, author, published, tags, due) VALUES(?, ?, ?, '', ?)",
                       origin + "/" + std::to_string(i), origin, at(5), at(20)));
    }
    return 0;
  }));
  EXPECT_FALSE(put_off("https://another.flood.example", "/1"));
  EXPECT_TRUE(put_off("https://host0.flood.example", "/0")) << "it waits already";
  EXPECT_TRUE(put_off("https://honest.example", "/1"));
  EXPECT_FALSE(put_off("https://another.flood.example", "/1"));
}

TEST_P(RelayStore, WhatGotItsDateFromAClockThatWasAheadIsDueNow) {
  clock.wall += SteadyDate::kFirstBelievedAfter;
  const WallTime now = clock.wall;
  const WallTime ahead = now + std::chrono::days(365);
  const std::string uri = "https://a.example/1";
  EXPECT_TRUE(must(store().put_off({uri, kAuthor, now, {"cats"_tag}}, ahead)));
  EXPECT_EQ(must(store().put_off_until(now, 9)).size(), 1U);
  must(store().drop_put_off(uri, now));
  EXPECT_EQ(must(store().count_put_off()), 0U);
  must(store().save_look({kAuthor + "2", now - Duration(1), 0}));
  must(store().save_look({kAuthor, ahead, 0}));
  must(store().save_look({kAuthor + "3", now + SqliteRelayStore::kLookWithin, 0}));
  const auto due = must(store().looks_due(now, 9));
  ASSERT_EQ(due.size(), 2U);
  EXPECT_EQ(due[0].author, kAuthor + "2");
  EXPECT_EQ(due[1].author, kAuthor);
  EXPECT_EQ(must(store().looks_due(now, 1)).size(), 1U);
}

TEST_P(RelayStore, WhatIsToBeLookedAtLeavesAloneWhatWaitsForMore) {
  const std::string uri = "https://a.example/1";
  const auto waiting = [&] { return must(store().put_off_until(at(100), 9)); };
  EXPECT_TRUE(must(store().put_off({uri, "https://a.example", at(3), {}}, at(10))));
  must(store().drop_tags_put_off(uri));
  ASSERT_EQ(waiting().size(), 1U);
  EXPECT_TRUE(must(store().put_off({uri, kAuthor, at(5), {"cats"_tag}}, at(20)))) << "now it is known";
  EXPECT_TRUE(must(store().put_off({uri, "https://a.example", at(7), {}}, at(30))));
  EXPECT_EQ(must(store().put_off_until(at(29), 9)).size(), 0U) << "it is looked at later";
  ASSERT_EQ(waiting().size(), 1U);
  EXPECT_EQ(waiting()[0].author, kAuthor);
  EXPECT_EQ(waiting()[0].published, at(5));
  EXPECT_EQ(waiting()[0].tags, Tags{"cats"_tag});
  must(store().drop_tags_put_off(uri));
  EXPECT_EQ(waiting().size(), 0U);
}

TEST_P(RelayStore, ADeletionTakesBackWhatWasPutOff) {
  publish({"cats"_tag});
  must(store().put_off({kUri, kAuthor, at(5), {"dogs"_tag}}, at(9)));
  remove_post();
  EXPECT_EQ(must(store().count_put_off()), 0U);
}

TEST_P(RelayStore, DeletingAnUnknownPostOwesNothing) {
  EXPECT_TRUE(publish({}).empty());
  EXPECT_TRUE(remove_post().empty());
  EXPECT_FALSE(must(store().find_post(kUri)));
  EXPECT_EQ(publish({"cats"_tag}).size(), 1U);
}

TEST_P(RelayStore, ThirtyTwoReplicasFitTheMask) {
  EXPECT_EQ(must(store().publish({kUri, kAuthor, at(1), {"cats"_tag}}, 32)).at(0).replicas_left, 0xFFFFFFFFU);
}

// --- outbox --------------------------------------------------------------------------------------------

TEST_P(RelayStore, AnOutboxEntryLivesUntilEveryReplicaHasAcknowledged) {
  const auto owed = publish({"cats"_tag, "dogs"_tag});
  must(store().acknowledge({{owed[0].seq, 0b01}, {owed[1].seq, 0b11}, {12345, 1}}));
  reopen();
  ASSERT_EQ(outbox().size(), 1U);
  EXPECT_EQ(outbox()[0].seq, owed[0].seq);
  EXPECT_EQ(outbox()[0].replicas_left, 0b10U);
  must(store().acknowledge({{owed[0].seq, 0b01}}));
  EXPECT_EQ(outbox().size(), 1U);
  must(store().acknowledge({{owed[0].seq, 0b10}}));
  EXPECT_TRUE(outbox().empty());
}

TEST_P(RelayStore, TheOutboxIsReadOldestFirstFromAPlace) {
  publish({"a"_tag, "b"_tag, "c"_tag, "d"_tag});
  const auto first = must(store().outbox(0, 2));
  const auto rest = must(store().outbox(first.back().seq, 99));
  ASSERT_EQ(first.size(), 2U);
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[0].event.tag, "c"_tag);
  EXPECT_TRUE(must(store().outbox(UINT64_MAX, 9)).empty());
}

TEST_P(RelayStore, SequenceNumbersAreNeverUsedAgain) {
  const auto owed = publish({"cats"_tag});
  const auto accepted = accept({add("cats"_tag)});
  must(store().acknowledge({{owed[0].seq, 0b11}}));
  must(store().prune_feed(accepted[0].feed_seq, clock.wall + Duration(1)));
  ASSERT_TRUE(outbox().empty());
  ASSERT_TRUE(feed().empty());
  reopen();
  EXPECT_GT(publish({"dogs"_tag}).back().seq, owed[0].seq);
  EXPECT_GT(accept({add("dogs"_tag)})[0].feed_seq, accepted[0].feed_seq);
}

// --- feed ----------------------------------------------------------------------------------------------

TEST_P(RelayStore, NewsAreAcceptedOnceAndInOrder) {
  const auto answers =
      accept({add("cats"_tag), add("dogs"_tag), add("cats"_tag), add("cats"_tag, "https://b.example/2")});
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_TRUE(answers[0].fresh && answers[1].fresh && !answers[2].fresh && answers[3].fresh);
  EXPECT_EQ(answers[2].feed_seq, 0U);
  EXPECT_LT(answers[0].feed_seq, answers[1].feed_seq);
  EXPECT_LT(answers[1].feed_seq, answers[3].feed_seq);
  reopen();
  EXPECT_FALSE(accept({add("dogs"_tag)})[0].fresh);
  const auto entries = feed();
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].event, add("cats"_tag));
  EXPECT_EQ(entries[0].seq, answers[0].feed_seq);
  EXPECT_EQ(feed(entries[0].seq, 1).at(0).event, add("dogs"_tag));
  EXPECT_TRUE(feed(0, 0).empty());
}

TEST_P(RelayStore, ARemovalWinsInEveryOrder) {
  std::vector<TagEvent> events = {add("cats"_tag), removal("cats"_tag), add("cats"_tag), removal("cats"_tag)};
  int order = 0;
  std::ranges::sort(events, {}, &TagEvent::op);
  do {
    std::vector<TagEvent> with_uri = events;
    for (TagEvent& e : with_uri) e.uri += std::to_string(order);
    const std::uint64_t before = feed().empty() ? 0 : feed().back().seq;
    for (const TagEvent& e : with_uri) accept({e});
    std::vector<Op> announced;
    for (const FeedEntry& entry : feed(before)) announced.push_back(entry.event.op);
    // An Add at most before, never after.
    if (events.front().op == Op::kAdd) {
      EXPECT_EQ(announced, (std::vector{Op::kAdd, Op::kRemove}));
    } else {
      EXPECT_EQ(announced, std::vector{Op::kRemove});
    }
    EXPECT_FALSE(accept({with_uri[0]})[0].fresh);
    ++order;
  } while (std::ranges::next_permutation(events, {}, &TagEvent::op).found);
  EXPECT_EQ(order, 6);
}

TEST_P(RelayStore, WhatIsAcceptedForStorageIsOwedToItsOwners) {
  TagEvent cats = add("cats"_tag);
  cats.indexable = true;
  const auto answers = accept({cats, cats, removal("dogs"_tag), add("not_to_be_found"_tag)}, 4);
  EXPECT_TRUE(answers[3].fresh);
  EXPECT_EQ(answers[3].outbox_seq, 0U);
  EXPECT_NE(answers[0].outbox_seq, 0U);
  EXPECT_EQ(answers[1].outbox_seq, 0U);
  const auto owed = outbox();
  ASSERT_EQ(owed.size(), 2U);
  EXPECT_EQ(owed[0].seq, answers[0].outbox_seq);
  EXPECT_EQ(owed[0].ring, Ring::kStorage);
  EXPECT_EQ(owed[0].replicas_left, 0b1111U);
  EXPECT_EQ(owed[0].event, cats);
  EXPECT_EQ(owed[1].event, removal("dogs"_tag));
  EXPECT_EQ(accept({add("birds"_tag)})[0].outbox_seq, 0U);
}

TEST_P(RelayStore, TheFeedOfASegmentIsThatOfItsTagsEvenAcrossZero) {
  Rng rng(4);
  std::vector<TagEvent> events;
  for (int i = 0; i < 400; ++i) events.push_back(add(numbered(rng.below(30)), kUri + std::to_string(i)));
  accept(events);
  const auto all = feed();
  for (int round = 0; round < 50; ++round) {
    Segment segment{numbered(rng.below(30)).key(), numbered(rng.next()).key()};
    if (round % 10 == 0) segment.to = segment.from;
    std::vector<std::uint64_t> expected;
    for (const FeedEntry& entry : all) {
      if (segment.contains(entry.event.tag.key())) expected.push_back(entry.seq);
    }
    std::vector<std::uint64_t> read;
    const std::size_t limit = 1 + rng.below(50);
    for (;;) {
      const auto part = must(store().feed_of_segment(segment, read.empty() ? 0 : read.back(), limit));
      for (const FeedEntry& entry : part) read.push_back(entry.seq);
      if (part.size() < limit) break;
    }
    ASSERT_EQ(read, expected);
  }
}

TEST_P(RelayStore, ASparseSegmentIsFoundInALongFeed) {
  std::vector<TagEvent> events;
  for (int i = 0; i < 25'000; ++i) events.push_back(add("common"_tag, std::to_string(i)));
  events.push_back(add("rare"_tag));
  accept(std::move(events));
  const RingId key = "rare"_tag.key();
  const auto found = must(store().feed_of_segment({key - RingId::power_of_two(0), key}, 0, 10));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].event.tag, "rare"_tag);
}

// Where the clock was set back more is seen, not less.
TEST_P(RelayStore, APlaceInTheFeedIsFoundByTheTime) {
  const WallTime start = clock.wall;
  const auto enter_at = [&](Duration after, const std::string& uri) {
    clock.wall = start + after;
    return accept({add("cats"_tag, uri)})[0].feed_seq;
  };
  const auto place_at = [&](Duration after) { return must(store().feed_start(start + after)); };
  EXPECT_EQ(place_at({}), 0U);
  const std::uint64_t first = enter_at(std::chrono::minutes(0), "1");
  const std::uint64_t second = enter_at(std::chrono::minutes(60), "2");
  EXPECT_EQ(place_at({}), first - 1);
  EXPECT_EQ(place_at(Duration(1)), first);
  EXPECT_EQ(place_at(std::chrono::minutes(61)), second);
  const std::uint64_t third = enter_at(std::chrono::minutes(10), "3");
  EXPECT_EQ(place_at(std::chrono::minutes(5)), first) << "the second is later, too";
  EXPECT_EQ(place_at(std::chrono::minutes(20)), second - 1);
  EXPECT_EQ(place_at(std::chrono::minutes(61)), third);
  enter_at(std::chrono::minutes(-60), "4");
  EXPECT_EQ(place_at({}), first - 1);
  must(store().prune_feed(third + 1, start + std::chrono::hours(2)));
  EXPECT_EQ(place_at({}), third + 1);
}

TEST_P(RelayStore, PruningTakesWhatIsBothDeliveredAndOld) {
  const auto first = accept({add("cats"_tag, "1")});
  clock.wall += std::chrono::hours(1);
  const WallTime later = clock.wall;
  const auto second = accept({add("cats"_tag, "2")});
  must(store().prune_feed(first[0].feed_seq - 1, later + Duration(1)));
  EXPECT_EQ(feed().size(), 2U);
  must(store().prune_feed(second[0].feed_seq, later));
  ASSERT_EQ(feed().size(), 1U);
  EXPECT_EQ(feed()[0].seq, second[0].feed_seq);
}

TEST_P(RelayStore, TheEndOfTheFeedIsItsLatestPlace) {
  EXPECT_EQ(must(store().feed_end()), 0U);
  const auto accepted = accept({add("cats"_tag, "1"), add("cats"_tag, "2")});
  EXPECT_EQ(must(store().feed_end()), accepted[1].feed_seq);
  must(store().prune_feed(accepted[0].feed_seq, clock.wall + Duration(1)));
  EXPECT_EQ(must(store().feed_end()), accepted[1].feed_seq);
}

TEST_P(RelayStore, PruningManyEntriesTakesThemAll) {
  std::vector<TagEvent> events;
  for (int i = 0; i < 5'001; ++i) events.push_back(add("cats"_tag, std::to_string(i)));
  accept(std::move(events));
  clock.wall += std::chrono::days(40);
  const auto last = accept({add("cats"_tag, "last")});
  must(store().prune_feed(last[0].feed_seq - 1, clock.wall));
  EXPECT_EQ(feed().size(), 1U);
  must(store().prune_feed(last[0].feed_seq, clock.wall + Duration(1)));
  EXPECT_TRUE(accept({add("cats"_tag, "0")})[0].fresh);
  EXPECT_TRUE(accept({add("cats"_tag, "5000")})[0].fresh);
}

TEST_P(RelayStore, WhatWasAnnouncedIsRememberedForThirtyDaysAfterItIsPruned) {
  accept({add("cats"_tag), removal("dogs"_tag)});
  clock.wall += std::chrono::days(1);
  must(store().prune_feed(UINT64_MAX, clock.wall));
  ASSERT_TRUE(feed().empty());
  clock.wall += std::chrono::days(28);
  must(store().prune_feed(UINT64_MAX, clock.wall));
  EXPECT_FALSE(accept({add("cats"_tag)})[0].fresh);
  EXPECT_FALSE(accept({add("dogs"_tag)})[0].fresh);
  // The removal begins the time anew.
  EXPECT_TRUE(accept({removal("cats"_tag)})[0].fresh);
  clock.wall += std::chrono::days(3);
  must(store().prune_feed(UINT64_MAX, clock.wall));
  EXPECT_FALSE(accept({add("cats"_tag)})[0].fresh);
  EXPECT_TRUE(accept({add("dogs"_tag)})[0].fresh);
}

TEST_P(RelayStore, WhatIsStillInTheFeedIsRememberedHoweverOld) {
  accept({add("cats"_tag)});
  clock.wall += std::chrono::days(100);
  must(store().prune_feed(0, clock.wall));
  EXPECT_FALSE(accept({add("cats"_tag)})[0].fresh);
}

// --- followers -----------------------------------------------------------------------------------------

TEST_P(RelayStore, ANewFollowerStartsAtTheEndOfTheFeedUnlessToldOtherwise) {
  const std::uint64_t end = accept({add("cats"_tag), add("dogs"_tag)})[1].feed_seq;
  must(store().prune_feed(end, clock.wall + Duration(1)));
  Follower early = follower("cats"_tag, "https://f.example/early");
  early.since = 1;
  const auto stored = must(store().follow({follower("cats"_tag, "https://f.example/new"), early}));
  EXPECT_EQ(stored.at(0).since, end);
  EXPECT_EQ(stored.at(1).since, 1U);
}

TEST_P(RelayStore, AReplacedFollowerKeepsItsSince) {
  must(store().follow({follower("cats"_tag, "https://f.example/a")}));
  accept({add("cats"_tag)});
  Follower again = follower("cats"_tag, "https://f.example/a", "https://f.example/other");
  again.follow_id = "https://f.example/follow/2";
  again.via = delivery::Via::kNode;
  again.since = 99;
  auto expected = again;
  expected.since = 0;
  EXPECT_EQ(must(store().follow({again})), std::vector{expected});
  reopen();
  EXPECT_EQ(must(store().followers(std::nullopt, "", 9)), std::vector{expected});
}

TEST_P(RelayStore, FollowersAreListedByTagAndActor) {
  must(store().follow({follower("dogs"_tag, "https://f.example/a"),
                       follower("cats"_tag, "https://f.example/b"),
                       follower("cats"_tag, "https://f.example/a")}));
  const auto first = must(store().followers(std::nullopt, "", 2));
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].actor, "https://f.example/a");
  EXPECT_EQ(first[1].actor, "https://f.example/b");
  const auto rest = must(store().followers(first[1].tag, first[1].actor, 9));
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].tag, "dogs"_tag);
}

TEST_P(RelayStore, UnfollowIgnoresStrangers) {
  must(store().follow({follower("cats"_tag, "https://f.example/a")}));
  must(store().unfollow({{"cats"_tag, "https://f.example/b"}, {"dogs"_tag, "https://f.example/a"}}));
  EXPECT_EQ(must(store().followers(std::nullopt, "", 9)).size(), 1U);
  must(store().unfollow({{"cats"_tag, "https://f.example/a"}}));
  EXPECT_TRUE(must(store().followers(std::nullopt, "", 9)).empty());
  const RingId key = "cats"_tag.key();
  EXPECT_TRUE(must(store().nodes_of_segment({key, key}, std::nullopt, "", 9)).empty());
}

TEST_P(RelayStore, WhatWasGotAsFromARelayIsRememberedOnTheDayOnWhichThatEnds) {
  using Stretches = delivery::Store::Stretches;
  const std::string inbox = "https://f.example/inbox";
  Follower relay = follower("cats"_tag, "https://f.example/relay", inbox);
  relay.via = delivery::Via::kRelay;
  Follower person = follower("cats"_tag, "https://g.example/a", "https://g.example/inbox");
  std::uint64_t place = accept({add("cats"_tag, "https://a.example/0")})[0].feed_seq;
  Stretches expected;
  for (int i = 1; i <= 2; ++i) {
    must(store().follow({relay, person}));
    expected.emplace_back(place,
                          accept({add("cats"_tag, "https://a.example/" + std::to_string(i))})[0].feed_seq);
    must(store().unfollow({{relay.tag, relay.actor}, {person.tag, person.actor}}));
    place = accept({add("dogs"_tag, "https://a.example/" + std::to_string(i))})[0].feed_seq;
  }
  reopen();
  EXPECT_EQ(must(store().left_today(inbox, {"dogs"_tag, "cats"_tag})), (std::vector{Stretches(), expected}));
  EXPECT_EQ(must(store().left_today(person.inbox, {"cats"_tag})), std::vector<Stretches>(1));
  clock.wall += std::chrono::days(1);
  EXPECT_EQ(must(store().left_today(inbox, {"cats"_tag})), std::vector<Stretches>(1));
  must(store().follow({relay}));
  accept({add("cats"_tag, "https://a.example/3")});
  must(store().unfollow({{relay.tag, relay.actor}}));
  EXPECT_EQ(count_rows("SELECT count(*) FROM counters WHERE name LIKE 'left%'"), 1);
}

TEST_P(RelayStore, KnowsUntilWhenPostsWereKnownUntilItIsToldThatAllWasRead) {
  using enum delivery::Store::KnownOf;
  EXPECT_EQ(must(store().known_until(kSources)), std::nullopt);
  must(store().save_known_until(kSources, at(5)));
  must(store().save_known_until(kSources, at(4)));
  must(store().save_known_until(kPeopleOfInstances, at(7)));
  reopen();
  EXPECT_EQ(must(store().known_until(kSources)), at(4));
  EXPECT_EQ(must(store().known_until(kPeopleOfInstances)), at(7));
  must(store().save_known_until(kSources, std::nullopt));
  EXPECT_EQ(must(store().known_until(kSources)), std::nullopt);
  EXPECT_EQ(must(store().known_until(kPeopleOfInstances)), at(7));
}

TEST_P(RelayStore, WhoWroteEachPostComesByUriAStretchAtATime) {
  for (const int number : {3, 1, 2}) {
    PublishedPost post{"https://a.example/" + std::to_string(number),
                       "https://a.example/users/" + std::to_string(number % 2),
                       at(10 - number),
                       {"cats"_tag}};
    must(store().publish(post, 1));
    post.tags.clear();
    post.is_edit = true;
    if (number == 2) must(store().publish(std::move(post), 1));
  }
  using Lines = std::vector<std::string>;
  const auto after = [&](const std::string& uri, std::size_t limit) {
    Lines lines;
    for (const auto& written : must(store().written_after(uri, limit)))
      lines.push_back(fmt::format("{} {} {} {}", written.uri, written.author,
                                  (written.published - at(0)).count(), written.has_tags));
    return lines;
  };
  const Lines all = {
      "https://a.example/1 https://a.example/users/1 " + std::to_string((at(9) - at(0)).count()) + " true",
      "https://a.example/2 https://a.example/users/0 " + std::to_string((at(8) - at(0)).count()) + " false",
      "https://a.example/3 https://a.example/users/1 " + std::to_string((at(7) - at(0)).count()) + " true"};
  EXPECT_EQ(after("", 9), all);
  EXPECT_EQ(after("", 2), (Lines{all[0], all[1]}));
  EXPECT_EQ(after("https://a.example/2", 2), Lines{all[2]});
  EXPECT_EQ(after("https://a.example/3", 2), Lines());
}

TEST_P(RelayStore, NodesOfASegmentComeClockwiseAcrossZeroWithoutGapsOrRepeats) {
  Rng rng(9);
  std::vector<Follower> everybody;
  for (int i = 0; i < 200; ++i) {
    everybody.push_back(follower(numbered(rng.below(25)), "https://f.example/" + std::to_string(i)));
    if (rng.chance(0.7)) everybody.back().via = delivery::Via::kNode;
  }
  must(store().follow(everybody));
  for (int round = 0; round < 100; ++round) {
    Segment segment{numbered(rng.below(25)).key(), numbered(rng.below(25)).key()};
    std::vector<Follower> expected;
    std::ranges::copy_if(everybody, std::back_inserter(expected), [&](const Follower& f) {
      return f.via == delivery::Via::kNode && segment.contains(f.tag.key());
    });
    std::ranges::sort(expected, {}, [&](const Follower& f) {
      return std::pair(f.tag.key() - segment.from - RingId::power_of_two(0), f.actor);
    });
    std::vector<Follower> read;
    const std::size_t limit = 1 + rng.below(30);
    for (;;) {
      const auto last = read.empty() ? std::nullopt : std::optional(read.back().tag);
      const std::string actor = read.empty() ? "" : read.back().actor;
      const auto part = must(store().nodes_of_segment(segment, last, actor, limit));
      read.insert(read.end(), part.begin(), part.end());
      if (part.size() < limit) break;
    }
    ASSERT_EQ(read, expected);
  }
}

TEST_P(RelayStore, LettersWaitUntilTheyAreDropped) {
  const federation::Letter first =
      must(store().write_letter({0, "https://t.example/actor", "https://a.example/inbox", "{}", {}}));
  const federation::Letter second =
      must(store().write_letter({0, "https://t.example/actor", "https://b.example/inbox", "{}", {}}));
  EXPECT_LT(first.seq, second.seq);
  EXPECT_EQ(first.written, clock.wall);
  reopen();
  const auto waiting = must(store().letters(0, 9));
  ASSERT_EQ(waiting.size(), 2U);
  EXPECT_EQ(waiting[0].inbox, "https://a.example/inbox");
  must(store().drop_letter(first.seq));
  must(store().drop_letter(first.seq));
  EXPECT_EQ(must(store().letters(0, 9)).size(), 1U);
  EXPECT_EQ(must(store().letters(second.seq, 9)).size(), 0U);
}

TEST_P(RelayStore, CursorsNeverGoBackAndGoWithTheLastFollower) {
  using Cursor = delivery::Store::Cursor;
  const std::string inbox = "https://f.example/inbox";
  must(store().follow(
      {follower("cats"_tag, "https://f.example/a"), follower("dogs"_tag, "https://f.example/a")}));
  must(store().advance({{inbox, {7}}}, {}));
  must(store().advance({{inbox, {5, at(3), at(4), 20, 6, at(5)}}}, {}));
  reopen();
  EXPECT_EQ(must(store().cursors()), (delivery::Store::Cursors{{inbox, {7, at(3), at(4), 20, 6, at(5)}}}));
  must(store().advance({{inbox, {8}}}, {}));
  EXPECT_EQ(must(store().cursors()).at(inbox), Cursor{8}) << "it takes something again";
  must(store().unfollow({{"cats"_tag, "https://f.example/a"}}));
  EXPECT_EQ(must(store().cursors()).size(), 1U);
  // Moves to another inbox.
  must(store().follow({follower("dogs"_tag, "https://f.example/a", "https://f.example/shared")}));
  EXPECT_TRUE(must(store().cursors()).empty());
}

TEST_P(RelayStore, NotesGatherBesideTheirEntryAndGoWithIt) {
  accept({add("ants"_tag), add("cats"_tag), add("dogs"_tag)});
  must(store().advance({}, {{1, "a"}, {3, "b"}, {99, "c"}}));
  must(store().advance({}, {{1, "d"}}));
  reopen();
  EXPECT_EQ(must(store().notes(0, 3)), (delivery::Store::Notes{{1, "ad"}, {3, "b"}}));
  EXPECT_EQ(must(store().notes(1, 2)), delivery::Store::Notes());
  clock.wall += std::chrono::days(1);
  must(store().prune_feed(1, clock.wall));
  EXPECT_EQ(must(store().notes(0, 3)), (delivery::Store::Notes{{3, "b"}}));
}

TEST_P(RelayStore, ARemovalKnowsThePlaceOfWhatItTakesBack) {
  accept({add("ants"_tag), add("cats"_tag)});
  accept({changed(at(50), add("cats"_tag))});  // people were told before
  EXPECT_EQ(accept({changed(at(100), removal("cats"_tag))}).front().added, 2U);
  EXPECT_EQ(feed().back().added, 2U);
  accept({changed(at(200), add("cats"_tag))});
  const std::uint64_t again = feed().back().seq;
  clock.wall += std::chrono::days(20);
  must(store().prune_feed(UINT64_MAX, clock.wall));
  reopen();
  TagEvent with_copy = removal("cats"_tag);
  EXPECT_EQ(accept({with_copy}).front().added, again);
  with_copy.signed_copy = "copy https://tags.a.example";
  EXPECT_EQ(accept({with_copy}).front().added, again) << "who was told hears of the copy, too";
  EXPECT_EQ(accept({removal("cats"_tag, "https://b.example/2")}).front().added, 0U) << "it was never here";
}

TEST_P(RelayStore, OfWhatStrangersHaveOfADeletionOneCopyCounts) {
  accept({add("cats"_tag), add("dogs"_tag)});
  const auto named = [&](const Tag& tag, const std::string& copy) {
    TagEvent deletion = removal(tag);
    deletion.signed_copy = copy;
    const bool is_news = !must(store().news_of({deletion})).empty();
    EXPECT_EQ(accept({deletion})[0].fresh, is_news);
    return is_news;
  };
  EXPECT_TRUE(accept({removal("cats"_tag)})[0].fresh);
  EXPECT_TRUE(named("cats"_tag, "one https://tags.far.example"));
  EXPECT_FALSE(named("cats"_tag, "two https://tags.far.example"));
  EXPECT_TRUE(named("cats"_tag, "three https://tags.a.example")) << "the server's own node";
  EXPECT_TRUE(named("dogs"_tag, "one https://tags.far.example")) << "one for each hashtag";
  EXPECT_FALSE(named("dogs"_tag, "two https://tags.far.example"));
}

// --- subscriptions -------------------------------------------------------------------------------------

TEST_P(RelayStore, ATagIsWantedWhileItHasAReason) {
  must(store().want({"cats"_tag, "dogs"_tag}, "admin"));
  must(store().want({"cats"_tag}, "https://a.example"));
  must(store().want({"cats"_tag}, "admin"));
  EXPECT_EQ(must(store().wanted(std::nullopt, 9)), (Tags{"cats"_tag, "dogs"_tag}));
  EXPECT_EQ(must(store().wanted("cats"_tag, 9)), Tags{"dogs"_tag});
  EXPECT_EQ(must(store().wanted(std::nullopt, 1)), Tags{"cats"_tag});
  must(store().unwant({"cats"_tag, "dogs"_tag, "birds"_tag}, "admin"));
  reopen();
  EXPECT_EQ(must(store().wanted(std::nullopt, 9)), Tags{"cats"_tag});
  must(store().unwant({"cats"_tag}, "https://a.example"));
  EXPECT_TRUE(must(store().wanted(std::nullopt, 9)).empty());
}

TEST_P(RelayStore, SubscriptionsAreKeptByTagAndOwner) {
  must(store().save_subscriptions(
      {{"cats"_tag, "https://n1.example", "id1", false}, {"cats"_tag, "https://n2.example", "id2", false}}));
  must(store().save_subscriptions({{"cats"_tag, "https://n1.example", "id3", true}}));
  must(store().drop_subscriptions({{"cats"_tag, "https://n2.example"}, {"dogs"_tag, "https://n1.example"}}));
  reopen();
  const auto kept = must(store().subscriptions());
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].owner, "https://n1.example");
  EXPECT_EQ(kept[0].follow_id, "id3");
  EXPECT_TRUE(kept[0].accepted);
}

TEST_P(RelayStore, AHashtagThatIsPutBackIsNewsWithAnAnnounceOfItsOwn) {
  accept({add("cats"_tag)});
  const auto out = accept({changed(at(100), removal("cats"_tag))}).front();
  EXPECT_TRUE(out.fresh);
  EXPECT_EQ(out.announced, WallTime());
  EXPECT_FALSE(accept({changed(at(100), add("cats"_tag))})[0].fresh) << "of the same time the removal counts";
  EXPECT_FALSE(accept({add("cats"_tag)})[0].fresh);
  const auto back = accept({changed(at(200), add("cats"_tag))}, 2).front();
  EXPECT_TRUE(back.fresh);
  EXPECT_EQ(back.announced, at(200));
  EXPECT_FALSE(accept({changed(at(150), removal("cats"_tag))})[0].fresh) << "it came late";
  reopen();
  EXPECT_EQ(feed().back().event.changed, at(200));
  EXPECT_EQ(feed().back().event.announced, at(200));
  EXPECT_EQ(must(store().announced("cats"_tag, {kUri, "https://b.example/2"})),
            (std::vector{at(200), WallTime()}));
  // The Undo is of that Announce, however late it comes.
  clock.wall += std::chrono::days(60);
  must(store().prune_feed(UINT64_MAX, clock.wall));
  EXPECT_EQ(accept({removal("cats"_tag)}).front().announced, at(200));
  EXPECT_FALSE(accept({changed(at(900), add("cats"_tag))})[0].fresh) << "it is deleted";
}

TEST_P(RelayStore, WhatIsPutBackAndWasNeverSeenOutIsForNodes) {
  accept({add("cats"_tag)});
  ASSERT_TRUE(accept({changed(at(200), add("cats"_tag))})[0].fresh);
  EXPECT_TRUE(feed().back().event.is_repeat());
  EXPECT_FALSE(feed().front().event.is_repeat());
  EXPECT_FALSE(accept({changed(at(100), removal("cats"_tag))})[0].fresh);
  const auto out = accept({changed(at(300), removal("cats"_tag))}).front();
  EXPECT_TRUE(out.fresh);
  EXPECT_EQ(out.announced, WallTime()) << "people know the first Announce";
}

TEST_P(RelayStore, ARemovalThatIsLaterThanAnotherIsNewsForWhoHeardWhatCameBetween) {
  accept({add("cats"_tag), changed(at(100), removal("cats"_tag))});
  EXPECT_FALSE(accept({changed(at(100), removal("cats"_tag))})[0].fresh);
  EXPECT_TRUE(accept({changed(at(300), removal("cats"_tag))})[0].fresh)
      << "it was put back at 200, elsewhere";
  EXPECT_TRUE(feed().back().event.is_repeat()) << "people know that it is out";
  EXPECT_FALSE(accept({changed(at(200), add("cats"_tag))})[0].fresh);
  EXPECT_TRUE(accept({removal("cats"_tag)})[0].fresh) << "it is deleted";
  EXPECT_FALSE(accept({removal("cats"_tag)})[0].fresh);
}

TEST_P(RelayStore, ASignedCopyOfARemovalIsOwedToFollowersUntilItIsSettledOrAWeekOld) {
  const auto removed = [](Tag tag) {
    TagEvent event = removal(std::move(tag));
    event.signed_copy = "00ff https://tags.a.example";
    return event;
  };
  const auto owed = [&] { return must(store().copies_owed(0, 10)); };
  accept({add("cats"_tag), add("dogs"_tag), removal("cats"_tag)});
  EXPECT_TRUE(owed().empty());
  const std::uint64_t seq = accept({removed("dogs"_tag)}).front().feed_seq;
  reopen();
  ASSERT_EQ(owed().size(), 1U);
  const auto [entry, since] = owed()[0];
  EXPECT_EQ(entry.seq, seq);
  EXPECT_EQ(entry.event.signed_copy, "00ff https://tags.a.example");
  EXPECT_EQ(entry.event.uri, kUri);
  EXPECT_TRUE(entry.event.is_deletion());
  EXPECT_NE(entry.added, 0U);
  EXPECT_EQ(since, clock.wall);
  must(store().settle_copies({seq}));
  EXPECT_TRUE(owed().empty());
  accept({removed("birds"_tag)});
  clock.wall += delivery::Store::kCopiesFor + std::chrono::seconds(1);
  accept({removed("bees"_tag)});
  EXPECT_EQ(owed().size(), 1U);
  must(store().prune_copies());
  EXPECT_EQ(count_rows("SELECT count(*) FROM copies_owed"), 1);
}

TEST_P(RelayStore, AClockThatIsSetToAnotherDayAndBackTakesNothingWithIt) {
  TagEvent removed = removal("cats"_tag);
  removed.signed_copy = "00ff https://tags.a.example";
  accept({add("cats"_tag)});
  accept({removed});
  must(store().keep_deletion("aa", "{}"));
  must(store().bury(kUri, {}));
  const auto kept = [&] {
    return count_rows("SELECT count(*) FROM copies_owed") +
           count_rows("SELECT count(*) FROM signed_deletions") +
           count_rows("SELECT count(*) FROM buried WHERE uri NOT LIKE '%other%'");
  };
  ASSERT_EQ(kept(), 3);
  for (const Duration by : {std::chrono::days(30), -std::chrono::days(30)}) {
    clock.set_ahead(by);
    must(store().prune_copies());
    must(store().bury("https://a.example/other", {}));
    EXPECT_EQ(kept(), 3);
  }
  // One that stays so is believed.
  clock.set_ahead(std::chrono::days(30));
  must(store().prune_copies());
  clock.wall += std::chrono::days(2);
  must(store().prune_copies());
  must(store().bury("https://a.example/other", {}));
  EXPECT_EQ(kept(), 0);
}

TEST_P(RelayStore, SignedDeletionsAreKeptForAWeekFromTheLastTimeAndNotMoreThanSoMany) {
  const auto find = [&](const std::string& hash) {
    return run(store().find_deletion(hash)).value_or("none");
  };
  must(store().keep_deletion("aa", "{}"));
  reopen();
  EXPECT_EQ(find("aa"), "{}");
  EXPECT_EQ(run(store().find_deletion("bb")).error().code, ErrorCode::kNotFound);
  clock.wall += delivery::Store::kCopiesFor;
  must(store().keep_deletion("bb", "{}"));
  must(store().keep_deletion("aa", "{}"));
  clock.wall += std::chrono::days(1);
  EXPECT_EQ(find("aa"), "{}");
  clock.wall += delivery::Store::kCopiesFor;
  EXPECT_EQ(find("aa"), "none");
  must(store().prune_copies());
  EXPECT_EQ(count_rows("SELECT count(*) FROM signed_deletions"), 0);
  for (int i = 0; i < 30; ++i) must(store().keep_deletion(std::to_string(i), "{}"));
  must(stores->database->write([](sql::Connection& db) {
    return db.send("UPDATE counters SET value = value + ? WHERE name = 'signed_deletions'",
                   delivery::Store::kDeletionsMax - 10);
  }));
  must(store().keep_deletion("last", "{}"));
  EXPECT_EQ(find("9"), "none");
  EXPECT_EQ(find("29"), "{}");
}

TEST_P(RelayStore, NewsAreWhatWouldBeAccepted) {
  Rng rng(7);
  for (int i = 0; i < 300; ++i) {
    TagEvent one =
        event("cats"_tag, rng.chance(0.7) ? Op::kAdd : Op::kRemove, fmt::format("{}{}", kUri, rng.below(9)));
    if (rng.chance(0.3))
      one.signed_copy = fmt::format("{} https://{}.example", rng.below(3), rng.chance(0.5) ? "a" : "b");
    if (rng.chance(0.9)) one.changed = at(static_cast<std::int64_t>(rng.below(1000)));
    const bool is_news = !must(store().news_of({one})).empty();
    EXPECT_EQ(is_news, accept({one}).front().fresh) << i;
  }
}

TEST_P(RelayStore, WhoAsksForActorsOfAnyHashtagDrivesOutOnlyThoseThatNobodyFollows) {
  must(store().follow({follower("cats"_tag, "https://f.example/u")}));
  EXPECT_TRUE(must(store().actor_since(std::nullopt)));
  EXPECT_TRUE(must(store().actor_since("cats"_tag)));
  const auto first = must(store().actor_since("cats"_tag));
  must(stores->database->write([](Connection& db) -> Result<std::int64_t> {
    return db.run(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
        " INSERT INTO actors(tag, since) SELECT 'flood' || i, i FROM n WHERE true ON CONFLICT DO NOTHING",
        delivery::Store::kActorsMax);
  }));
  clock.wall += std::chrono::hours(1);
  EXPECT_EQ(must(store().actor_since("dogs"_tag)), clock.wall);
  EXPECT_EQ(must(store().actor_since("cats"_tag)), first);
  EXPECT_EQ(must(store().actor_since(std::nullopt)), first);
  EXPECT_LE(count_rows("SELECT count(*) FROM actors"),
            static_cast<std::int64_t>(delivery::Store::kActorsMax));
}

}  // namespace
}  // namespace tagring::db
