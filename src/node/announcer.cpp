#include "node/announcer.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "crypto/hash.hpp"
#include "node/results.hpp"
#include "node/wire.hpp"

namespace tagring::node {
namespace {

constexpr std::size_t kLoadPage = 10'000;
constexpr std::size_t kLettersMax = 16;
constexpr std::size_t kRecentMax = 5'000;
constexpr Duration kSaveEvery = std::chrono::seconds(1);
constexpr Duration kFeedLifetime = std::chrono::hours(24);

}  // namespace

Announcer::Announcer(relay::LaneOptions options, relay::Store& store, relay::Followers& followers,
                     Courier& courier, const Identity& identity, Clock& clock, Executor executor, Rng rng)
    : store_(store),
      followers_(followers),
      courier_(courier),
      identity_(identity),
      clock_(clock),
      rng_(rng),
      lanes_(
          clock, executor, rng_.fork(), options,
          [this](std::string inbox, Items items) { return send(std::move(inbox), std::move(items)); },
          [](const Item& item) { return relay::weight(item->event); }),
      tasks_(executor) {}

Task<Result<void>> Announcer::load() {
  CO_TRY(const auto cursors, co_await store_.cursors());
  std::uint64_t after = 0;
  for (;;) {
    CO_TRY(std::vector<relay::FeedEntry> page, co_await store_.feed(after, kLoadPage));
    if (page.empty()) break;
    after = page.back().seq;
    for (relay::FeedEntry& entry : page)
      queue(std::make_shared<relay::FeedEntry>(std::move(entry)), &cursors);
  }
  last_seq_ = after;
  for (const auto& [inbox, seq] : cursors) inboxes_[inbox].acknowledged = seq;
  co_return Result<void>();
}

void Announcer::start() { tasks_.spawn("announcer", upkeep()); }

Task<void> Announcer::stop() {
  co_await lanes_.stop();
  tasks_.cancel();
  co_await tasks_.join();
  co_await save_cursors();
}

void Announcer::push(relay::FeedEntry entry) {
  last_seq_ = std::max(last_seq_, entry.seq);
  queue(std::make_shared<relay::FeedEntry>(std::move(entry)), nullptr);
}

void Announcer::queue(const Item& item, const std::map<std::string, std::uint64_t>* cursors) {
  const auto* targets = followers_.of(item->event.tag);
  if (targets == nullptr) return;
  const std::string author_host = host_of(item->event.uri);
  for (const auto& [actor, target] : *targets) {
    if (target.since >= item->seq) continue;
    // Never back to where it comes from.
    if (!target.is_node && host_of(target.inbox) == author_host) continue;
    if (cursors != nullptr) {
      const auto cursor = cursors->find(target.inbox);
      if (cursor != cursors->end() && cursor->second >= item->seq) continue;
    }
    Inbox& inbox = inboxes_[target.inbox];
    inbox.is_node = target.is_node;
    // A removal is told under every tag: which of them the post was announced under is not remembered for
    // ever.
    if (!target.is_node && item->event.op == relay::Op::kAdd) {
      if (inbox.recent.size() >= kRecentMax) inbox.recent.clear();
      if (!inbox.recent.insert(item->event.uri).second) continue;
    }
    lanes_.push(target.inbox, item);
  }
}

Task<Announcer::Items> Announcer::send(std::string inbox, Items items) {
  const std::uint64_t last = items.back()->seq;
  const std::size_t count = items.size();
  Items again;
  if (inboxes_[inbox].is_node) {
    again = co_await send_to_node(inbox, std::move(items));
  } else {
    again = co_await send_to_people(inbox, std::move(items));
  }
  delivered_ += count - again.size();
  const std::uint64_t reached = again.empty() ? last : again.front()->seq - 1;
  Inbox& state = inboxes_[inbox];
  if (reached > state.acknowledged) {
    state.acknowledged = reached;
    moved_.insert(inbox);
  }
  co_return again;
}

// One activity for all who get the same posts.
std::string Announcer::letter(relay::Op op, const Items& items) {
  const auto same = std::ranges::find_if(
      letters_, [&](const Letter& letter) { return letter.op == op && letter.items == items; });
  if (same != letters_.end()) return same->body;
  std::vector<relay::TagEvent> events;
  for (const Item& item : items) events.push_back(item->event);
  const std::string id = fmt::format("{}/activities/{}-{}", identity_.origin(), rng_.next(), ++activity_);
  std::string body = op == relay::Op::kAdd
                         ? announce_activity(id, identity_.actor(), events, clock_.wall_now())
                         : undo_announce_activity(id, identity_.actor(), events);
  if (letters_.size() == kLettersMax) letters_.pop_back();
  letters_.push_front({op, items, body});
  return body;
}

Task<Announcer::Items> Announcer::send_to_node(std::string inbox, Items items) {
  for (const relay::Op op : {relay::Op::kAdd, relay::Op::kRemove}) {
    Items batch;
    std::ranges::copy_if(items, std::back_inserter(batch),
                         [op](const Item& item) { return item->event.op == op; });
    if (batch.empty()) continue;
    const Result<HttpResponse> response = co_await courier_.deliver(inbox, letter(op, batch));
    if (is_gone(response)) {
      for (const Item& item : batch) on_lost_follower(item->event.tag, inbox);
      continue;
    }
    const Result<std::vector<Refusal>> refusals = read_results(response);
    if (!refusals) co_return items;  // both kinds again: what was taken is known there
    for (const Refusal& refusal : *refusals) {
      if (refusal.error.code == ErrorCode::kDenied) on_lost_follower(refusal.tag, inbox);
    }
  }
  co_return Items();
}

// The same id each time, so that a repetition after a crash is known for what it is.
std::string Announcer::single(const relay::TagEvent& event) const {
  const Result<Tag> tag = Tag::parse(event.tag);
  const std::string actor = identity_.tag_actor(*tag);
  const auto hash = crypto::sha256(actor + " " + event.uri);
  const std::string id = fmt::format("{}/announces/{}", identity_.origin(), to_hex(hash).substr(0, 32));
  return event.op == relay::Op::kAdd ? announce_to_people(id, actor, event, clock_.wall_now())
                                     : undo_to_people(id, actor, event);
}

Task<Announcer::Items> Announcer::send_to_people(std::string inbox, Items items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Result<Tag> tag = Tag::parse(items[i]->event.tag);
    const Result<HttpResponse> response =
        co_await courier_.deliver_as(identity_.tag_actor(*tag), inbox, single(items[i]->event));
    if (is_gone(response)) {
      on_lost_follower(items[i]->event.tag, inbox);
      continue;
    }
    if (was_accepted(response) || was_refused(response)) continue;
    co_return Items(items.begin() + static_cast<std::ptrdiff_t>(i), items.end());
  }
  co_return Items();
}

Task<void> Announcer::upkeep() {
  for (;;) {
    const Instant next = clock_.now() + kSaveEvery;
    co_await clock_.sleep_until(next);
    co_await save_cursors();
  }
}

Task<void> Announcer::save_cursors() {
  if (moved_.empty()) co_return;
  std::map<std::string, std::uint64_t> cursors;
  for (const std::string& inbox : std::exchange(moved_, {})) cursors[inbox] = inboxes_[inbox].acknowledged;
  const Result<void> saved = co_await store_.advance(cursors);
  if (!saved) co_return;  // then some announcements are repeated after a restart
  std::uint64_t least = last_seq_;
  const auto lanes = lanes_.status();
  for (const auto& [inbox, state] : inboxes_) {
    if (lanes.contains(inbox)) least = std::min(least, state.acknowledged);
  }
  co_await store_.prune_feed(least, clock_.wall_now() - kFeedLifetime);
}

}  // namespace tagring::node
