#include "delivery/announcer.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "crypto/hash.hpp"
#include "ring/contact.hpp"

namespace tagring::delivery {
namespace {

constexpr Duration kSaveEvery = std::chrono::seconds(1);
constexpr Duration kPruneEvery = std::chrono::minutes(1);
constexpr Duration kForgetAfter = std::chrono::hours(1);
// Who is told of a post fetches it: the first of them at once, many not all in one moment.
constexpr std::size_t kTargetsAtOnce = 20;
constexpr Duration kSpreadPerInbox = Duration(10);
constexpr Duration kSpreadMax = std::chrono::minutes(1);
// Who came live on the last two days is read from it (budget::DayAuthors).
constexpr Duration kFeedLifetime = std::chrono::hours(72);
constexpr Duration kReadAgain = std::chrono::seconds(1);
constexpr std::size_t kToldByOthersMax = 10'000;

queues::QueueOptions fasp_options(queues::QueueOptions options) {
  options.batch_max = AnnouncementSender::kFaspObjectsMax;
  return options;
}

}  // namespace

Announcer::Announcer(queues::QueueOptions options, Store& store, const Followers& followers,
                     const federation::Blocks& blocks, AnnouncementSender& sender, const Runtime& runtime)
    : store_(store),
      followers_(followers),
      blocks_(blocks),
      sender_(sender),
      clock_(runtime.clock),
      log_(runtime.log),
      rng_(runtime.rng.fork("announcer").fork("people")),
      date_(runtime.clock),
      lanes_(runtime.clock, runtime.executor, runtime.rng.fork("announcer").fork("lanes"), options,
             {[this](std::string inbox, Items items) {
                return send_to_node(std::move(inbox), std::move(items));
              },
              [](const Item& item) { return weight(item->entry.event); },
              [&sender](const std::string& inbox) { return sender.hosts().of(host_of(inbox)); }}),
      fasp_(fasp_options(options), sender.hosts(), runtime, rng_.fork("fasp"),
            [this](std::string inbox, std::string hashtag, Items items, std::size_t most) {
              return send_to_fasp_server(std::move(inbox), std::move(hashtag), std::move(items), most);
            }),
      people_(
          options, sender.hosts(), runtime, rng_.fork("lanes"),
          [this](std::string inbox, Item item) { return send_to_people(std::move(inbox), std::move(item)); }),
      tasks_(runtime.executor) {}

void Announcer::start(Visit visit) {
  tasks_.spawn("announcer", upkeep());
  if (reading_) tasks_.spawn("read_feed", take_up(std::move(visit)));
}

Task<void> Announcer::stop() {
  co_await lanes_.stop();
  co_await fasp_.stop();
  co_await people_.stop();
  tasks_.cancel();
  co_await tasks_.join();
  co_await save_cursors();
}

void Announcer::push(FeedEntry entry, To to) {
  last_seq_ = std::max(last_seq_, entry.seq);
  if (to == To::kPeople) {
    tagring::make_room(told_by_others_, kToldByOthersMax);
    told_by_others_[said_by(entry.event)] = entry.seq;
  }
  if (reading_) {
    const std::uint64_t seq = entry.seq;
    reading_->held.insert_or_assign(seq, Held{std::move(entry), to});
    return;
  }
  queue(std::make_shared<Announcement>(std::move(entry), clock_.now()), nullptr, to);
}

Task<void> Announcer::push_missed(Tag tag, std::vector<std::string> inboxes, std::uint64_t after) {
  // What comes later is queued when it comes, and what is read later when it is read.
  const std::uint64_t end = reading_ ? reading_->through : last_seq_;
  while (after < end) {
    const auto page = co_await store_.feed(after, kLoadPage);
    if (!page) {  // they are followers now, and nobody comes back to what they missed
      const Instant later = clock_.now() + kReadAgain;
      co_await clock_.sleep_until(later);
      continue;
    }
    if (page->empty()) co_return;
    after = page->back().seq;
    for (const FeedEntry& entry : *page) {
      if (entry.event.tag != tag || entry.seq > end) continue;
      const Item item = std::make_shared<Announcement>(entry, clock_.now());
      for (const std::string& inbox : inboxes) {
        if (followers_.target(tag, inbox) == nullptr) continue;
        queue_late(inbox, item);
      }
    }
  }
}

Task<Result<void>> Announcer::hand_on(Tag tag, std::uint64_t after) {
  const std::uint64_t end = last_seq_;
  while (after < end) {
    CO_TRY(std::vector<FeedEntry> page, co_await store_.feed(after, kLoadPage));
    if (page.empty()) break;
    after = page.back().seq;
    Items taken;
    for (FeedEntry& entry : page) {
      const auto others = told_by_others_.find(said_by(entry.event));
      const bool is_ours = others == told_by_others_.end() || others->second < entry.seq;
      if (entry.event.tag == tag && is_ours)
        taken.push_back(std::make_shared<Announcement>(std::move(entry), clock_.now()));
    }
    CO_TRY_VOID(co_await sender_.hand_on(std::move(taken)));
  }
  co_return Result<void>();
}

Task<Result<std::uint64_t>> Announcer::handed_from() {
  if (reading_) co_return fail(ErrorCode::kBusy, "what this node owes is being read");
  if (!date_.is_believed()) co_return 0U;
  CO_TRY(std::uint64_t from, co_await store_.feed_start(clock_.wall_now() - kHandedFor));
  const auto lanes = lanes_.status();
  for (const auto& [inbox, state] : inboxes_) {
    if (!state.late.empty()) from = std::min(from, *state.late.begin() - 1);
    const auto lane = lanes.find(inbox);
    if (lane != lanes.end() && lane->second.failures > 0) from = std::min(from, state.acknowledged);
  }
  co_return from;
}

Announcer::Said Announcer::said_by(const TagEvent& event) {
  const std::string copy = event.is_edit() ? event.signed_copy : std::string();
  return {event.tag, event.uri, event.op, event.changed, copy.substr(0, copy.find(' '))};
}

Task<Result<void>> Announcer::tell_nodes(const TagEvent& event) {
  const auto known = told_by_others_.find(said_by(event));
  if (known == told_by_others_.end()) co_return Result<void>();
  const std::uint64_t seq = known->second;
  told_by_others_.erase(known);
  if (reading_) {  // since then, and so it is held
    reading_->held.at(seq).to = To::kEverybody;
    co_return Result<void>();
  }
  Result<std::vector<FeedEntry>> page = co_await store_.feed(seq - 1, 1);
  if (!page) {
    told_by_others_.try_emplace(said_by(event), seq);
    co_return std::unexpected(std::move(page).error());
  }
  if (page->empty() || page->front().seq != seq) co_return Result<void>();
  const Item item = std::make_shared<Announcement>(std::move(page->front()), clock_.now());
  for (const Followers::Way* way : ways(event.tag, event.uri, seq)) {
    if (way->second.via() == Via::kNode) queue_late(way->first, item);
  }
  co_return Result<void>();
}

void Announcer::queue_late(const std::string& destination, const Item& item) {
  Inbox& inbox = inbox_of(destination);
  inbox.via = Via::kNode;
  if (inbox.late.insert(item->entry.seq).second) note(inbox, item->entry.seq, false);
  lanes_.push(destination, item);
}

bool Announcer::has_reached(const std::string& inbox, std::uint64_t seq) const {
  if (reading_) return false;
  const auto state = inboxes_.find(inbox);
  if (state == inboxes_.end()) return true;
  const std::set<std::uint64_t>& late = state->second.late;
  if (!late.empty() && *late.begin() <= seq) return false;
  if (state->second.acknowledged >= seq) return true;
  return !lanes_.contains(inbox) && state->second.waiting.empty();
}

std::vector<const Followers::Way*> Announcer::ways(const Tag& tag, const std::string& uri, std::uint64_t seq,
                                                   std::uint64_t added) const {
  using enum Followers::Use;
  return followers_.ways(tag, uri, [&](const Followers::Way& way) {
    const auto& [destination, target] = way;
    if (target.since >= seq) return kNone;
    const auto inbox = inboxes_.find(destination);
    const bool is_known = inbox != inboxes_.end();
    if (is_known && inbox->second.recent.contains(uri))
      return kNeeded;  // what was told there is undone there
    const bool is_younger = added != 0 && target.since >= added;
    if (is_younger && !sender_.gives_past(tag, target)) return kNone;
    return is_known && inbox->second.fails ? kFails : kWorks;
  });
}

bool Announcer::remembers(const std::string& inbox, const std::string& uri) const {
  const auto known = inboxes_.find(inbox);
  return known != inboxes_.end() && known->second.recent.contains(uri);
}

Duration Announcer::spread_of(const Tag& tag) const {
  const auto* targets = followers_.targets(tag);
  if (targets == nullptr || targets->size() <= kTargetsAtOnce) return Duration::zero();
  const auto beyond = static_cast<Duration::rep>(targets->size() - kTargetsAtOnce);
  return std::min(kSpreadMax, kSpreadPerInbox * beyond);
}

Duration Announcer::wait_in_spread_of(const Tag& tag) {
  const Duration spread = spread_of(tag);
  if (spread == Duration::zero()) return spread;
  return Duration(static_cast<Duration::rep>(rng_.below(static_cast<std::uint64_t>(spread.count()))));
}

void Announcer::queue(const Item& item, const Past* past, To to) {
  const auto& [seq, event, added] = item->entry;
  const std::string author_host = host_of(event.uri);
  const bool is_refused = event.op == Op::kAdd && blocks_.is_refused_by(event.author, event.tag.canonical());
  for (const Followers::Way* way : ways(event.tag, event.uri, seq, added)) {
    const auto& [destination, target] = *way;
    const Via via = target.via();
    const bool is_node = via == Via::kNode;
    if (is_node && to == To::kPeople) continue;
    if (!is_node && (event.is_edit() || event.is_repeat())) continue;
    Inbox& inbox = inbox_of(destination);
    const Before before = past == nullptr ? Before() : before_of(*past, destination, seq);
    const bool returns = target.host == author_host && !(via == Via::kBoost && blocks_.may_boost_own_posts());
    const bool is_kept_away = returns || !blocks_.may_go(author_host, target.host);
    // What was told before that was decided is taken back all the same.
    const bool takes_back = event.op == Op::kRemove && remembers(destination, event.uri);
    if (!is_node && (is_refused || (is_kept_away && !takes_back))) {
      if (event.op == Op::kAdd && via != Via::kFasp) keep_away(destination, inbox, item, past, before);
      continue;
    }
    inbox.via = via;
    if (via == Via::kFasp) {
      queue_for_fasp_server(destination, item, before);
    } else if (!is_node) {
      queue_for_people(destination, item, before);
    } else if (before.told() != true) {
      if (before.noted) inbox.late.insert(seq);
      lanes_.push(destination, item);
    }
  }
}

bool Announcer::may_still_go(const TagEvent& event, const std::string& host) const {
  return event.op == Op::kRemove ||
         (!blocks_.is_refused_by(event.author, event.tag.canonical()) &&
          blocks_.of_actor(event.author) == nullptr && blocks_.may_go(host_of(event.uri), host));
}

Announcer::Inbox& Announcer::inbox_of(const std::string& destination) {
  Inbox& inbox = inboxes_[destination];
  if (inbox.hash == 0) inbox.hash = crypto::hash64(destination);
  return inbox;
}

std::map<std::string, queues::QueueStatus> Announcer::lanes() const {
  std::map<std::string, queues::QueueStatus> all = lanes_.status();
  all.merge(fasp_.status());
  all.merge(people_.status());
  return all;
}

// --- nodes -------------------------------------------------------------------------------------------------

Task<Announcer::Items> Announcer::send_to_node(std::string inbox, Items items) {
  std::uint64_t reached = 0;
  std::set<std::uint64_t> late;
  for (const Item& item : items) {
    const std::uint64_t seq = item->entry.seq;
    if (inboxes_[inbox].late.contains(seq)) {
      late.insert(seq);
    } else {
      reached = std::max(reached, seq);
    }
  }
  std::erase_if(items, [&](const Item& item) { return clock_.now() - item->since > kLifetime; });
  const std::size_t count = items.size();
  const std::optional<Instant> gone_since = inboxes_[inbox].gone_since;
  const bool is_lost = gone_since && clock_.now() - *gone_since >= kNodeGoneAfter;
  using enum AnnouncementSender::IfGone;
  auto [again, because, answered, is_gone] =
      co_await sender_.send_to_node(inbox, std::move(items), is_lost ? kLost : kAgain);
  note_whether_gone(inbox, is_gone, is_lost);
  if (answered) {
    lanes_.answered(inbox);
    note_answer(inbox);
  }
  if (!because.empty()) lanes_.blame(inbox, std::move(because));
  delivered_ += count - again.size();
  const bool is_silent = !answered && !is_gone && !again.empty();
  if (is_silent && is_lost_by_silence(inbox)) again.clear();
  for (const Item& item : again) {
    if (late.erase(item->entry.seq) == 0) reached = std::min(reached, item->entry.seq - 1);
  }
  Inbox& state = inboxes_[inbox];
  for (const std::uint64_t seq : late) {
    state.late.erase(seq);
    note(state, seq, true);
  }
  if (reached > state.acknowledged) {
    state.acknowledged = reached;
    moved_.insert(inbox);
  }
  co_return again;
}

void Announcer::note_whether_gone(const std::string& inbox, bool is_gone, bool is_lost) {
  Inbox& state = inboxes_[inbox];
  const std::optional<Instant> before = state.gone_since;
  if (!is_gone) state.gone_since.reset();
  if (is_gone && !before) state.gone_since = clock_.now();
  // Whoever follows from there again begins anew.
  if (is_gone && is_lost && followers_.tags_at(inbox) <= 1) state.gone_since.reset();
  if (state.gone_since != before) moved_.insert(inbox);
}

// --- inboxes that are silent -------------------------------------------------------------------------------

void Announcer::note_answer(const std::string& destination) {
  Inbox& inbox = inboxes_[destination];
  inbox.answered = clock_.now();
  if (std::exchange(inbox.silent_days, 0) > 0) moved_.insert(destination);
}

// Days are counted, not the time from the first to the last: this node may have been off for a month itself.
bool Announcer::is_lost_by_silence(const std::string& destination) {
  Inbox& inbox = inboxes_[destination];
  const Instant now = clock_.now();
  inbox.missed = now;
  const bool is_counted = inbox.silent_days > 0 && now - inbox.silent_at < kSilentDay;
  if (is_counted || !reaches_most_) return false;
  inbox.silent_at = now;
  moved_.insert(destination);
  if (++inbox.silent_days <= kSilentDaysMax) return false;
  if (inbox.via == Via::kFasp) {
    log_.warn("fasp_server_silent",
              {{"inbox", destination},
               {"days", inbox.silent_days},
               {"what_to_do", "if it does not come back: tagring fasp remove " + host_of(destination)}});
    return false;
  }
  log_.info("inbox_silent_for_a_month", {{"inbox", destination}});
  for (const Tag& tag : followers_.all_tags_at(destination)) sender_.lost(tag, destination);
  // Whoever follows from there again begins anew.
  inbox.silent_days = 0;
  inbox.missed.reset();
  return true;
}

// If not, it may be this node that is cut off. For as long as a post is tried, since there may be no other
// meanwhile. By registered domain: of one that is down there may be as many hosts and inboxes as somebody
// likes. One that answers proves little: it may be a neighbour.
bool Announcer::reaches_most() const {
  const Instant now = clock_.now();
  const auto is_recent = [&](const std::optional<Instant>& when) { return when && now - *when < kLifetime; };
  std::map<std::string, bool> domains;
  for (const auto& [destination, inbox] : inboxes_) {
    const bool is_reached = is_recent(inbox.answered);
    if (!is_reached && !is_recent(inbox.missed)) continue;
    const std::string host = host_of(destination);
    domains[ring::domain_of(host)] |= is_reached;
  }
  const auto reached = std::ranges::count_if(domains, [](const auto& domain) { return domain.second; });
  return 2 * static_cast<std::size_t>(reached) > domains.size();
}

Task<void> Announcer::upkeep() {
  for (;;) {
    const Instant next = clock_.now() + kSaveEvery;
    co_await clock_.sleep_until(next);
    co_await save_cursors();
    // Who is owed something, and who was told, is not known before it is read.
    if (reading_ || clock_.now() < next_prune_) continue;
    next_prune_ = clock_.now() + kPruneEvery;
    reaches_most_ = reaches_most();
    forget_left();
    if (date_.is_believed()) co_await prune();
  }
}

// Whoever follows from there again begins anew.
void Announcer::forget_left() {
  std::optional<std::map<std::string, queues::QueueStatus>> busy;
  for (auto entry = inboxes_.begin(); entry != inboxes_.end();) {
    auto& [destination, inbox] = *entry;
    const bool is_left = followers_.tags_at(destination) == 0 && inbox.waiting.empty();
    if (!is_left) inbox.left.reset();
    if (is_left && !inbox.left) {
      inbox.left = clock_.now();
      inbox.silent_days = 0;
      inbox.missed.reset();
    }
    bool is_gone = inbox.left && clock_.now() - *inbox.left >= kForgetAfter;
    if (is_gone && !busy) busy = lanes();
    is_gone = is_gone && !busy->contains(destination);
    if (is_gone) recent_ -= inbox.recent.size();
    entry = is_gone ? inboxes_.erase(entry) : std::next(entry);
  }
}

Task<void> Announcer::save_cursors() {
  if (moved_.empty() && notes_.empty()) co_return;
  Store::Cursors cursors;
  const std::set<std::string> moved = std::exchange(moved_, {});
  for (const std::string& destination : moved) {
    if (followers_.tags_at(destination) == 0) continue;
    const Inbox& inbox = inboxes_[destination];
    Store::Cursor& cursor = cursors[destination];
    cursor.acknowledged = inbox.acknowledged;
    if (inbox.gone_since) cursor.gone_since = wall_time_of(*inbox.gone_since);
    cursor.refusals = inbox.refusals;
    if (inbox.refusals > 0) cursor.refusing_since = wall_time_of(inbox.refusing_since);
    cursor.silent_days = inbox.silent_days;
    if (inbox.silent_days > 0) cursor.silent_at = wall_time_of(inbox.silent_at);
  }
  const Store::Notes notes = std::exchange(notes_, {});
  const Result<void> saved = co_await store_.advance(std::move(cursors), notes);
  // Until it is saved some announcements would be repeated after a restart.
  if (saved) co_return;
  moved_.insert(moved.begin(), moved.end());
  for (const auto& [seq, text] : notes) notes_[seq].insert(0, text);
}

Instant Announcer::instant_of(WallTime time) const {
  return clock_.now() - std::max(Duration::zero(), clock_.wall_now() - time);
}

WallTime Announcer::wall_time_of(Instant time) const { return clock_.wall_now() - (clock_.now() - time); }

Task<void> Announcer::prune() {
  std::uint64_t least = last_seq_;
  const auto lanes = lanes_.status();
  for (const auto& [inbox, state] : inboxes_) {
    if (!state.late.empty()) least = std::min(least, *state.late.begin() - 1);
    if (lanes.contains(inbox) || !state.waiting.empty()) least = std::min(least, state.acknowledged);
  }
  co_await store_.prune_feed(least, clock_.wall_now() - kFeedLifetime);
  co_await store_.prune_feed(last_seq_, clock_.wall_now() - kLifetime);
}

}  // namespace tagring::delivery
