// Every kind of write of every store, drawn from a seed so that it can be repeated on other stores, and all
// that a database holds, as text: for tests that hold a database that suffers against one that does not.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/rng.hpp"
#include "hashtag/tag.hpp"
#include "tests/db/contents.hpp"
#include "tests/db/fixture.hpp"

namespace tagring::db {

inline std::string contents(Stores& stores) {
  const auto text =
      run(stores.database->read([](Connection& connection) { return contents_of(connection); }));
  return text ? *text : "unreadable: " + text.error().message;
}

// The first line in which two such texts differ; empty if they do not.
inline std::string difference(const std::string& found, const std::string& expected) {
  const auto [here, there] = std::ranges::mismatch(found, expected);
  if (here == found.end() && there == expected.end()) return {};
  const auto line = [](const std::string& text, std::size_t at) {
    const std::size_t begin = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    const std::size_t from = begin == std::string::npos ? 0 : begin + 1;
    return text.substr(from, text.find('\n', at) - from);
  };
  const auto at = static_cast<std::size_t>(here - found.begin());
  return "found \"" + line(found, at) + "\", expected \"" + line(expected, at) + "\"";
}

namespace writes {

inline std::string pick(Rng& rng, const char* what, std::uint64_t of) {
  return what + std::to_string(rng.below(of));
}
inline Tag tag(Rng& rng) { return Tag::from_canonical(pick(rng, "tag", 5)); }
inline std::string name(Rng& rng) { return pick(rng, "tag", 5); }
inline std::string host(Rng& rng) { return pick(rng, "host", 2) + ".example"; }
inline std::string author(Rng& rng) { return pick(rng, "https://a.example/users/u", 4); }
inline std::string follower(Rng& rng) { return pick(rng, "https://f.example/", 3); }
inline WallTime moment(Rng& rng) { return at(static_cast<std::int64_t>(rng.below(30))); }

inline delivery::TagEvent event(Rng& rng) {
  const std::string by = author(rng);
  return {tag(rng), rng.chance(0.3) ? delivery::Op::kRemove : delivery::Op::kAdd,
          by + pick(rng, "/statuses/", 50), by, moment(rng)};
}
template <class T>
std::vector<T> several(Rng& rng, std::uint64_t below, T (*one)(Rng&)) {
  std::vector<T> drawn;
  for (std::uint64_t i = rng.below(below); i > 0; --i) drawn.push_back(one(rng));
  return drawn;
}
inline storage::HistoryEntry entry(Rng& rng) {
  const delivery::TagEvent of = event(rng);
  return {of.tag, of.uri, of.author, of.published, of.op == delivery::Op::kRemove};
}
inline replay::Replay replay(Rng& rng) {
  replay::Replay drawn;
  drawn.host = host(rng);
  drawn.tag = name(rng);
  drawn.state = static_cast<replay::ReplayState>(rng.below(5));
  drawn.sent = rng.below(9);
  return drawn;
}
inline fasp::FaspServer fasp_server(Rng& rng) {
  fasp::FaspServer drawn;
  drawn.host = host(rng);
  drawn.id = "id of " + drawn.host;
  drawn.server_key = std::string(32, static_cast<char>(rng.below(256)));
  drawn.since = moment(rng);
  drawn.shares = rng.chance(0.5);
  return drawn;
}
inline fasp::FaspNews fasp_news(Rng& rng) {
  return {0, host(rng), event(rng).uri, rng.chance(0.2), rng.chance(0.2), moment(rng)};
}
inline fasp::FaspBackfill fasp_backfill(Rng& rng) {
  return {host(rng), pick(rng, "id", 9), rng.below(99), rng.below(99), rng.chance(0.5), moment(rng), 0};
}
inline audit::KeptReceipt receipt(Rng& rng) {
  audit::KeptReceipt kept;
  for (const delivery::TagEvent& of : several(rng, 5, event))
    kept.items.push_back({of.tag, of.uri, of.op == delivery::Op::kRemove, of.published, true});
  std::ranges::sort(kept.items);
  kept.receipt = {"net", Ring::kStorage, "https://owner.example/actor", moment(rng), kept.items.size(), {},
                  "s"};
  kept.key = pick(rng, "key", 2);
  return kept;
}

// Whether it happened: that a store refuses what is not there is an answer.
template <class T>
Result<void> done(Task<Result<T>> task) {
  const Result<T> result = run(std::move(task));
  if (!result && result.error().code != ErrorCode::kNotFound) return std::unexpected(result.error());
  return {};
}

struct Write {
  std::string_view name;
  Result<void> (*perform)(Stores&, Rng&);
};

inline constexpr std::array kRelay = {
    Write{"publish",
          [](Stores& s, Rng& rng) {
            const delivery::TagEvent of = event(rng);
            return done(s.relay.publish({of.uri, of.author, of.published, several(rng, 4, tag)}, 2));
          }},
    Write{"delete",
          [](Stores& s, Rng& rng) {
            const delivery::TagEvent of = event(rng);
            delivery::PublishedPost post{of.uri, of.author, of.published, {}};
            post.deleted = true;
            return done(s.relay.publish(std::move(post), 2));
          }},
    Write{"put_off",
          [](Stores& s, Rng& rng) {
            const delivery::TagEvent of = event(rng);
            delivery::PublishedPost post{of.uri, of.author, of.published, {of.tag}};
            return done(s.relay.put_off(std::move(post), moment(rng)));
          }},
    Write{"drop_put_off",
          [](Stores& s, Rng& rng) { return done(s.relay.drop_put_off(event(rng).uri, WallTime::max())); }},
    Write{"bury", [](Stores& s, Rng& rng) { return done(s.relay.bury(event(rng).uri, event(rng).changed)); }},
    Write{"save_consent",
          [](Stores& s, Rng& rng) {
            const std::string of = author(rng);
            return done(s.relay.save_consent(of, {rng.chance(0.5), rng.chance(0.5)}));
          }},
    Write{"save_look",
          [](Stores& s, Rng& rng) {
            const std::string of = author(rng);
            return done(s.relay.save_look({of, moment(rng), 1}));
          }},
    Write{"drop_look", [](Stores& s, Rng& rng) { return done(s.relay.drop_look(author(rng))); }},
    Write{"owe", [](Stores& s,
                    Rng& rng) { return done(s.relay.owe(Ring::kStorage, several(rng, 20, event), 0b111)); }},
    Write{"acknowledge",
          [](Stores& s, Rng& rng) {
            const std::uint64_t first = rng.below(60);
            return done(s.relay.acknowledge({{first, 1}, {rng.below(60), 15}}));
          }},
    Write{"accept",
          [](Stores& s, Rng& rng) {
            auto events = several(rng, 40, event);
            return done(s.relay.accept(std::move(events), rng.chance(0.5) ? 4 : 0));
          }},
    Write{"prune_feed",
          [](Stores& s, Rng& rng) { return done(s.relay.prune_feed(rng.below(40), WallTime::max())); }},
    Write{"follow",
          [](Stores& s, Rng& rng) {
            const Tag of = tag(rng);
            const std::string by = follower(rng);
            const auto via = rng.chance(0.5) ? delivery::Via::kNode : delivery::Via::kBoost;
            return done(s.relay.follow(
                {{of, by, pick(rng, "https://f.example/inbox", 3), pick(rng, "id", 9), via, 0}}));
          }},
    Write{"unfollow",
          [](Stores& s, Rng& rng) {
            const Tag of = tag(rng);
            return done(s.relay.unfollow({{of, follower(rng)}}));
          }},
    Write{"check_partials", [](Stores& s, Rng&) { return done(s.relay.check_partials()); }},
    Write{"advance",
          [](Stores& s, Rng& rng) {
            const std::string inbox = pick(rng, "https://f.example/inbox", 3);
            return done(
                s.relay.advance({{inbox, {rng.below(100), moment(rng), moment(rng), 3}}}, {{1, name(rng)}}));
          }},
    Write{
        "write_letter",
        [](Stores& s, Rng& rng) { return done(s.relay.write_letter({0, "actor", "inbox", name(rng), {}})); }},
    Write{"drop_letter", [](Stores& s, Rng& rng) { return done(s.relay.drop_letter(rng.below(9))); }},
    Write{"want",
          [](Stores& s, Rng& rng) {
            auto tags = several(rng, 4, tag);
            return done(s.relay.want(std::move(tags), host(rng)));
          }},
    Write{"unwant",
          [](Stores& s, Rng& rng) {
            auto tags = several(rng, 4, tag);
            return done(s.relay.unwant(std::move(tags), host(rng)));
          }},
    Write{"save_subscriptions",
          [](Stores& s, Rng& rng) {
            const Tag of = tag(rng);
            const std::string owner = host(rng);
            return done(s.relay.save_subscriptions({{of, owner, pick(rng, "id", 9), rng.chance(0.5)}}));
          }},
    Write{"drop_subscriptions",
          [](Stores& s, Rng& rng) {
            const Tag of = tag(rng);
            return done(s.relay.drop_subscriptions({{of, host(rng)}}));
          }},
};

inline constexpr std::array kHistory = {
    Write{"put", [](Stores& s, Rng& rng) { return done(s.history.put(several(rng, 60, entry))); }},
    Write{"correct",
          [](Stores& s, Rng& rng) {
            const storage::HistoryEntry of = entry(rng);
            return done(s.history.correct(
                of.partition, of.uri, rng.chance(0.5) ? std::optional(of) : std::nullopt, rng.chance(0.5)));
          }},
    Write{"take_down",
          [](Stores& s, Rng& rng) {
            const storage::HistoryEntry of = entry(rng);
            return done(
                s.history.take_down({"net", "actor", of.partition.tag, of.uri, "why", of.published, "s"}));
          }},
    Write{"undo_take_down",
          [](Stores& s, Rng& rng) {
            const storage::HistoryEntry of = entry(rng);
            return done(s.history.undo_take_down(of.partition.tag, of.uri));
          }},
    Write{"let_go",
          [](Stores& s, Rng& rng) {
            const Tag of = tag(rng);
            return done(s.history.let_go(of, rng.below(9), moment(rng)));
          }},
    Write{"forget",
          [](Stores& s, Rng& rng) {
            const Tag of = tag(rng);
            return done(s.history.forget(of, rng.below(9), moment(rng)));
          }},
    Write{"save_set",
          [](Stores& s, Rng& rng) {
            const Tag of = tag(rng);
            return done(s.history.save_set({of, rng.below(9), 4, 8, moment(rng)}));
          }},
    Write{"drop_set",
          [](Stores& s, Rng& rng) {
            const Tag of = tag(rng);
            return done(s.history.drop_set({of, rng.below(9), 4, 8, moment(rng)}));
          }},
};

inline constexpr std::array kOthers = {
    Write{"permit",
          [](Stores& s, Rng& rng) {
            const std::string of = host(rng);
            return done(s.instances.permit({of, rng.chance(0.5), rng.chance(0.5)}));
          }},
    Write{"save_link",
          [](Stores& s, Rng& rng) {
            const std::string by = follower(rng);
            return done(s.instances.save_link({by, name(rng), "f.example", "inbox", "inbox", "{}"}));
          }},
    Write{"drop_link",
          [](Stores& s, Rng& rng) {
            const std::string by = follower(rng);
            return done(s.instances.drop_link(by, name(rng), std::nullopt));
          }},
    Write{"save_own_follow",
          [](Stores& s, Rng& rng) {
            const std::string of = follower(rng);
            return done(
                s.instances.save_own_follow({"us", of, "inbox", pick(rng, "id", 9), rng.chance(0.5), {}}));
          }},
    Write{"drop_own_follow",
          [](Stores& s, Rng& rng) { return done(s.instances.drop_own_follow("us", follower(rng))); }},
    Write{"save_tag_source",
          [](Stores& s, Rng& rng) {
            const std::string of = host(rng);
            return done(s.instances.save_tag_source(of, "admin", several(rng, 4, name)));
          }},
    Write{"note_follow",
          [](Stores& s, Rng& rng) {
            const std::string by = follower(rng);
            return done(s.instances.note_follow(by, name(rng), pick(rng, "id", 9), moment(rng)));
          }},
    Write{"note_undo",
          [](Stores& s, Rng& rng) {
            const std::string by = follower(rng);
            const std::string id = pick(rng, "id", 9);
            return done(s.instances.note_undo(by, id, rng.chance(0.5), moment(rng)));
          }},
    Write{"take_undone",
          [](Stores& s, Rng& rng) {
            const std::string by = follower(rng);
            const std::string id = pick(rng, "id", 9);
            return done(s.instances.take_undone(by, id, moment(rng)));
          }},
    Write{"save_blocks",
          [](Stores& s, Rng& rng) {
            const std::string of = host(rng);
            return done(
                s.blocks.save_blocks({{federation::BlockKind::kDomain, of, "why", "admin", moment(rng)}}));
          }},
    Write{"drop_blocks",
          [](Stores& s, Rng& rng) {
            return done(s.blocks.drop_blocks({{federation::BlockKind::kDomain, host(rng), "", "admin", {}}}));
          }},
    Write{"save_separation",
          [](Stores& s, Rng& rng) {
            const std::string of = host(rng);
            return done(s.blocks.save_separation({of, host(rng), rng.chance(0.5)}));
          }},
    Write{"drop_separation",
          [](Stores& s, Rng& rng) {
            const std::string of = host(rng);
            return done(s.blocks.drop_separation({of, host(rng), rng.chance(0.5)}));
          }},
    Write{"save_refusal",
          [](Stores& s, Rng& rng) {
            const std::string by = author(rng);
            const WallTime look = moment(rng);
            return done(s.blocks.save_refusal({by, name(rng)}, look));
          }},
    Write{"drop_refusal",
          [](Stores& s, Rng& rng) {
            const std::string by = author(rng);
            return done(s.blocks.drop_refusal({by, name(rng)}));
          }},
    Write{"add_report",
          [](Stores& s, Rng& rng) {
            reports::Report drawn;
            drawn.at = moment(rng);
            drawn.activity = pick(rng, "https://r.example/", 40);
            drawn.reporter = author(rng);
            drawn.about = several(rng, 4, author);
            return done(s.reports.add_report(std::move(drawn)));
          }},
    Write{"note_forwarded",
          [](Stores& s, Rng& rng) {
            const std::uint64_t id = rng.below(40);
            return done(s.reports.note_forwarded(id, author(rng)));
          }},
    Write{"close_report",
          [](Stores& s, Rng& rng) {
            const std::uint64_t id = rng.below(40);
            return done(s.reports.close_report(id, rng.below(4)));
          }},
    Write{"drop_former_server",
          [](Stores& s, Rng& rng) {
            return done(s.relay.drop_former_server({name(rng), "https://f.example"}));
          }},
    Write{"actor_since", [](Stores& s, Rng& rng) { return done(s.relay.actor_since(tag(rng))); }},
    Write{"add_change",
          [](Stores& s, Rng& rng) {
            administrators::Change drawn{moment(rng), author(rng), "/blocks/add", name(rng), "done"};
            return done(s.changes.add_change(std::move(drawn), 1 + rng.below(4)));
          }},
    Write{"plan", [](Stores& s,
                     Rng& rng) { return done(s.replays.plan(replay(rng), {{"", "1~a"}, {"1~a", "2~b"}})); }},
    Write{"save",
          [](Stores& s, Rng& rng) { return done(s.replays.save(replay(rng), several(rng, 4, follower))); }},
    Write{"save_server", [](Stores& s, Rng& rng) { return done(s.fasp.save_server(fasp_server(rng))); }},
    Write{"drop_server", [](Stores& s, Rng& rng) { return done(s.fasp.drop_server(host(rng))); }},
    Write{"add_news",
          [](Stores& s, Rng& rng) {
            auto news = several(rng, 5, fasp_news);
            const auto backfill = rng.chance(0.5) ? std::optional(fasp_backfill(rng)) : std::nullopt;
            return done(s.fasp.add_news(std::move(news), backfill));
          }},
    Write{"drop_news", [](Stores& s, Rng& rng) { return done(s.fasp.drop_news(rng.below(100))); }},
    Write{"save_backfill",
          [](Stores& s, Rng& rng) { return done(s.fasp.save_backfill(fasp_backfill(rng))); }},
    Write{"save_post",
          [](Stores& s, Rng& rng) {
            const std::string of = author(rng) + "/statuses/0";
            return done(s.fasp.save_post({of, moment(rng), moment(rng)}));
          }},
    Write{"drop_post",
          [](Stores& s, Rng& rng) { return done(s.fasp.drop_post(author(rng) + "/statuses/0")); }},
    Write{"keep",
          [](Stores& s, Rng& rng) {
            auto kept = receipt(rng);
            return done(s.receipts.keep(std::move(kept), at(40), {moment(rng), rng.below(4'000)}));
          }},
    Write{"keep_audit",
          [](Stores& s, Rng& rng) { return done(s.receipts.keep_audit(pick(rng, "report ", 99), 3)); }},
    Write{"next_incarnation",
          [](Stores& s, Rng& rng) {
            ManualClock clock;
            clock.wall = moment(rng);
            return done(s.meta.next_incarnation(clock));
          }},
    Write{"set",
          [](Stores& s, Rng& rng) {
            const std::string name = pick(rng, "name", 3);
            return done(s.meta.set(name, std::string(rng.below(9'000), 'x')));
          }},
};

}  // namespace writes

// All of them.
inline std::vector<writes::Write> every_write() {
  std::vector<writes::Write> all;
  for (const std::span<const writes::Write> some :
       {std::span<const writes::Write>(writes::kRelay), std::span<const writes::Write>(writes::kHistory),
        std::span<const writes::Write>(writes::kOthers)})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

// One of them, drawn; those of the relay's and the history's store half of the time.
inline Result<void> random_write(Stores& stores, std::uint64_t seed) {
  Rng rng(seed);
  const auto kinds = rng.chance(0.6)   ? std::span<const writes::Write>(writes::kRelay)
                     : rng.chance(0.4) ? std::span<const writes::Write>(writes::kHistory)
                                       : std::span<const writes::Write>(writes::kOthers);
  return kinds[rng.below(kinds.size())].perform(stores, rng);
}

}  // namespace tagring::db
