#include "node/outbox.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <set>

#include "base/assert.hpp"
#include "node/results.hpp"
#include "node/wire.hpp"

namespace tagring::node {
namespace {

constexpr std::size_t kLoadPage = 10'000;
constexpr unsigned kShards = 16;

struct Destination {
  Ring ring;
  std::string origin;
};

std::string to_text(Ring ring, const std::string& origin) {
  return fmt::format("{} {}", ring::to_string(ring), origin);
}

Destination parse_destination(const std::string& text) {
  const std::size_t space = text.find(' ');
  TR_ASSERT(space != std::string::npos);
  return {text.starts_with("relay") ? Ring::kRelay : Ring::kStorage, text.substr(space + 1)};
}

// Refusals that no repetition will change.
bool is_final(ErrorCode code) {
  return code == ErrorCode::kInvalid || code == ErrorCode::kDenied || code == ErrorCode::kNotFound ||
         code == ErrorCode::kTooLarge || code == ErrorCode::kConflict;
}

relay::LaneOptions routing_options(relay::LaneOptions options) {
  options.backoff.longest = std::chrono::seconds(10);
  return options;
}

}  // namespace

Outbox::Outbox(Options options, relay::Store& store, RingService& rings, Courier& courier,
               const Identity& identity, Clock& clock, Executor executor, Rng rng, ApplyHere apply_here)
    : options_(options),
      store_(store),
      rings_(rings),
      courier_(courier),
      identity_(identity),
      apply_here_(std::move(apply_here)),
      rng_(rng),
      routing_(clock, executor, rng_.fork(), routing_options(options.lanes),
               [this](std::string shard, Items items) { return route(std::move(shard), std::move(items)); }),
      sending_(
          clock, executor, rng_.fork(), options.lanes,
          [this](std::string to, Items items) { return send(std::move(to), std::move(items)); },
          [](const Item& item) { return relay::weight(item.pending->entry.event); }) {}

Task<Result<void>> Outbox::load() {
  std::uint64_t after = 0;
  for (;;) {
    CO_TRY(std::vector<relay::OutboxEntry> page, co_await store_.outbox(after, kLoadPage));
    if (page.empty()) co_return Result<void>();
    after = page.back().seq;
    for (relay::OutboxEntry& entry : page) add(std::move(entry));
  }
}

Task<void> Outbox::stop() {
  co_await routing_.stop();
  co_await sending_.stop();
}

unsigned Outbox::replicas(Ring ring) const {
  return ring == Ring::kRelay ? options_.relay_replicas : options_.storage_replicas;
}

RingId Outbox::position(const Item& item) const {
  return replica_key(item.pending->tag_key, item.replica, replicas(item.pending->entry.ring));
}

void Outbox::add(relay::OutboxEntry entry) {
  if (pending_.contains(entry.seq)) return;
  const Result<Tag> tag = Tag::parse(entry.event.tag);
  TR_ASSERT(tag);  // only canonical tags are ever stored
  auto pending = std::make_shared<Pending>();
  pending->tag_key = tag->key();
  pending->entry = std::move(entry);
  pending_[pending->entry.seq] = pending;
  const std::string shard = std::to_string(pending->tag_key.top() % kShards);
  for (unsigned replica = 0; replica < replicas(pending->entry.ring); ++replica) {
    if ((pending->entry.replicas_left >> replica & 1U) != 0) routing_.push(shard, Item{pending, replica});
  }
}

// Finds the owner of each item and queues it there; returns those without one.
Task<Outbox::Items> Outbox::route(std::string, Items items) {
  Items lost;
  for (Item& item : items) {
    ring::Membership& membership = rings_.of(item.pending->entry.ring);
    const Result<ring::Owner> owner = co_await membership.find_owner(position(item));
    if (owner) {
      sending_.push(to_text(item.pending->entry.ring, owner->contact.origin()), std::move(item));
    } else {
      lost.push_back(std::move(item));
    }
  }
  co_return lost;
}

Task<Outbox::Items> Outbox::send(std::string destination, Items items) {
  const Destination to = parse_destination(destination);
  Items again;
  for (const relay::Op op : {relay::Op::kAdd, relay::Op::kRemove}) {
    Items batch;
    std::vector<relay::TagEvent> events;
    // A node that owns two replicas of a tag needs one copy, of what is owed twice as well.
    std::set<std::pair<std::string_view, std::string_view>> taken;
    for (const Item& item : items) {
      const relay::TagEvent& event = item.pending->entry.event;
      if (event.op != op) continue;
      batch.push_back(item);
      if (taken.emplace(event.uri, event.tag).second) events.push_back(event);
    }
    if (batch.empty()) continue;
    Result<std::vector<Refusal>> refusals = co_await send_events(to.origin, to.ring, op, std::move(events));
    if (refusals) {
      co_await settle(to.origin, std::move(batch), std::move(*refusals), &again);
      continue;
    }
    // Not reached. Perhaps it is gone: look its keys up anew, and come back here only if it still owns them.
    for (Item& item : batch) {
      ring::Membership& membership = rings_.of(to.ring);
      membership.forget_route(position(item));
      const Result<ring::Owner> owner = co_await membership.find_owner(position(item));
      if (owner && owner->contact.origin() != to.origin) {
        sending_.push(to_text(to.ring, owner->contact.origin()), std::move(item));
      } else {
        again.push_back(std::move(item));
      }
    }
  }
  co_return again;
}

Task<Result<std::vector<Refusal>>> Outbox::send_events(std::string origin, Ring ring, relay::Op op,
                                                       std::vector<relay::TagEvent> events) {
  if (origin == identity_.origin()) co_return co_await apply_here_(ring, std::move(events));
  if (op == relay::Op::kAdd && rings_.is_blocked_at(origin)) {
    // As if it had refused them for good. Removals it still gets: it may have the posts from before, or from
    // others.
    std::vector<Refusal> withheld;
    for (relay::TagEvent& event : events)
      withheld.push_back({std::move(event.uri), std::move(event.tag), {ErrorCode::kDenied, "blocked here"}});
    co_return withheld;
  }
  const std::string target = origin + (ring == Ring::kRelay ? "/relay" : "/storage");
  const std::string id = fmt::format("{}/activities/{}-{}", identity_.origin(), rng_.next(), ++activity_);
  const std::string body = op == relay::Op::kAdd ? add_activity(id, identity_.actor(), target, events)
                                                 : remove_activity(id, identity_.actor(), target, events);
  const Result<HttpResponse> response = co_await courier_.deliver(origin + "/inbox", body);
  co_return read_results(response);
}

Task<Result<void>> Outbox::hand_out(Ring ring, std::vector<relay::TagEvent> events) {
  CO_TRY(std::vector<relay::OutboxEntry> owed, co_await store_.owe(ring, std::move(events), replicas(ring)));
  for (relay::OutboxEntry& entry : owed) add(std::move(entry));
  co_return Result<void>();
}

// Acknowledges what was taken; queues the rest again where it belongs.
Task<void> Outbox::settle(std::string origin, Items items, std::vector<Refusal> refusals, Items* again) {
  std::map<std::pair<std::string, std::string>, ErrorCode> refused;
  for (Refusal& refusal : refusals)
    refused[{std::move(refusal.uri), std::move(refusal.tag)}] = refusal.error.code;
  std::map<std::uint64_t, std::uint32_t> done;
  for (Item& item : items) {
    const relay::TagEvent& event = item.pending->entry.event;
    const auto refusal = refused.find({event.uri, event.tag});
    if (refusal != refused.end() && refusal->second == ErrorCode::kNotOwner) {
      rings_.of(item.pending->entry.ring).forget_route(position(item));
      const Result<ring::Owner> owner =
          co_await rings_.of(item.pending->entry.ring).find_owner(position(item));
      const bool moved = owner && owner->contact.origin() != origin;
      if (moved) {
        sending_.push(to_text(item.pending->entry.ring, owner->contact.origin()), std::move(item));
      } else {
        again->push_back(std::move(item));
      }
    } else if (refusal != refused.end() && !is_final(refusal->second)) {
      again->push_back(std::move(item));
    } else {
      // Taken, or refused for good: that owner will never want it.
      done[item.pending->entry.seq] |= 1U << item.replica;
    }
  }
  if (done.empty()) co_return;
  const Result<void> saved = co_await store_.acknowledge(done);
  if (!saved) co_return;  // comes again after a restart, and is known there
  for (const auto& [seq, bits] : done) {
    const auto it = pending_.find(seq);
    if (it == pending_.end()) continue;
    delivered_ += static_cast<std::uint64_t>(std::popcount(bits));
    it->second->entry.replicas_left &= ~bits;
    if (it->second->entry.replicas_left == 0) pending_.erase(it);
  }
}

}  // namespace tagring::node
