#include "relay/announcer.hpp"

#include <algorithm>

#include "base/counted.hpp"

namespace tagring::relay {
namespace {

constexpr std::size_t kLoadPage = 10'000;
constexpr std::size_t kRecentMax = 1'000;  // posts remembered for each inbox
constexpr Duration kSaveEvery = std::chrono::seconds(1);
constexpr Duration kPruneEvery = std::chrono::minutes(1);
constexpr Duration kSpreadPerInbox = Duration(10);
constexpr Duration kSpreadMax = std::chrono::minutes(1);
constexpr Duration kTellAgainAfter = std::chrono::seconds(30);
constexpr Duration kFeedLifetime = std::chrono::hours(24);

}  // namespace

Announcer::Announcer(federation::QueueOptions options, Store& store, const Followers& followers,
                     const federation::Blocks& blocks, AnnouncementSender& sender, const Runtime& runtime)
    : store_(store),
      followers_(followers),
      blocks_(blocks),
      sender_(sender),
      clock_(runtime.clock),
      lanes_(
          runtime.clock, runtime.executor, runtime.rng.fork("announcer").fork("lanes"), options,
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
      queue(std::make_shared<Announcement>(std::move(entry), clock_.now()), &cursors, To::kEverybody);
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
  queue(std::make_shared<Announcement>(std::move(entry), clock_.now()), nullptr, to);
}

Task<void> Announcer::push_missed(std::string tag, std::vector<std::string> inboxes, std::uint64_t after) {
  const std::uint64_t end = last_seq_;  // what comes later is queued when it comes
  while (after < end) {
    const auto page = co_await store_.feed(after, kLoadPage);
    if (!page || page->empty()) co_return;
    after = page->back().seq;
    for (const FeedEntry& entry : *page) {
      if (entry.event.tag != tag || entry.seq > end) continue;
      const Item item = std::make_shared<Announcement>(entry, clock_.now());
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
    make_room(inbox.recent, kRecentMax);
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
  auto [again, because] = co_await sender_.send(inboxes_[inbox].via, inbox, std::move(items));
  if (!because.empty()) lanes_.blame(inbox, std::move(because));
  delivered_ += count - again.size();
  const std::uint64_t reached = again.empty() ? last : again.front()->entry.seq - 1;
  Inbox& state = inboxes_[inbox];
  if (reached > state.acknowledged) {
    state.acknowledged = reached;
    moved_.insert(inbox);
  }
  co_return again;
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
