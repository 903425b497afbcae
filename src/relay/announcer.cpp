#include "relay/announcer.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "fediverse/fasp.hpp"
#include "relay/results.hpp"
#include "relay/wire.hpp"

namespace tagring::relay {
namespace {

constexpr std::size_t kLoadPage = 10'000;
constexpr std::size_t kLettersMax = 16;
constexpr std::size_t kRecentMax = 1'000;  // posts remembered for each inbox
constexpr Duration kSaveEvery = std::chrono::seconds(1);
constexpr Duration kPruneEvery = std::chrono::minutes(1);
constexpr Duration kSpreadPerInbox = Duration(10);
constexpr Duration kSpreadMax = std::chrono::minutes(1);
constexpr Duration kTellAgainAfter = std::chrono::seconds(30);
constexpr std::size_t kFaspObjectsMax = 100;  // of one announcement
constexpr Duration kFeedLifetime = std::chrono::hours(24);

}  // namespace

Announcer::Announcer(federation::QueueOptions options, Store& store, Followers& followers,
                     const PartialCollections& partials, federation::SignedClient& client,
                     const federation::Blocks& blocks, Observer& observer, const Runtime& runtime)
    : store_(store),
      followers_(followers),
      partials_(partials),
      client_(client),
      blocks_(blocks),
      observer_(observer),
      identity_(client.identity()),
      clock_(runtime.clock),
      rng_(runtime.rng.fork("announcer")),
      lanes_(
          runtime.clock, runtime.executor, rng_.fork("lanes"), options,
          [this](std::string inbox, Items items) { return send(std::move(inbox), std::move(items)); },
          [](const Item& item) { return weight(item->entry.event); }),
      tasks_(runtime.executor) {}

Task<Result<void>> Announcer::load() {
  CO_TRY(const auto cursors, co_await store_.cursors());
  std::uint64_t after = 0;
  for (;;) {
    CO_TRY(std::vector<FeedEntry> page, co_await store_.feed(after, kLoadPage));
    if (page.empty()) break;
    after = page.back().seq;
    for (FeedEntry& entry : page)
      queue(std::make_shared<Queued>(std::move(entry), clock_.now()), &cursors, To::kEverybody);
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

void Announcer::push(FeedEntry entry, To to) {
  last_seq_ = std::max(last_seq_, entry.seq);
  observer_.entered(entry);
  queue(std::make_shared<Queued>(std::move(entry), clock_.now()), nullptr, to);
}

Task<void> Announcer::push_missed(std::string tag, std::vector<std::string> inboxes, std::uint64_t after) {
  const std::uint64_t end = last_seq_;  // what comes later is queued when it comes
  while (after < end) {
    const auto page = co_await store_.feed(after, kLoadPage);
    if (!page || page->empty()) co_return;
    after = page->back().seq;
    for (const FeedEntry& entry : *page) {
      if (entry.event.tag != tag || entry.seq > end) continue;
      const Item item = std::make_shared<Queued>(entry, clock_.now());
      for (const std::string& inbox : inboxes) {
        if (followers_.target(tag, inbox) == nullptr) continue;
        inboxes_[inbox].via = Via::kNode;
        lanes_.push(inbox, item);
      }
    }
  }
}

bool Announcer::has_reached(const std::string& inbox, std::uint64_t seq) const {
  const auto state = inboxes_.find(inbox);
  return state == inboxes_.end() || state->second.acknowledged >= seq || !lanes_.contains(inbox);
}

void Announcer::queue(const Item& item, const std::map<std::string, std::uint64_t>* cursors, To to) {
  const auto* targets = followers_.targets(item->entry.event.tag);
  if (targets == nullptr) return;
  const std::string author_host = host_of(item->entry.event.uri);
  // Every instance that is told of the post fetches it.
  const Duration spread =
      std::min(kSpreadMax, kSpreadPerInbox * static_cast<Duration::rep>(targets->size() - 1));
  for (const auto& [destination, target] : *targets) {
    if (target.since >= item->entry.seq) continue;
    const Via via = target.via();
    const bool is_node = via == Via::kNode;
    if (is_node && to == To::kPeople) continue;
    const bool by_tag = is_node || via == Via::kFasp;  // told of every hashtag of a post
    // Never back to where it comes from.
    if (!is_node && (target.host == author_host || !blocks_.may_go(author_host, target.host))) continue;
    bool done = false;
    if (cursors != nullptr) {
      const auto cursor = cursors->find(destination);
      done = cursor != cursors->end() && cursor->second >= item->entry.seq;
    }
    Inbox& inbox = inboxes_[destination];
    inbox.via = via;
    if ((by_tag || concerns_people(destination, inbox, item)) && !done)
      lanes_.push(destination, item, is_node ? Duration::zero() : spread);
  }
}

// An inbox that is no node's is told of a post under the first of its tags that somebody there follows, and
// when it loses that one.
bool Announcer::concerns_people(const std::string& destination, Inbox& inbox, const Item& item) {
  const TagEvent& event = item->entry.event;
  if (event.op == Op::kAdd) {
    if (inbox.recent.size() >= kRecentMax) inbox.recent.clear();
    Items& under = inbox.recent[event.uri].under;
    under.push_back(item);
    return under.size() == 1;
  }
  const auto known = inbox.recent.find(event.uri);
  // Which of its tags a post was announced under is not remembered for ever: then this one is taken back.
  if (known == inbox.recent.end()) return true;
  Told& told = known->second;
  const bool undo = !told.undone && told.under.front()->entry.event.tag == event.tag;
  std::erase_if(told.under, [&](const Item& other) { return other->entry.event.tag == event.tag; });
  if (told.under.empty()) {
    inbox.recent.erase(known);
  } else if (undo) {
    told.undone = true;
    tasks_.spawn("tell_again", tell_again(destination, event.uri));
  }
  return undo;
}

// The post has lost the tag under which it was announced. If it is still there after a while, under a tag
// that somebody follows, then it was edited; if not, it is being deleted, tag by tag.
Task<void> Announcer::tell_again(std::string destination, std::string uri) {
  const Instant later = clock_.now() + kTellAgainAfter;
  co_await clock_.sleep_until(later);
  auto& recent = inboxes_[destination].recent;
  const auto told = recent.find(uri);
  if (told == recent.end() || !told->second.undone) co_return;
  told->second.undone = false;
  lanes_.push(destination, told->second.under.front());
}

Task<Announcer::Items> Announcer::send(std::string inbox, Items items) {
  std::uint64_t last = 0;
  for (const Item& item : items) last = std::max(last, item->entry.seq);
  std::erase_if(items, [&](const Item& item) { return clock_.now() - item->since > kLifetime; });
  const std::size_t count = items.size();
  Items again;
  if (inboxes_[inbox].via == Via::kFasp) {
    again = co_await send_to_fasp_server(inbox, std::move(items));
  } else if (inboxes_[inbox].via == Via::kNode) {
    again = co_await send_to_node(inbox, std::move(items));
  } else {
    again = co_await send_to_people(inbox, std::move(items));
  }
  delivered_ += count - again.size();
  const std::uint64_t reached = again.empty() ? last : again.front()->entry.seq - 1;
  Inbox& state = inboxes_[inbox];
  if (reached > state.acknowledged) {
    state.acknowledged = reached;
    moved_.insert(inbox);
  }
  co_return again;
}

// One activity for all who get the same posts.
std::string Announcer::letter(Op op, const Items& items) {
  const auto same = std::ranges::find_if(
      letters_, [&](const Letter& letter) { return letter.op == op && letter.items == items; });
  if (same != letters_.end()) return same->body;
  std::vector<TagEvent> events;
  redundancy::RelayClaims claims;
  for (const Item& item : items) {
    events.push_back(item->entry.event);
    const std::string& tag = item->entry.event.tag;
    if (claims.contains(tag)) continue;
    if (const std::optional<redundancy::RelayClaim> claim = observer_.claim(tag)) claims.emplace(tag, *claim);
  }
  const std::string id = fmt::format("{}/activities/{}-{}", identity_.origin(), rng_.next(), ++activity_);
  std::string body = op == Op::kAdd
                         ? announce_activity(id, identity_.actor(), events, clock_.wall_now(), claims)
                         : undo_announce_activity(id, identity_.actor(), events, claims);
  if (letters_.size() == kLettersMax) letters_.pop_back();
  letters_.push_front({op, items, body});
  return body;
}

Task<Announcer::Items> Announcer::send_to_node(std::string inbox, Items items) {
  Items again;
  for (const Op op : {Op::kAdd, Op::kRemove}) {
    Items batch;
    std::ranges::copy_if(items, std::back_inserter(batch),
                         [op](const Item& item) { return item->entry.event.op == op; });
    if (batch.empty()) continue;
    std::string body = letter(op, batch);
    const std::size_t octets = body.size() / batch.size();
    const Result<HttpResponse> response =
        co_await client_.deliver(inbox, std::move(body), partials_.header("", inbox));
    if (federation::is_gone(response)) {
      for (const Item& item : batch) observer_.lost_follower(item->entry.event.tag, inbox);
      continue;
    }
    const Result<std::vector<Refusal>> refusals = read_results(response);
    if (!refusals) {
      lanes_.blame(inbox, federation::why_not(refusals.error()));
      co_return items;  // both kinds again: what was taken is known there
    }
    std::set<std::pair<std::string, std::string>> later;
    for (const Item& item : batch) observer_.relayed(item->entry.event.tag, octets);
    for (const Refusal& refusal : *refusals) {
      if (refusal.error.code == ErrorCode::kDenied) observer_.lost_follower(refusal.tag, inbox);
      if (refusal.error.code != ErrorCode::kBusy) continue;
      later.emplace(refusal.uri, refusal.tag);
      lanes_.blame(inbox, federation::why_not(refusal.error));
    }
    std::ranges::copy_if(batch, std::back_inserter(again), [&](const Item& item) {
      return later.contains({item->entry.event.uri, item->entry.event.tag});
    });
  }
  std::ranges::sort(again, {}, [](const Item& item) { return item->entry.seq; });
  co_return again;
}

// By hashtag, what came before what left. If one announcement fails, it and those after it are sent again.
Task<Announcer::Items> Announcer::send_to_fasp_server(std::string inbox, Items items) {
  std::map<std::pair<std::string, Op>, Items> groups;
  for (const Item& item : items) {
    const TagEvent& event = item->entry.event;
    const bool agreed = event.op == Op::kRemove || event.indexable;
    if (agreed && followers_.target(event.tag, inbox) != nullptr)
      groups[{event.tag, event.op}].push_back(item);
  }
  std::set<Item> left;
  for (const auto& [about, group] : groups) left.insert(group.begin(), group.end());
  for (const auto& [about, group] : groups) {
    for (std::size_t from = 0; from < group.size(); from += kFaspObjectsMax) {
      std::vector<std::string> uris;
      const std::size_t to = std::min(group.size(), from + kFaspObjectsMax);
      for (std::size_t i = from; i < to; ++i) uris.push_back(group[i]->entry.event.uri);
      std::string body =
          fediverse::make_fasp_hashtag_announcement(about.first, about.second == Op::kRemove, uris);
      const Result<HttpResponse> response = co_await observer_.deliver_to_fasp_server(inbox, std::move(body));
      if (federation::is_gone(response)) {
        observer_.lost_follower(about.first, inbox);
      } else if (!federation::was_accepted(response) && !federation::was_refused(response)) {
        lanes_.blame(inbox, federation::why_not(response));
        std::erase_if(items, [&](const Item& item) { return !left.contains(item); });
        co_return items;
      }
      for (std::size_t i = from; i < to; ++i) left.erase(group[i]);
    }
  }
  co_return Items();
}

std::string Announcer::single(const std::string& actor, Via via, const TagEvent& event) const {
  const std::string id = announce_id(identity_, actor, event.uri);
  if (event.op == Op::kRemove) return undo_single(id, actor, event);
  const auto audience = via == Via::kBoost ? fediverse::Audience::kPublic : fediverse::Audience::kFollowers;
  return announce_single(id, actor, event, audience, clock_.wall_now());
}

Task<Announcer::Items> Announcer::send_to_people(std::string inbox, Items items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const TagEvent& event = items[i]->entry.event;
    const Followers::Target* target = followers_.target(event.tag, inbox);
    if (target == nullptr) continue;  // unfollowed meanwhile
    const Via via = target->via();
    const bool by_node = via == Via::kRelay;
    const std::string actor = by_node ? identity_.actor() : identity_.tag_actor(*Tag::parse(event.tag));
    // Who uses the node as a relay is in no collection of followers, so there is nothing to compare.
    std::optional<std::string> header = by_node ? std::nullopt : partials_.header(event.tag, inbox);
    const Result<HttpResponse> response =
        co_await client_.deliver_as(actor, inbox, single(actor, via, event), std::move(header));
    if (federation::is_gone(response)) {
      observer_.lost_follower(event.tag, inbox);
      continue;
    }
    if (federation::was_accepted(response) || federation::was_refused(response)) continue;
    lanes_.blame(inbox, federation::why_not(response));
    co_return Items(items.begin() + static_cast<std::ptrdiff_t>(i), items.end());
  }
  co_return Items();
}

Task<void> Announcer::upkeep() {
  for (;;) {
    const Instant next = clock_.now() + kSaveEvery;
    co_await clock_.sleep_until(next);
    co_await save_cursors();
    if (clock_.now() < next_prune_) continue;
    next_prune_ = clock_.now() + kPruneEvery;
    co_await prune();
  }
}

Task<void> Announcer::save_cursors() {
  if (moved_.empty()) co_return;
  std::map<std::string, std::uint64_t> cursors;
  for (const std::string& inbox : std::exchange(moved_, {})) cursors[inbox] = inboxes_[inbox].acknowledged;
  // If it fails, some announcements are repeated after a restart.
  co_await store_.advance(cursors);
}

Task<void> Announcer::prune() {
  std::uint64_t least = last_seq_;
  const auto lanes = lanes_.status();
  for (const auto& [inbox, state] : inboxes_) {
    if (lanes.contains(inbox)) least = std::min(least, state.acknowledged);
  }
  co_await store_.prune_feed(least, clock_.wall_now() - kFeedLifetime);
  co_await store_.prune_feed(last_seq_, clock_.wall_now() - kLifetime);
}

}  // namespace tagring::relay
