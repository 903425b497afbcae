#include "node/roles.hpp"

#include <algorithm>

#include "fediverse/note.hpp"

namespace tagring::node {
namespace {
constexpr Duration kSpotCheckSpread = std::chrono::seconds(30);
}

Roles::Roles(Options options, relay::Store& store, storage::HistoryStore& history, RingService& rings,
             StorageSets& stores, const relay::Blocks& blocks, Courier& courier, const Identity& identity,
             Clock& clock, Log& log, Executor executor, Rng rng)
    : options_(options),
      store_(store),
      history_(history),
      rings_(rings),
      stores_(stores),
      blocks_(blocks),
      courier_(courier),
      identity_(identity),
      clock_(clock),
      log_(log),
      rng_(rng),
      tasks_(std::move(executor)) {}

void Roles::connect(Outbox& outbox, Announcer& announcer, Subscriber& subscriber, RelaySets& sets) {
  sets_ = &sets;
  outbox_ = &outbox;
  announcer_ = &announcer;
  subscriber_ = &subscriber;
}

Task<void> Roles::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<Result<void>> Roles::publish(relay::PublishedPost post) {
  CO_TRY(std::vector<relay::OutboxEntry> owed,
         co_await store_.publish(std::move(post), copies_of_post(options_.relay_replicas)));
  if (!owed.empty()) ++counters_.published;
  for (relay::OutboxEntry& entry : owed) outbox_->add(std::move(entry));
  co_return Result<void>();
}

// Writes what is news, and passes it on. How many were news.
Task<Result<std::size_t>> Roles::take(std::vector<relay::TagEvent> events, unsigned storage_replicas,
                                      Announcer::To to) {
  CO_TRY(const std::vector<relay::Store::Accepted> accepted,
         co_await store_.accept(events, storage_replicas));
  std::size_t fresh = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!accepted[i].fresh) continue;
    ++fresh;
    if (accepted[i].outbox_seq != 0) {
      const std::uint32_t all = (1U << storage_replicas) - 1;
      outbox_->add({accepted[i].outbox_seq, Ring::kStorage, events[i], all});
    }
    announcer_->push({accepted[i].feed_seq, std::move(events[i])}, to);
  }
  co_return fresh;
}

Task<Result<std::vector<Refusal>>> Roles::relay(std::vector<relay::TagEvent> events, std::string sender) {
  std::vector<Refusal> refusals;
  events = co_await believable(Ring::kRelay, std::move(events), std::move(sender), {}, &refusals);
  std::erase_if(events, [&](const relay::TagEvent& event) {
    const bool admitted = event.op == relay::Op::kRemove || sets_->admit(event.tag);
    if (!admitted)
      refusals.push_back({event.uri, event.tag, {ErrorCode::kUnavailable, "this relay is overloaded"}});
    return !admitted;
  });
  if (!events.empty()) {
    CO_TRY(const std::size_t fresh,
           co_await take(std::move(events), stores_.copies(), Announcer::To::kEverybody));
    counters_.relayed += fresh;
  }
  co_return refusals;
}

Task<Result<std::vector<Refusal>>> Roles::archive(std::vector<relay::TagEvent> events, std::string sender,
                                                  RelayClaims claims) {
  std::vector<Refusal> refusals;
  std::erase_if(events, [&](relay::TagEvent& event) {
    const bool unwanted = event.op == relay::Op::kAdd && !event.indexable;
    const Error error{ErrorCode::kDenied, "the author does not wish to be found (indexable)"};
    if (unwanted) refusals.push_back({event.uri, event.tag, error});
    return unwanted;
  });
  events =
      co_await believable(Ring::kStorage, std::move(events), std::move(sender), std::move(claims), &refusals);
  std::vector<storage::HistoryEntry> entries;
  for (const relay::TagEvent& event : events) {
    const bool removed = event.op == relay::Op::kRemove;
    const auto slots = stores_.slots_for(*Tag::parse(event.tag), event.uri, removed);
    for (const unsigned slot : slots.value_or(std::vector<unsigned>())) {
      const storage::Shelf shelf{event.tag, slot};
      entries.push_back({shelf.name(), event.uri, event.author, event.published, removed});
      stores_.note_written(event.tag, slot);
    }
  }
  const std::size_t count = entries.size();
  if (count > 0) {
    CO_TRY_VOID(co_await history_.put(std::move(entries)));
    counters_.archived += count;
  }
  co_return refusals;
}

// We follow the tag there, or want it and the sender is one of its relays: of more than we know of, perhaps.
Task<Result<void>> Roles::check_announcer(std::string tag, std::string sender, const RelayClaims* claims) {
  if (subscriber_->follows(tag, sender)) co_return Result<void>();
  const Result<Tag> parsed = Tag::parse(tag);
  const auto claim = claims->find(tag);
  if (!parsed || !subscriber_->wants(tag) || claim == claims->end())
    co_return fail(ErrorCode::kDenied, "this node does not follow the tag at you");
  co_return co_await sets_->check_relay(*parsed, std::move(sender), claim->second);
}

Task<Result<std::vector<Refusal>>> Roles::receive(std::vector<relay::TagEvent> events, std::string sender,
                                                  RelayClaims claims) {
  std::vector<Refusal> refusals;
  std::vector<relay::TagEvent>
      own;  // tags this node relays itself: then they are owed to the storage owners too
  std::vector<relay::TagEvent> of_set;  // tags that have more relays now than at rest
  std::vector<relay::TagEvent> others;
  std::map<std::string, Result<void>> welcome;  // by tag
  for (relay::TagEvent& event : events) {
    auto known = welcome.find(event.tag);
    if (known == welcome.end()) {
      const Result<void> checked = co_await check_announcer(event.tag, sender, &claims);
      known = welcome.emplace(event.tag, checked).first;
    }
    if (!known->second) {
      refusals.push_back({event.uri, event.tag, known->second.error()});
      continue;
    }
    // Taken, as far as the owner is concerned: a refusal would end the subscription.
    if (event.op == relay::Op::kAdd && !check_blocks(event)) continue;
    const Result<Tag> tag = Tag::parse(event.tag);
    if (sets_->relays_of(event.tag) > options_.relay_replicas) {
      of_set.push_back(std::move(event));
      continue;
    }
    const bool served = tag && check_serving(Ring::kRelay, *tag);
    (served ? own : others).push_back(std::move(event));
  }
  if (!own.empty()) {
    CO_TRY(const std::size_t fresh,
           co_await take(std::move(own), stores_.copies(), Announcer::To::kEverybody));
    counters_.received += fresh;
  }
  if (!of_set.empty()) {
    // Each relay of a set announces the posts that were sent to it, and those of the others to people only.
    CO_TRY(const std::size_t fresh, co_await take(std::move(of_set), 0, Announcer::To::kPeople));
    counters_.received += fresh;
  }
  if (!others.empty()) {
    CO_TRY(const std::size_t fresh, co_await take(std::move(others), 0, Announcer::To::kEverybody));
    counters_.received += fresh;
  }
  co_return refusals;
}

// --- whom to believe ---------------------------------------------------------------------------------------

Result<void> Roles::check_serving(Ring ring, const Tag& tag) const {
  if (ring == Ring::kStorage) return stores_.check_serving(tag);
  bool owned = false;
  for (unsigned i = 0; i < options_.relay_replicas; ++i) {
    const RingId key = replica_key(tag.key(), i, options_.relay_replicas);
    if (rings_.of(Ring::kRelay).serving(key) != nullptr) return {};
    owned = owned || rings_.of(Ring::kRelay).owning(key) != nullptr;
  }
  if (sets_->is_extra(tag)) return {};
  if (owned) return fail(ErrorCode::kBusy, "this node is still fetching the tag's data");
  return fail(ErrorCode::kNotOwner, "this node does not own the tag");
}

// The event belongs here.
Result<void> Roles::check_place(Ring ring, const relay::TagEvent& event) const {
  TRY(const Tag tag, Tag::parse(event.tag));
  if (ring == Ring::kRelay) return check_serving(ring, tag);
  TRY_VOID(stores_.slots_for(tag, event.uri, event.op == relay::Op::kRemove));
  return {};
}

Result<void> Roles::check_blocks(const relay::TagEvent& event) const {
  TRY_VOID(blocks_.check_actor(event.uri));
  TRY_VOID(blocks_.check_actor(event.author));
  return blocks_.check_tag(event.tag);
}

bool Roles::vouches(const std::string& sender, const relay::TagEvent& event) const {
  return is_same_or_below(host_of(sender), host_of(event.uri)) && !liars_.contains(sender);
}

// The events to take. Others are refused: not ours, or not true.
Task<std::vector<relay::TagEvent>> Roles::believable(Ring ring, std::vector<relay::TagEvent> events,
                                                     std::string sender, RelayClaims claims,
                                                     std::vector<Refusal>* refusals) {
  std::vector<relay::TagEvent> believed;
  std::size_t fetches = 0;
  std::map<std::string, fediverse::Wishes> wishes;  // of authors asked for this batch
  for (relay::TagEvent& event : events) {
    const Result<Tag> tag = Tag::parse(event.tag);
    Result<void> verdict = tag ? Result<void>() : std::unexpected(tag.error());
    if (verdict && event.op == relay::Op::kAdd) verdict = check_blocks(event);
    if (verdict && event.op == relay::Op::kAdd && sender != identity_.origin())
      verdict = blocks_.check_actor(sender);
    if (verdict && sender != identity_.origin()) {
      bool trusted = vouches(sender, event);
      if (!trusted && ring == Ring::kStorage) {
        const auto claim = claims.find(event.tag);
        const auto claimed = claim == claims.end() ? std::nullopt : std::optional(claim->second);
        const Result<void> is_relay = co_await sets_->check_relay(*tag, sender, claimed);
        trusted = is_relay.has_value();
      }
      if (trusted) {
        if (ring == Ring::kRelay && rng_.chance(options_.check_share))
          tasks_.spawn("spot_check", spot_check(event, sender));
      } else if (++fetches > options_.fetches_per_batch) {
        verdict = fail(ErrorCode::kBusy, "too many posts to check at once: send the rest again");
      } else {
        verdict = co_await check_at_origin(event);
        if (verdict && event.op == relay::Op::kAdd) verdict = co_await ask_author(&event, &wishes);
      }
    }
    // Last, and with no wait between it and the write: ownership may change at any await.
    if (verdict) verdict = check_place(ring, event);
    if (!verdict && ring == Ring::kRelay && verdict.error().code == ErrorCode::kNotOwner) sets_->doubt(*tag);
    if (verdict) {
      believed.push_back(std::move(event));
    } else {
      refusals->push_back({std::move(event.uri), std::move(event.tag), verdict.error()});
    }
  }
  std::erase_if(believed, [&](relay::TagEvent& event) {
    const Result<void> still = check_place(ring, event);
    if (!still) refusals->push_back({event.uri, event.tag, still.error()});
    return !still;
  });
  co_return believed;
}

// Fetches the post: an Add is true if it is public and carries the tag, a Remove if it is gone or does not.
Task<Result<void>> Roles::check_at_origin(relay::TagEvent event) {
  ++counters_.checked;
  const Result<std::string> body = co_await courier_.fetch_body(event.uri);
  const Result<json::object> document = body ? json::parse_object(*body) : std::unexpected(body.error());
  const bool gone = !document && document.error().code == ErrorCode::kNotFound;
  if (event.op == relay::Op::kRemove && gone) co_return Result<void>();
  if (!document) co_return std::unexpected(document.error());
  if (!fediverse::is_post(*document)) {
    if (event.op == relay::Op::kRemove) co_return Result<void>();  // a Tombstone, say
    co_return fail(ErrorCode::kInvalid, "what stands at the post's place is no post");
  }
  // Whoever names a wrong author is told so: that the post is not by him makes it no less alive.
  const Result<fediverse::Note> note =
      fediverse::parse_note(*document, event.author, clock_.wall_now(), fediverse::ParseLimits{});
  if (!note) co_return std::unexpected(note.error());
  const bool tagged =
      note->id == event.uri && note->visibility == fediverse::Visibility::kPublic &&
      std::ranges::any_of(note->tags, [&](const Tag& tag) { return tag.canonical() == event.tag; });
  if (tagged == (event.op == relay::Op::kAdd)) co_return Result<void>();
  co_return fail(ErrorCode::kInvalid,
                 tagged ? "the post still carries the tag" : "the post is not public or lacks the tag");
}

// Leaves the archive out of it if the author says so. kDenied if he does not wish to be relayed at all.
Task<Result<void>> Roles::ask_author(relay::TagEvent* event,
                                     std::map<std::string, fediverse::Wishes>* asked) {
  auto known = asked->find(event->author);
  if (known == asked->end()) {
    CO_TRY(const std::string body, co_await courier_.fetch_body(event->author));
    CO_TRY(const fediverse::RemoteActor author, fediverse::parse_actor(body, event->author));
    known = asked->emplace(event->author, fediverse::wishes_of(author)).first;
  }
  if (!known->second.relay) co_return fail(ErrorCode::kDenied, "the author does not wish to be relayed");
  event->indexable = event->indexable && known->second.archive;
  co_return Result<void>();
}

Task<void> Roles::spot_check(relay::TagEvent event, std::string sender) {
  // Owners of several tags draw the same post at about the same time: not all at once to its server.
  const auto spread = static_cast<std::uint64_t>(kSpotCheckSpread.count());
  const Instant later = clock_.now() + Duration(static_cast<Duration::rep>(rng_.below(spread)));
  co_await clock_.sleep_until(later);
  const std::string uri = event.uri;
  const Result<void> verdict = co_await check_at_origin(std::move(event));
  if (verdict || verdict.error().code != ErrorCode::kInvalid) co_return;
  log_.warn("sender_not_believed_any_more",
            {{"sender", sender}, {"post", uri}, {"because", verdict.error().message}});
  liars_.insert(std::move(sender));
}

}  // namespace tagring::node
