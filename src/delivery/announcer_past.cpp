// The part of Announcer that takes up after a start what was owed before it: all of the feed is read once, in
// its order, beside everything else.
#include <algorithm>

#include "crypto/hash.hpp"
#include "delivery/announcer.hpp"

namespace tagring::delivery {
namespace {

constexpr std::size_t kPage = 2'000;  // entries
// Then others go on: under a hashtag that many follow one entry takes as long as a page under others.
constexpr Duration kTakenUpAtOnce = std::chrono::milliseconds(10);
constexpr Duration kTakeUpAgain = std::chrono::seconds(1);

}  // namespace

Task<Result<void>> Announcer::load() {
  Reading reading;
  CO_TRY(reading.cursors, co_await store_.cursors());
  CO_TRY(reading.end, co_await store_.feed_end());
  for (const auto& [destination, cursor] : reading.cursors) {
    Inbox& inbox = inbox_of(destination);
    reading.acknowledged[inbox.hash] = cursor.acknowledged;
    inbox.acknowledged = cursor.acknowledged;
    if (cursor.gone_since) inbox.gone_since = instant_of(*cursor.gone_since);
    inbox.refusing_since = instant_of(cursor.refusing_since);
    inbox.refusals = cursor.refusals;
    inbox.silent_days = cursor.silent_days;
    inbox.silent_at = instant_of(cursor.silent_at);
  }
  last_seq_ = reading.end;
  reading_ = std::move(reading);
  co_return Result<void>();
}

json::object Announcer::reading() const {
  json::object status = {{"read", reading_->through}, {"of", reading_->end}};
  if (!reading_->because.empty()) status["because"] = reading_->because;
  return status;
}

Task<void> Announcer::take_up(Visit visit) {
  while (reading_) {
    const Result<void> read = co_await read_on(visit);
    if (read) continue;
    if (reading_->because != read.error().message)
      log_.warn("feed_not_read", {{"through", reading_->through}, {"because", read.error().message}});
    reading_->because = read.error().message;
    const Instant later = clock_.now() + kTakeUpAgain;
    co_await clock_.sleep_until(later);
  }
}

// The next page; if it fails, nothing of it.
Task<Result<void>> Announcer::read_on(Visit visit) {
  if (!reading_->is_dated) {
    CO_TRY_VOID(co_await doubt_date());
  }
  const std::uint64_t through = reading_->through;
  CO_TRY(std::vector<FeedEntry> page, co_await store_.feed(through, kPage));
  std::erase_if(page, [this](const FeedEntry& entry) { return entry.seq > reading_->end; });
  Store::Notes notes;
  if (!page.empty()) {
    CO_TRY(notes, co_await store_.notes(through, page.back().seq));
  }
  Items items;
  for (FeedEntry& entry : page)
    items.push_back(std::make_shared<Announcement>(std::move(entry), clock_.now()));
  if (visit) {
    CO_TRY_VOID(co_await visit(items));
  }
  if (items.empty()) {
    finish_reading();
    co_return Result<void>();
  }
  reading_->because.clear();
  Instant begun = clock_.now();
  for (const Item& item : items) {
    const auto told = notes.find(item->entry.seq);
    take_up(item, told == notes.end() ? ToldNotes() : read_notes(told->second));
    reading_->through = item->entry.seq;
    if (clock_.now() - begun < kTakenUpAtOnce) continue;
    const Instant soon = clock_.now() + Duration(1);
    co_await clock_.sleep_until(soon);
    begun = clock_.now();
  }
  co_return Result<void>();
}

void Announcer::take_up(const Item& item, ToldNotes notes) {
  const Past past{reading_->cursors, std::move(notes)};
  queue(item, &past, To::kEverybody);
  for (const auto& [inbox, was_chosen] : past.notes) {
    const auto known = reading_->acknowledged.find(inbox);
    const bool is_owed = known == reading_->acknowledged.end() || known->second < item->entry.seq;
    if (was_chosen && is_owed) reading_->chosen.emplace(inbox, item);
  }
}

void Announcer::finish_reading() {
  const Chosen chosen = std::exchange(reading_->chosen, {});
  tell_otherwise(chosen);
  // Hashtag by hashtag it would be decided otherwise than it was of all together.
  const auto gathering = std::exchange(reading_->gathering, {});
  for (const auto& [destination, uri] : gathering)
    decide_if_gathering(destination, inboxes_[destination], uri);
  std::map<std::uint64_t, Held> held = std::move(reading_->held);
  last_seq_ = reading_->end;
  reading_.reset();
  for (auto& [seq, came] : held) {
    last_seq_ = seq;  // or an inbox would get past those that are still held
    queue(std::make_shared<Announcement>(std::move(came.entry), clock_.now()), nullptr, came.to);
  }
  // What people were sent meanwhile did not count behind what was chosen.
  for (auto& [destination, inbox] : inboxes_) {
    if (!inbox.recent.empty() && chosen.contains(inbox.hash)) settle(destination, inbox, 0);
  }
}

std::uint64_t Announcer::read_for(const Inbox& inbox) const {
  const auto owed = reading_->chosen.lower_bound(inbox.hash);  // the first of those of that inbox
  const bool is_owed = owed != reading_->chosen.end() && owed->first == inbox.hash;
  return is_owed ? std::min(reading_->through, owed->second->entry.seq - 1) : reading_->through;
}

// By a clock that is right something was accepted lately; one that is not may have been set while the node
// was down.
Task<Result<void>> Announcer::doubt_date() {
  const std::uint64_t end = reading_->end;
  CO_TRY(const std::uint64_t lately,
         co_await store_.feed_start(clock_.wall_now() - SteadyDate::kBelievedAfter));
  const bool is_doubted = end > 0 && lately >= end;
  if (is_doubted) date_.doubt();
  if (is_doubted) begin_anew();
  reading_->is_dated = true;
  co_return Result<void>();
}

// Followers are lost by these times, which are doubted.
void Announcer::begin_anew() {
  for (auto& [destination, inbox] : inboxes_) {
    if (!inbox.gone_since && inbox.refusals == 0) continue;
    if (inbox.gone_since) inbox.gone_since = clock_.now();
    inbox.refusing_since = clock_.now();
    moved_.insert(destination);
  }
}

Announcer::Before Announcer::before_of(const Past& past, const std::string& destination, std::uint64_t seq) {
  Before before;
  const auto cursor = past.cursors.find(destination);
  before.done = cursor != past.cursors.end() && cursor->second.acknowledged >= seq;
  if (past.notes.empty()) return before;
  const auto noted = past.notes.find(inbox_of(destination).hash);
  if (noted != past.notes.end()) before.noted = noted->second;
  return before;
}

// What waited before a restart under hashtags that nobody follows there any more.
void Announcer::tell_otherwise(const Chosen& chosen) {
  const auto of_inboxes = [&](auto see) {
    for (auto& [destination, inbox] : inboxes_) {
      const auto [first, last] = chosen.equal_range(inbox.hash);
      for (auto each = first; each != last; ++each) {
        const TagEvent& event = each->second->entry.event;
        if (inbox.recent.contains(event.uri) && followers_.target(event.tag, destination) == nullptr)
          see(destination, inbox, each->second);
      }
    }
  };
  // All first: how far the inbox has got is told by what waits.
  of_inboxes(
      [](const std::string&, Inbox& inbox, const Item& item) { inbox.waiting.try_emplace(item->entry.seq); });
  of_inboxes([this](const std::string& destination, Inbox& inbox, const Item& item) {
    tell_otherwise(destination, item, /*hands_over=*/true);
    settle(destination, inbox, item->entry.seq);
  });
}

}  // namespace tagring::delivery
