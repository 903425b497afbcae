#include "delivery/owner_queue.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <set>

#include "base/assert.hpp"
#include "belief/latest.hpp"
#include "belief/trace.hpp"
#include "crypto/hash.hpp"
#include "delivery/results.hpp"
#include "redundancy/relay_hints.hpp"
#include "ring/vserver.hpp"

namespace tagring::delivery {
namespace {

constexpr unsigned kShards = 16;
// An overloaded relay is asked again after [½, 1½] of this. Not later and later: what overloads it passes, or
// other relays come to help.
constexpr Duration kOverloadPause = std::chrono::seconds(2);
constexpr unsigned kRefusals = 4;  // of a partition: longer than it takes until a new owner is known

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

queues::QueueOptions routing_options(queues::QueueOptions options) {
  options.backoff.longest = std::chrono::seconds(10);
  return options;
}

// Owners go by the versions of what they are told, not by its order.
queues::QueueOptions sending_options(queues::QueueOptions options) {
  options.puts_aside = true;
  return options;
}

}  // namespace

OwnerQueue::OwnerQueue(Options options, Store& store, OwnerPlaces places, federation::SignedClient& client,
                       Observer& observer, const Runtime& runtime)
    : options_(options),
      store_(store),
      places_(places),
      client_(client),
      identity_(client.identity()),
      clock_(runtime.clock),
      observer_(observer),
      log_(runtime.log),
      rng_(runtime.rng.fork("outbox")),
      routing_(
          runtime.clock, runtime.executor, rng_.fork("routing"), routing_options(options.lanes),
          {[this](std::string shard, Items items) { return route(std::move(shard), std::move(items)); }}),
      sending_(runtime.clock, runtime.executor, rng_.fork("sending"), sending_options(options.lanes),
               {[this](std::string to, Items items) { return send(std::move(to), std::move(items)); },
                [](const Item& item) { return weight(item.pending->entry.event); }}),
      tasks_(runtime.executor) {}

Task<Result<void>> OwnerQueue::load() {
  std::uint64_t after = 0;
  for (;;) {
    CO_TRY(std::vector<OutboxEntry> page, co_await store_.outbox(after, kLoadPage));
    if (page.empty()) co_return Result<void>();
    after = page.back().seq;
    std::map<std::uint64_t, std::uint32_t> nobodys;
    for (OutboxEntry& entry : page) {
      if (owed(entry) == 0) nobodys[entry.seq] = entry.replicas_left;
      add(std::move(entry));
    }
    // If this fails, the next start does it.
    if (!nobodys.empty()) static_cast<void>(co_await store_.acknowledge(std::move(nobodys)));
  }
}

Task<void> OwnerQueue::stop() {
  tasks_.cancel();
  co_await tasks_.join();
  co_await routing_.stop();
  co_await sending_.stop();
}

RingId OwnerQueue::key(const Item& item) const {
  const OutboxEntry& entry = item.pending->entry;
  return places_.key(entry.ring, entry.event, item.pending->tag_key, item.replica, item.step);
}

Task<Result<void>> OwnerQueue::publish(PublishedPost post) {
  if (!post.tags.empty()) observer_.published(post);
  CO_TRY(std::vector<OutboxEntry> owed,
         co_await store_.publish(std::move(post), places_.copies(Ring::kRelay)));
  if (!owed.empty()) ++published_;
  for (OutboxEntry& entry : owed) {
    belief::trace(log_, belief::Step::kPublished, entry.event);
    add(std::move(entry));
  }
  co_return Result<void>();
}

std::uint32_t OwnerQueue::owed(const OutboxEntry& entry) const {
  return entry.replicas_left & all_copies(entry.ring);
}

void OwnerQueue::add(OutboxEntry entry) {
  const std::uint32_t wanted = owed(entry);
  if (wanted == 0 || pending_.contains(entry.seq)) return;
  const RingId key = entry.event.tag.key();
  auto pending = std::make_shared<Pending>(Pending{std::move(entry), key});
  const unsigned count = places_.copies(pending->entry.ring);
  pending->entry.replicas_left = wanted;
  pending_[pending->entry.seq] = pending;
  for (unsigned replica = 0; replica < count; ++replica) {
    if ((wanted >> replica & 1U) != 0) find_way(Item{pending, replica});
  }
}

void OwnerQueue::find_way(Item item) {
  const std::string shard = std::to_string(item.pending->tag_key.top() % kShards);
  routing_.push(shard, std::move(item));
}

void OwnerQueue::find_way_later(Items items) {
  if (!items.empty()) tasks_.spawn("find_way", wait_and_find_way(std::move(items)));
}

Task<void> OwnerQueue::wait_and_find_way(Items items) {
  const auto pause = static_cast<std::uint64_t>(kOverloadPause.count());
  const Instant later =
      clock_.now() + Duration(static_cast<Duration::rep>(pause / 2 + rng_.below(pause + 1)));
  co_await clock_.sleep_until(later);
  for (Item& item : items) find_way(std::move(item));
}

// Finds the owner of each item and queues it there; returns those without one.
Task<OwnerQueue::Items> OwnerQueue::route(std::string shard, Items items) {
  Items lost;
  for (Item& item : items) {
    const Result<ring::Owner> owner = co_await places_.find_owner(item.pending->entry.ring, key(item));
    if (owner) {
      const std::string to = to_text(item.pending->entry.ring, owner->contact.origin());
      sending_.push(to, std::move(item));
    } else {
      routing_.blame(shard, federation::why_not(owner.error()));
      lost.push_back(std::move(item));
    }
  }
  co_return lost;
}

Task<OwnerQueue::Items> OwnerQueue::send(std::string destination, Items items) {
  const Destination to = parse_destination(destination);
  Items again;
  belief::Latest latest;
  for (const Item& item : items) latest.note(item.pending->entry.event);
  for (const Op op : {Op::kAdd, Op::kRemove}) {
    Items batch;
    Part part;
    // A node that owns two replicas of a tag needs one copy, of what is owed twice as well.
    std::set<std::tuple<std::string_view, Tag, std::string_view>> taken;
    for (const Item& item : items) {
      const TagEvent& event = item.pending->entry.event;
      const TagEvent& told = latest.of(event);
      if (told.op != op) continue;
      batch.push_back(item);
      if (&told != &event) continue;
      if (taken.emplace(event.uri, event.tag, event.signed_copy).second) part.push_back(&event);
    }
    if (batch.empty()) continue;
    Result<std::vector<Refusal>> refusals = co_await send_batch(to.origin, to.ring, op, std::move(part));
    note(to.ring, to.origin, batch, refusals);
    if (refusals) {
      sending_.answered(destination);
      co_await settle(to.origin, std::move(batch), std::move(*refusals), &again);
      continue;
    }
    sending_.blame(destination, federation::why_not(refusals.error()));
    co_await move_if_owner_changed(destination, std::move(batch), &again);
  }
  co_return again;
}

// To the log.
void OwnerQueue::note(Ring ring, const std::string& origin, const Items& items,
                      const Result<std::vector<Refusal>>& refusals) {
  if (!log_.writes(LogLevel::kDebug)) return;
  std::map<std::pair<std::string_view, Tag>, std::string_view> why;
  if (refusals) {
    for (const Refusal& refusal : *refusals) why[{refusal.uri, refusal.tag}] = refusal.error.message;
  }
  std::set<std::uint64_t> noted;  // an owner may have several replicas
  for (const Item& item : items) {
    if (!noted.insert(item.pending->entry.seq).second) continue;
    const TagEvent& event = item.pending->entry.event;
    const std::string_view refused = refusals ? why[{event.uri, event.tag}] : refusals.error().message;
    belief::trace(log_, ring == Ring::kRelay ? belief::Step::kRelay : belief::Step::kStorage, event, origin,
                  refused);
  }
}

// The owner was not reached. Perhaps it is gone: the keys are looked up anew, and come back to it only if it
// still owns them.
Task<void> OwnerQueue::move_if_owner_changed(std::string destination, Items items, Items* again) {
  const Destination to = parse_destination(destination);
  for (Item& item : items) {
    const Result<ring::Owner> owner = co_await places_.find_owner_anew(to.ring, key(item));
    if (owner && owner->contact.origin() != to.origin) {
      sending_.push(to_text(to.ring, owner->contact.origin()), std::move(item));
    } else {
      again->push_back(std::move(item));
    }
  }
}

Task<Result<std::vector<Refusal>>> OwnerQueue::send_batch(std::string origin, Ring ring, Op op, Part batch) {
  const SendPart send = [&](Part part) {
    std::vector<TagEvent> events;
    events.reserve(part.size());
    for (const TagEvent* event : part) events.push_back(*event);
    return send_events(origin, ring, op, std::move(events));
  };
  Result<std::vector<Refusal>> whole = co_await send(batch);
  if (whole || !is_unreadable(whole.error())) co_return whole;
  co_return co_await send_apart(std::move(batch), std::move(whole).error(), send, rng_);
}

Task<Result<std::vector<Refusal>>> OwnerQueue::send_events(std::string origin, Ring ring, Op op,
                                                           std::vector<TagEvent> events) {
  if (origin == identity_.origin()) co_return co_await observer_.take_as_owner(ring, std::move(events));
  if (op == Op::kAdd && places_.is_blocked_at(origin)) {
    // As if it had refused them for good. Removals it still gets: it may have the posts from before, or from
    // others.
    std::vector<Refusal> withheld;
    for (TagEvent& event : events)
      withheld.push_back({std::move(event.uri), std::move(event.tag), {ErrorCode::kDenied, "blocked here"}});
    co_return withheld;
  }
  const std::string target = origin + (ring == Ring::kRelay ? "/relay" : "/storage");
  const std::string id =
      fmt::format("{}/activities/{}-{}", identity_.origin(), crypto::public_draw(rng_), ++activity_);
  const RelayNews news = news_about(ring, events);
  const std::string body = op == Op::kAdd ? add_activity(id, identity_.actor(), target, events, news)
                                          : remove_activity(id, identity_.actor(), target, events, news);
  std::set<Tag> tags;
  for (const TagEvent& event : events) tags.insert(event.tag);
  const Result<HttpResponse> response = co_await client_.deliver(origin + "/inbox", body);
  Result<std::vector<Refusal>> refusals = read_results(response);
  const auto answer = refusals ? json::parse_object(response->body) : Result<json::object>();
  if (refusals && answer) places_.read_answer(ring, *answer, tags, origin);
  if (refusals) observer_.answered(origin, ring, events, *refusals, response->body);
  co_return refusals;
}

// To a relay, who was overloaded before; to a storage owner, which relay of the tags this node is.
RelayNews OwnerQueue::news_about(Ring ring, const std::vector<TagEvent>& events) const {
  std::set<Tag> tags;
  for (const TagEvent& event : events) tags.insert(event.tag);
  if (ring == Ring::kRelay) return {{}, places_.tokens(tags)};
  RelayNews news;
  for (const Tag& tag : tags) {
    if (const std::optional<redundancy::RelayClaim> claim = observer_.claim(tag))
      news.claims.emplace(tag, *claim);
  }
  return news;
}

Task<Result<void>> OwnerQueue::reassign(Ring ring, std::vector<TagEvent> events,
                                        std::optional<unsigned> copy) {
  const std::uint32_t copies = copy ? 1U << *copy : all_copies(ring);
  CO_TRY(std::vector<OutboxEntry> owed, co_await store_.owe(ring, std::move(events), copies));
  for (OutboxEntry& entry : owed) add(std::move(entry));
  co_return Result<void>();
}

// Of a removal, whose owner keeps no such partition. Somebody has to have taken it in the end.
void OwnerQueue::pass_over(Item item, Items& taken, Items& again) {
  item.refused = 0;
  const bool is_last = item.step + 1 >= places_.steps(item.pending->entry.ring, item.pending->entry.event);
  if (is_last && item.is_anywhere) {
    taken.push_back(std::move(item));
  } else if (is_last) {
    item.step = 0;
    again.push_back(std::move(item));
  } else {
    ++item.step;
    find_way(std::move(item));
  }
}

// Acknowledges what was taken; queues the rest again where it belongs.
Task<void> OwnerQueue::settle(std::string origin, Items items, std::vector<Refusal> refusals, Items* again) {
  std::map<std::pair<std::string, Tag>, Error> refused;
  for (Refusal& refusal : refusals)
    refused.insert_or_assign({std::move(refusal.uri), std::move(refusal.tag)}, std::move(refusal.error));
  const auto send_again = [&](Item item, const Error& why) {
    sending_.blame(to_text(item.pending->entry.ring, origin), federation::why_not(why));
    again->push_back(std::move(item));
  };
  Items later;
  Items taken;
  for (Item& item : items) {
    const Ring ring = item.pending->entry.ring;
    const TagEvent& event = item.pending->entry.event;
    const auto refusal = refused.find({event.uri, event.tag});
    if (refusal != refused.end() && refusal->second.code == ErrorCode::kNotOwner) {
      places_.doubt(ring, event.tag);
      const Result<ring::Owner> owner = co_await places_.find_owner_anew(ring, key(item));
      const bool moved = owner && owner->contact.origin() != origin;
      if (moved && item.moved) {
        later.push_back(std::move(item));  // nodes that do not agree send it to and fro
      } else if (moved) {
        item.moved = true;
        sending_.push(to_text(ring, owner->contact.origin()), std::move(item));
      } else if (owner && event.op == Op::kAdd && item.step + 1 < places_.ways(ring, event)) {
        ++item.step;  // whatever this node knows, that owner keeps no such partition
        find_way(std::move(item));
      } else if (owner && event.op == Op::kRemove && ++item.refused >= kRefusals) {
        // Nor is there anything to remove, unless somebody is just joining in front of that owner.
        pass_over(std::move(item), taken, *again);
      } else {
        send_again(std::move(item), refusal->second);
      }
    } else if (refusal != refused.end() && refusal->second.code == ErrorCode::kUnavailable &&
               ring == Ring::kRelay) {
      later.push_back(std::move(item));  // overloaded
    } else if (refusal != refused.end() && !is_final(refusal->second.code)) {
      send_again(std::move(item), refusal->second);
    } else if (item.step + 1 < places_.steps(ring, event)) {
      ++item.step;
      item.moved = false;
      item.refused = 0;
      item.is_anywhere = true;
      find_way(std::move(item));
    } else {
      taken.push_back(std::move(item));  // or refused for good: that owner will never want it
    }
  }
  find_way_later(std::move(later));
  if (!taken.empty()) co_await acknowledge(std::move(origin), std::move(taken), again);
}

Task<void> OwnerQueue::acknowledge(std::string origin, Items taken, Items* again) {
  std::map<std::uint64_t, std::uint32_t> done;
  for (const Item& item : taken) done[item.pending->entry.seq] |= 1U << item.replica;
  // Bits beyond those of the ring are of a time when the network kept more replicas.
  for (auto& [seq, bits] : done) {
    const auto it = pending_.find(seq);
    if (it != pending_.end()) bits |= ~all_copies(it->second->entry.ring);
  }
  const Result<void> saved = co_await store_.acknowledge(done);
  if (!saved) {
    // Is sent again, and known there. Otherwise it would be owed until a restart.
    sending_.blame(to_text(taken.front().pending->entry.ring, origin), federation::why_not(saved.error()));
    std::ranges::move(taken, std::back_inserter(*again));
    co_return;
  }
  for (const auto& [seq, bits] : done) {
    const auto it = pending_.find(seq);
    if (it == pending_.end()) continue;
    delivered_ += static_cast<std::uint64_t>(std::popcount(bits & it->second->entry.replicas_left));
    it->second->entry.replicas_left &= ~bits;
    if (it->second->entry.replicas_left == 0) pending_.erase(it);
  }
}

}  // namespace tagring::delivery
