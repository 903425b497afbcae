// What a node in use has in its database: rows in every table, written by its stores. The files in older/
// were written by this, as far as their versions had these tables; older_test.cpp says what of it is read
// there.
#pragma once

#include <string>

#include "tests/db/fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::db::used_node {

inline const std::string kAlice = "https://a.example/users/alice";
inline const std::string kBob = "https://b.example/users/bob";
inline const std::string kCarol = "https://c.example/users/carol";
inline const std::string kTroll = "https://b.example/users/troll";
inline const std::string kInbox = "https://f.example/inbox";
inline const std::string kGoneInbox = "https://m.example/inbox";
inline const std::string kHash = std::string(64, 'a');
inline const std::string kKey{"\0\xff'", 3};
inline const std::string kOddPost = "https://odd.example/?post=käse";

inline WallTime ago(int minutes) {
  return WallTime(std::chrono::days(20'000)) - std::chrono::minutes(minutes);
}
inline constexpr int kDay = 24 * 60;
inline std::string post(const std::string& author, const char* name) { return author + "/statuses/" + name; }
// As "SHA-256 origin".
inline std::string signed_copy(char digit, const char* origin) {
  return std::string(64, digit) + " " + origin;
}

inline void publish(Stores& stores, delivery::PublishedPost post) {
  must(stores.relay.publish(std::move(post), 3));
}
inline void posts(Stores& stores) {
  const std::vector both{"cats"_tag, "dogs"_tag};
  const std::vector cats{"cats"_tag};
  publish(stores, {post(kAlice, "1"), kAlice, ago(60), both, true});
  publish(stores, {post(kAlice, "2"), kAlice, ago(50), both, true});
  publish(stores, {.uri = post(kAlice, "2"),
                   .author = kAlice,
                   .published = ago(50),
                   .tags = cats,
                   .indexable = true,
                   .signed_copy = signed_copy('1', "https://a.example"),
                   .changed = ago(40)});
  publish(stores, {post(kAlice, "3"), kAlice, ago(45), cats, true});
  publish(stores,
          {.uri = post(kAlice, "3"), .author = kAlice, .published = ago(45), .tags = {}, .deleted = true});
  publish(stores, {post(kAlice, "4"), kAlice, ago(44), cats});
  publish(stores, {post(kAlice, "4"), kAlice, ago(44), {}});
  publish(stores, {post(kBob, "1"), kBob, ago(30), {"dogs"_tag}});
  must(stores.relay.put_off({post(kAlice, "5"), kAlice, ago(1), both}, ago(-5)));
  must(stores.relay.acknowledge({{1, 0b001}, {2, 0b111}}));
  must(stores.relay.save_consent(kAlice, {true, true}));
  must(stores.relay.save_consent(kBob, {false, false, ago(20)}));
  must(stores.relay.save_look({kAlice, ago(-kDay), 0}));
  must(stores.relay.bury(post(kBob, "deleted"), {}));
  must(stores.relay.bury(post(kBob, "edited"), ago(3)));
}

inline void accept(Stores& stores, delivery::TagEvent event, unsigned replicas) {
  must(stores.relay.accept({std::move(event)}, replicas));
}
inline void feed(Stores& stores) {
  using enum delivery::Op;
  accept(stores, {"cats"_tag, kAdd, post(kCarol, "1"), kCarol, ago(120), true}, 2);
  accept(stores, {"dogs"_tag, kAdd, post(kCarol, "1"), kCarol, ago(120), true}, 2);
  accept(stores, {"cats"_tag, kAdd, post(kCarol, "2"), kCarol, ago(110), true}, 2);
  accept(stores,
         {"cats"_tag, kRemove, post(kCarol, "2"), kCarol, ago(110), false,
          signed_copy('2', "https://c.example")},
         2);
  delivery::TagEvent event{"cats"_tag, kAdd, post(kCarol, "3"), kCarol, ago(100), true};
  accept(stores, event, 0);
  event.op = kRemove;
  event.changed = ago(90);
  accept(stores, event, 0);
  event.op = kAdd;
  event.changed = event.announced = ago(80);
  accept(stores, event, 0);
  must(stores.relay.prune_feed(1, WallTime::max()));
  must(stores.relay.owe(Ring::kRelay, {{"birds"_tag, kAdd, post(kCarol, "9"), kCarol, ago(10)}},
                        /*replicas=*/2));
  must(stores.relay.keep_deletion(kHash, "{\"type\":\"Delete\"}"));
}

inline void followers(Stores& stores) {
  using enum delivery::Via;
  must(stores.relay.follow(
      {{"cats"_tag, "https://f.example/users/f", kInbox, "https://f.example/follows/1", kBoost},
       {"cats"_tag, "https://n.example/actor", "https://n.example/inbox", "https://n.example/follows/1",
        kNode},
       {"dogs"_tag, "https://m.example/actor", kGoneInbox, "https://m.example/follows/1", kTagRelay, 1},
       {"dogs"_tag, "https://g.example/users/g", "https://g.example/inbox", "https://g.example/follows/1",
        kBoost}}));
  must(stores.relay.unfollow({{"dogs"_tag, "https://g.example/users/g"}}));
  must(stores.relay.advance({{kInbox, {4}}, {kGoneInbox, {2, ago(500), ago(400), 3, 5, ago(300)}}},
                            {{2, "+AAAAAAAAAAE"}}));
  for (const char* tag : {"cats", "dogs"})
    must(stores.relay.write_letter(
        {0, std::string("https://us.example/tags/") + tag, kGoneInbox, "{\"of\":\"käse\"}", {}}));
  must(stores.relay.drop_letter(1));
  must(stores.relay.want({"cats"_tag, "dogs"_tag}, "admin"));
  must(stores.relay.want({"cats"_tag}, "home.example"));
  must(stores.relay.save_subscriptions(
      {{"cats"_tag, "https://o.example", "https://us.example/follows/1", true},
       {"dogs"_tag, "https://p.example", "https://us.example/follows/2", false}}));
  must(stores.relay.actor_since("cats"_tag));
  must(stores.relay.actor_since(std::nullopt));
}

inline void instances(Stores& stores) {
  const std::string us = "https://us.example/actor";
  must(stores.instances.permit({"home.example", true, false}));
  must(stores.instances.save_link({"https://home.example/actor", us, "home.example",
                                   "https://home.example/inbox", "https://home.example/inbox",
                                   "{\"type\":\"Follow\"}", instances::Style::kMastodon, true, ago(70)}));
  must(stores.instances.save_link({"https://pl.example/relay", us, "pl.example",
                                   "https://pl.example/relay/inbox", "https://pl.example/inbox", "{}",
                                   instances::Style::kLitePub, false, ago(71)}));
  must(stores.instances.save_own_follow({us, "https://pl.example/relay", "https://pl.example/relay/inbox",
                                         "https://us.example/follows/3", true, ago(72)}));
  must(stores.instances.save_tag_source("home.example", "admin", {"cats", "dogs"}));
  for (const char* id : {"https://f.example/follows/0", "https://f.example/follows/1"})
    must(stores.instances.note_follow("https://f.example/users/f", "cats", id, ago(5)));
}

inline void moderation(Stores& stores) {
  using enum federation::BlockKind;
  must(stores.blocks.save_blocks({{kDomain, "bad.example", "spam", "admin", ago(1000)},
                                  {kDomain, "bad.example", "on a list", "list", ago(997)},
                                  {kAuthor, kTroll, "", "admin", ago(999)},
                                  {kTag, "abuse", "why", "list", ago(998)}}));
  must(stores.blocks.save_separation({"home.example", "far.example", true}));
  must(stores.blocks.save_refusal({kCarol, "dogs"}, ago(-60)));
  for (const char* number : {"1", "2"})
    must(stores.reports.add_report({.at = ago(6),
                                    .activity = std::string("https://f.example/flags/") + number,
                                    .reporter = "https://f.example/actor",
                                    .comment = "käse",
                                    .about = {post(kCarol, number)},
                                    .forwarded = {}}));
  must(stores.reports.note_forwarded(1, post(kCarol, "1")));
  must(stores.reports.close_report(2, 100));
  must(stores.changes.add_change({ago(4), "local socket", "/blocks/add", "bad.example", "done"}, 100));
}

inline replay::Replay replay_of() {
  return {.host = "home.example",
          .tag = "cats",
          .not_before = ago(10'000),
          .posts_max = 100,
          .per_minute = 60,
          .started = ago(9),
          .state = replay::ReplayState::kSending,
          .reason = "",
          .found = 5,
          .sent = 2,
          .skipped = 1,
          .pages = 2,
          .pages_done = 1,
          .at = "5~a",
          .newest = ago(100),
          .oldest = ago(200),
          .failing_since = ago(2),
          .authors_per_day = 8,
          .authors_today = {kAlice, kCarol},
          .day = 19'999};
}
inline fasp::FaspServer fasp_server() {
  return {"home.example",
          "id",
          "https://home.example/fasp",
          "f",
          "pem",
          std::string(32, '\xff'),
          "https://home.example/done",
          ago(8),
          true,
          false,
          "c",
          ""};
}
inline void replays_and_fasp(Stores& stores) {
  must(stores.replays.plan(replay_of(), {{"", "7~b"}, {"7~b", "5~a"}}));
  must(stores.replays.save(replay_of(), {post(kCarol, "1")}));
  must(stores.fasp.save_server(fasp_server()));
  must(stores.fasp.add_news({{0, "home.example", post(kAlice, "1"), false, false, ago(7)},
                             {0, "home.example", kCarol, true, true, ago(7)}},
                            fasp::FaspBackfill{"home.example", "b", 9, 4, true, ago(7), 3}));
  must(stores.fasp.drop_news(1));
  must(stores.fasp.save_post({post(kAlice, "1"), ago(6), ago(-300)}));
}

inline void history(Stores& stores) {
  must(stores.history.put({{"cats"_tag, post(kCarol, "old"), kCarol, ago(30 * kDay)}}));
  must(stores.history.put({{"cats"_tag, post(kAlice, "1"), kAlice, ago(60)},
                           {"cats"_tag, post(kAlice, "2"), kAlice, ago(50)},
                           {"cats"_tag, post(kCarol, "1"), kCarol, ago(120)},
                           {"cats"_tag, kOddPost, "https://odd.example/@odd", ago(3 * kDay)},
                           {"dogs"_tag, post(kCarol, "1"), kCarol, ago(120)},
                           {"cats"_tag, post(kCarol, "bad"), kCarol, ago(2 * kDay)},
                           {"cats"_tag, post(kCarol, "wrong"), kCarol, ago(4 * kDay)},
                           {"cats"_tag, post(kCarol, "2"), kCarol, ago(110), true},
                           {"cats"_tag, post(kCarol, "3"), kCarol, ago(100), false, false, ago(80)}}));
  must(stores.history.let_go("cats"_tag, 1, ago(20 * kDay)));
  must(stores.history.take_down(
      {"net", "https://us.example/actor", "cats"_tag, post(kCarol, "bad"), "why", ago(1), "s"}));
  must(stores.history.save_set({"cats"_tag, 3, 8, 16, ago(300)}));
  must(stores.history.correct("cats"_tag, post(kCarol, "wrong"), std::nullopt, /*promised=*/true));
}

inline void receipts(Stores& stores) {
  audit::KeptReceipt kept;
  kept.items = {{"cats"_tag, post(kAlice, "1"), false, ago(60), true},
                {"cats"_tag, post(kAlice, "2"), false, ago(50), true}};
  kept.receipt = {"net", Ring::kStorage, "https://owner.example/actor", ago(49), 2, {}, "s"};
  kept.key = "pem";
  must(stores.receipts.keep(kept, ago(0), {ago(100'000), 1'000'000}));
  must(stores.receipts.keep_audit("{\"asked\":3}", 10));
  must(stores.receipts.keep_offence({"https://owner.example", ago(48), "{}"}, ago(100'000)));
}

// `clock` is that of the stores, and stands where a ManualClock begins.
inline void use(Stores& stores, const Clock& clock) {
  must(stores.meta.set("key", kKey));
  must(stores.meta.next_incarnation(clock));
  posts(stores);
  feed(stores);
  followers(stores);
  instances(stores);
  moderation(stores);
  replays_and_fasp(stores);
  history(stores);
  receipts(stores);
}

}  // namespace tagring::db::used_node
