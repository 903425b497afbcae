#include "delivery/announcer.hpp"

#include <algorithm>

#include "followers/cover.hpp"

namespace tagring::delivery {
namespace {

constexpr std::size_t kRecentMax = 1'000;  // posts remembered for each inbox
// Tags of one post come from several owners, a moment apart.
constexpr Duration kGatherFor = std::chrono::milliseconds(100);
constexpr Duration kSaveEvery = std::chrono::seconds(1);
constexpr Duration kPruneEvery = std::chrono::minutes(1);
// Who is told of a post fetches it: the first of them at once, many not all in one moment.
constexpr std::size_t kTargetsAtOnce = 20;
constexpr Duration kSpreadPerInbox = Duration(10);
constexpr Duration kSpreadMax = std::chrono::minutes(1);
constexpr Duration kTellAgainAfter = std::chrono::seconds(30);
constexpr Duration kFeedLifetime = std::chrono::hours(24);
// Inboxes of one server that a post is tried at: where all are new to us and fail, it is the server.
constexpr unsigned kHandOversMax = 3;

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
      lanes_(runtime.clock, runtime.executor, runtime.rng.fork("announcer").fork("lanes"), options,
             {[this](std::string inbox, Items items) { return send(std::move(inbox), std::move(items)); },
              [](const Item& item) { return weight(item->entry.event); },
              [&sender](const std::string& inbox) { return sender.hosts().of(host_of(inbox)); }}),
      people_(
          options, sender.hosts(), runtime, rng_.fork("lanes"),
          [this](std::string inbox, Item item) { return send_to_people(std::move(inbox), std::move(item)); }),
      tasks_(runtime.executor) {}

Task<Result<void>> Announcer::load() {
  CO_TRY(const auto cursors, co_await store_.cursors());
  loading_ = true;
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
  // Hashtag by hashtag it would be decided otherwise than it was of all together.
  for (auto& [destination, inbox] : inboxes_) {
    for (const std::string& uri : inbox.order) decide_if_gathering(destination, inbox, uri);
  }
  loading_ = false;
  co_return Result<void>();
}

void Announcer::start() { tasks_.spawn("announcer", upkeep()); }

Task<void> Announcer::stop() {
  co_await lanes_.stop();
  co_await people_.stop();
  tasks_.cancel();
  co_await tasks_.join();
  co_await save_cursors();
}

void Announcer::push(FeedEntry entry, To to) {
  last_seq_ = std::max(last_seq_, entry.seq);
  queue(std::make_shared<Announcement>(std::move(entry), clock_.now()), nullptr, to);
}

Task<void> Announcer::push_missed(Tag tag, std::vector<std::string> inboxes, std::uint64_t after) {
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
  if (state == inboxes_.end() || state->second.acknowledged >= seq) return true;
  return !lanes_.contains(inbox) && state->second.waiting.empty();
}

std::vector<const Followers::Way*> Announcer::ways(const Tag& tag, const std::string& uri,
                                                   std::uint64_t seq) const {
  using enum Followers::Use;
  return followers_.ways(tag, uri, [&](const Followers::Way& way) {
    if (way.second.since >= seq) return kNone;
    const auto inbox = inboxes_.find(way.first);
    if (inbox == inboxes_.end()) return kWorks;
    if (inbox->second.recent.contains(uri)) return kNeeded;  // what was told there is undone there
    return inbox->second.fails ? kFails : kWorks;
  });
}

bool Announcer::has_told(const std::string& inbox, const std::string& uri) const {
  const auto known = inboxes_.find(inbox);
  return known != inboxes_.end() && known->second.recent.contains(uri);
}

Duration Announcer::spread_of(const Tag& tag) const {
  const auto* targets = followers_.targets(tag);
  if (targets == nullptr || targets->size() <= kTargetsAtOnce) return Duration::zero();
  const auto beyond = static_cast<Duration::rep>(targets->size() - kTargetsAtOnce);
  return std::min(kSpreadMax, kSpreadPerInbox * beyond);
}

void Announcer::queue(const Item& item, const std::map<std::string, std::uint64_t>* cursors, To to) {
  const TagEvent& event = item->entry.event;
  const std::string author_host = host_of(event.uri);
  const bool is_refused = event.op == Op::kAdd && blocks_.is_refused_by(event.author, event.tag.canonical());
  const Duration spread = spread_of(event.tag);
  for (const Followers::Way* way : ways(event.tag, event.uri, item->entry.seq)) {
    const auto& [destination, target] = *way;
    const Via via = target.via();
    const bool is_node = via == Via::kNode;
    if (is_node && to == To::kPeople) continue;
    const bool returns = target.host == author_host && !(via == Via::kBoost && blocks_.may_boost_own_posts());
    const bool is_kept_away = returns || !blocks_.may_go(author_host, target.host);
    // What was told before that was decided is taken back all the same.
    const bool takes_back = event.op == Op::kRemove && has_told(destination, event.uri);
    if (!is_node && is_kept_away && !takes_back) continue;
    if (!is_node && (is_refused || event.is_edit() || event.is_repeat())) continue;
    bool done = false;
    if (cursors != nullptr) {
      const auto cursor = cursors->find(destination);
      done = cursor != cursors->end() && cursor->second >= item->entry.seq;
    }
    inboxes_[destination].via = via;
    if (!is_node && via != Via::kFasp) {
      queue_for_people(destination, item, done);
    } else if (!done) {
      lanes_.push(destination, item, is_node ? Duration::zero() : spread);
    }
  }
}

// --- people ------------------------------------------------------------------------------------------------

void Announcer::queue_for_people(const std::string& destination, const Item& item, bool done) {
  Inbox& inbox = inboxes_[destination];
  const TagEvent& event = item->entry.event;
  if (!done) inbox.waiting.try_emplace(item->entry.seq);
  if (event.op == Op::kRemove) {
    if (!done) return take_back(destination, inbox, item);
    const auto known = inbox.recent.find(event.uri);
    if (known != inbox.recent.end()) known->second.under.erase(event.tag);
    return;
  }
  if (!inbox.recent.contains(event.uri)) {
    make_room(destination, inbox);
    inbox.order.push_back(event.uri);
  }
  Told& told = inbox.recent[event.uri];
  told.under.insert_or_assign(event.tag, item);
  told.is_guess |= loading_;
  if (told.gathering) return;
  // Where only one of the tags is followed there is nothing to choose.
  if (!loading_ && followers_.tags_at(destination) < 2) return decide(destination, inbox, event.uri);
  told.gathering = true;
  ++gathering_;
  if (!loading_) tasks_.spawn("gather_tags", decide_later(destination, event.uri));
}

Task<void> Announcer::decide_later(std::string destination, std::string uri) {
  const Instant later = clock_.now() + kGatherFor;
  co_await clock_.sleep_until(later);
  decide_if_gathering(destination, inboxes_[destination], uri);
}

void Announcer::decide_if_gathering(const std::string& destination, Inbox& inbox, const std::string& uri) {
  const auto told = inbox.recent.find(uri);
  if (told == inbox.recent.end() || !std::exchange(told->second.gathering, false)) return;
  --gathering_;
  // What was announced of it may be undone: then it is said anew.
  if (!loading_ || !told->second.again) decide(destination, inbox, uri);
}

Task<void> Announcer::tell_again(std::string destination, std::string uri) {
  const Instant later = clock_.now() + kTellAgainAfter;
  co_await clock_.sleep_until(later);
  Inbox& inbox = inboxes_[destination];
  const auto told = inbox.recent.find(uri);
  if (told == inbox.recent.end() || !std::exchange(told->second.again, false)) co_return;
  decide(destination, inbox, uri);
}

// Announces the post under as few more of its tags as it takes, but not again what was before a restart.
void Announcer::decide(const std::string& destination, Inbox& inbox, const std::string& uri) {
  // Who uses the node as a relay needs any of them, and knows no difference.
  static constexpr std::string_view kRelays = "relays";
  Told& told = inbox.recent[uri];
  std::vector<Item> candidates;
  std::vector<followers::Audience> groups;
  followers::Audience reached;
  std::vector<Item> under;  // of several that reach as many, those that came first
  for (const auto& [tag, item] : told.under) under.push_back(item);
  std::ranges::sort(under, {}, [](const Item& item) { return item->entry.seq; });
  // Most posts: then nobody need be counted.
  const bool is_only_one = under.size() == 1 && told.announced.empty();
  for (const Item& item : under) {
    const Tag& tag = item->entry.event.tag;
    const Followers::Target* target = followers_.target(tag, destination);
    if (target == nullptr) {
      settle(destination, inbox, item->entry.seq);
      continue;
    }
    followers::Audience audience = is_only_one ? followers::Audience() : followers_.reached(tag, destination);
    audience.insert(kRelays);
    if (told.announced.contains(tag)) {
      reached.merge(audience);
    } else {
      groups.push_back(std::move(audience));
      candidates.push_back(item);
    }
  }
  const std::vector<std::size_t> chosen = followers::smallest_cover(groups, reached);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Item& item = candidates[i];
    if (std::ranges::find(chosen, i) == chosen.end()) {
      settle(destination, inbox, item->entry.seq);
      continue;
    }
    told.announced[item->entry.event.tag] = clock_.now();
    if (loading_ && !inbox.waiting.contains(item->entry.seq)) continue;
    inbox.waiting.try_emplace(item->entry.seq);
    const Duration spread = spread_of(item->entry.event.tag);
    const Duration wait =
        spread > Duration::zero()
            ? Duration(static_cast<Duration::rep>(rng_.below(static_cast<std::uint64_t>(spread.count()))))
            : spread;
    people_.push(destination, uri, item, wait, loading_);
  }
}

bool Announcer::hand_over(const std::string& destination, const Item& item, unsigned failed) {
  const TagEvent& event = item->entry.event;
  const Followers::Target* from = followers_.target(event.tag, destination);
  if (from == nullptr || !from->is_one_of_many(destination)) return false;
  using enum Followers::Use;
  const auto others = followers_.ways(event.tag, event.uri, [&](const Followers::Way& way) {
    const auto& [inbox, target] = way;
    const bool fits = target.host == from->host && target.since < item->entry.seq;
    if (!fits || inbox == destination || !target.is_one_of_many(inbox)) return kNone;
    const auto known = inboxes_.find(inbox);
    if (known == inboxes_.end()) return kWorks;
    const auto told = known->second.recent.find(event.uri);
    const bool had_it = told != known->second.recent.end() && told->second.under.contains(event.tag);
    return had_it || known->second.fails ? kNone : kWorks;
  });
  if (others.empty()) return false;
  const std::string& inbox = others.front()->first;
  inboxes_[inbox].via = Via::kBoost;
  inboxes_[inbox].waiting.try_emplace(item->entry.seq, failed);
  queue_for_people(inbox, item, /*done=*/false);
  return true;
}

// The post has lost a tag. If it was announced under that one, this is undone, unless it was never sent. If
// the post is still there after a while, under tags that somebody follows, then it was edited; if not, it is
// being deleted, tag by tag.
void Announcer::take_back(const std::string& destination, Inbox& inbox, const Item& item) {
  const TagEvent& event = item->entry.event;
  const auto known = inbox.recent.find(event.uri);
  Duration wait{};
  if (known != inbox.recent.end()) {
    Told& told = known->second;
    if (const auto under = told.under.extract(event.tag))
      settle(destination, inbox, under.mapped()->entry.seq);
    const auto announced = told.announced.extract(event.tag);
    if (!announced && !told.is_guess) return settle(destination, inbox, item->entry.seq);
    if (announced)
      wait = std::max(wait, announced.mapped() + queues::InboxLanes<Item>::kApart - clock_.now());
    // It may have been the only one that was announced. Who has the others knows them by their ids.
    if (told.is_guess) told.announced.clear();
    if (!told.under.empty() && !std::exchange(told.again, true))
      tasks_.spawn("tell_again", tell_again(destination, event.uri));
  }
  // Under which of its tags a post was announced is not remembered for ever: then this one is taken back.
  using TakenBack = queues::InboxLanes<Item>::TakenBack;
  const TakenBack taken = people_.take_back(destination, event.uri, [&](const Item& waiting) {
    const bool same = waiting->entry.event.op == Op::kAdd && waiting->entry.event.tag == event.tag;
    if (same) settle(destination, inbox, waiting->entry.seq);
    return same;
  });
  if (taken == TakenBack::kUnsent) return settle(destination, inbox, item->entry.seq);
  people_.push(destination, event.uri, item, wait);
}

void Announcer::make_room(const std::string& destination, Inbox& inbox) {
  while (inbox.recent.size() >= kRecentMax && !inbox.order.empty()) {
    const std::string oldest = std::move(inbox.order.front());
    inbox.order.pop_front();
    const auto told = inbox.recent.find(oldest);
    if (told == inbox.recent.end()) continue;
    told->second.again = false;
    decide_if_gathering(destination, inbox, oldest);
    inbox.recent.erase(told);
  }
}

// That place in the feed is done with.
void Announcer::settle(const std::string& destination, Inbox& inbox, std::uint64_t seq) {
  inbox.waiting.erase(seq);
  const std::uint64_t reached = inbox.waiting.empty() ? last_seq_ : inbox.waiting.begin()->first - 1;
  if (reached <= inbox.acknowledged) return;
  inbox.acknowledged = reached;
  moved_.insert(destination);
}

Task<queues::InboxLanes<Announcer::Item>::Outcome> Announcer::send_to_people(std::string destination,
                                                                             Item item) {
  AnnouncementSender::ToldPeople told{AnnouncementSender::Told::kNobody, {}};
  if (clock_.now() - item->since <= kLifetime) told = co_await sender_.send_to_people(destination, item);
  Inbox& inbox = inboxes_[destination];
  const auto known = inbox.recent.find(item->entry.event.uri);
  if (known != inbox.recent.end()) {
    const auto announced = known->second.announced.find(item->entry.event.tag);
    if (announced != known->second.announced.end()) announced->second = clock_.now();
  }
  using enum AnnouncementSender::Told;
  // Who asks for a pause does so for all of the server.
  const bool pauses =
      told.told == kAgain && sender_.hosts().of(host_of(destination))->deliver_again > clock_.now();
  const bool failed = told.told != kTaken && told.told != kNobody && !pauses;
  if (told.told == kTaken || told.told == kRefused) inbox.fails = false;
  // What has failed is tried again, and tells when the inbox works.
  if (failed && told.told != kRefused) inbox.fails = true;
  const auto waits = inbox.waiting.find(item->entry.seq);
  // Once: who else gets it hands it over in turn.
  if (failed && waits != inbox.waiting.end() && waits->second < kHandOversMax &&
      hand_over(destination, item, waits->second + 1))
    waits->second = kHandOversMax;
  if (!is_given_up(destination, told, item->entry.event))
    co_return queues::InboxLanes<Item>::Outcome{false, std::move(told.because)};
  if (told.told == kTaken) ++delivered_;
  settle(destination, inbox, item->entry.seq);
  co_return queues::InboxLanes<Item>::Outcome{};
}

// Whether that was the last try; and what it says of the inbox.
bool Announcer::is_given_up(const std::string& destination, const AnnouncementSender::ToldPeople& told,
                            const TagEvent& event) {
  using enum AnnouncementSender::Told;
  Inbox& inbox = inboxes_[destination];
  if (told.told == kGone) {
    if (!inbox.gone_since) inbox.gone_since = clock_.now();
    if (clock_.now() - *inbox.gone_since < kGoneAfter) return false;
    sender_.lost(event.tag, destination);
    // Whoever follows from there again begins anew.
    if (followers_.tags_at(destination) <= 1) inbox.gone_since.reset();
    return true;
  }
  if (told.told == kAgain) return false;
  if (told.told == kNobody) return true;
  inbox.gone_since.reset();
  if (told.told == kTaken) {
    inbox.refusals = 0;
    return true;
  }
  if (inbox.refusals == 0) inbox.refusing_since = clock_.now();
  if (++inbox.refusals == kRefusalsMax)
    log_.warn("inbox_refuses_everything",
              {{"inbox", destination},
               {"why", told.because},
               {"what_to_do",
                "ask there whether this node is blocked; after a week of that, nobody there counts "
                "as a follower any more"}});
  if (inbox.refusals >= kRefusalsMax && clock_.now() - inbox.refusing_since >= kLifetime) {
    sender_.lost(event.tag, destination);
    if (followers_.tags_at(destination) <= 1) inbox.refusals = 0;
  }
  return true;
}

void Announcer::rejected(const std::string& host, const std::set<std::string>& announce_ids) {
  for (auto& [destination, inbox] : inboxes_) {
    if (host_of(destination) != host) continue;
    for (const auto& [uri, told] : inbox.recent) {
      people_.take_back(destination, uri, [&](const Item& item) {
        const TagEvent& event = item->entry.event;
        const bool named =
            event.op == Op::kAdd && announce_ids.contains(sender_.announce_id_of(destination, event));
        if (named) settle(destination, inbox, item->entry.seq);
        return named;
      });
    }
  }
}

std::map<std::string, unsigned> Announcer::refusing() const {
  std::map<std::string, unsigned> found;
  for (const auto& [destination, inbox] : inboxes_) {
    if (inbox.refusals >= kRefusalsMax) found.emplace(destination, inbox.refusals);
  }
  return found;
}

std::map<std::string, queues::QueueStatus> Announcer::lanes() const {
  std::map<std::string, queues::QueueStatus> all = lanes_.status();
  all.merge(people_.status());
  return all;
}

// --- nodes and FASP servers --------------------------------------------------------------------------------

Task<Announcer::Items> Announcer::send(std::string inbox, Items items) {
  std::uint64_t last = 0;
  for (const Item& item : items) last = std::max(last, item->entry.seq);
  std::erase_if(items, [&](const Item& item) { return clock_.now() - item->since > kLifetime; });
  const std::size_t count = items.size();
  auto [again, because, answered] = co_await sender_.send(inboxes_[inbox].via, inbox, std::move(items));
  if (answered) lanes_.answered(inbox);
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
    if (lanes.contains(inbox) || !state.waiting.empty()) least = std::min(least, state.acknowledged);
  }
  co_await store_.prune_feed(least, clock_.wall_now() - kFeedLifetime);
  co_await store_.prune_feed(last_seq_, clock_.wall_now() - kLifetime);
}

}  // namespace tagring::delivery
