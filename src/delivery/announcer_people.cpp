// The part of Announcer that is about people and relays: under which of its hashtags a post is announced at
// an inbox, what is taken back there, and what an inbox that takes nothing says of its followers. Behind it
// the part about FASP servers.
#include <algorithm>

#include "delivery/announcer.hpp"
#include "followers/cover.hpp"
#include "http/url.hpp"
#include "queues/inbox_lanes.hpp"

namespace tagring::delivery {
namespace {

constexpr std::size_t kRecentMax = 1'000;  // posts remembered for each inbox, however many there are
// And more where there is room: at an inbox that follows several hashtags, one of a post may come long after
// the others. At a kilobyte each, or some.
constexpr std::size_t kRecentInAll = 20'000;
// Tags of one post come from several owners, a moment apart.
constexpr Duration kGatherFor = std::chrono::milliseconds(100);
// What has lost a hashtag may be gone altogether, as is heard under the others, from their owners.
constexpr Duration kTellAgainAfter = std::chrono::seconds(3);
// Inboxes of one server that a post is tried at: where all are new to us and fail, it is the server.
constexpr unsigned kHandOversMax = 3;
// What waits for an Accept is looked at again after half the time for which it has waited.
constexpr Duration kEarlyLeast = std::chrono::seconds(1);
constexpr Duration kEarlyMost = std::chrono::minutes(2);
// When that was announced which may have been sent before a restart.
constexpr Instant kPerhaps = Instant(Duration(-1));

// As Followers::Target::is_one_of_many has it of who follows.
bool is_of_one_person(const std::string& inbox) {
  return inbox.contains("/users/") && inbox.ends_with("/inbox");
}

}  // namespace

void Announcer::note(const Inbox& inbox, std::uint64_t seq, bool told) {
  notes_[seq] += to_note(inbox.hash, told);
}

// Its place among what that inbox was told of.
Announcer::Told& Announcer::recall(const std::string& destination, Inbox& inbox, const Item& item) {
  const TagEvent& event = item->entry.event;
  if (!inbox.recent.contains(event.uri)) {
    make_room(destination, inbox);
    inbox.order.push_back(event.uri);
    ++recent_;
  }
  Told& told = inbox.recent[event.uri];
  told.under.insert_or_assign(event.tag, item);
  return told;
}

// A post that does not go there now, but may have gone before that was decided: that is known after a
// restart.
void Announcer::keep_away(const std::string& destination, Inbox& inbox, const Item& item, const Past* past,
                          Before before) {
  const auto& [seq, event, added] = item->entry;
  if (past == nullptr) return note(inbox, seq, false);
  if (before.told().value_or(true))
    recall(destination, inbox, item).announced.emplace(event.tag, clock_.now());
}

void Announcer::queue_for_people(const std::string& destination, const Item& item, Before before) {
  Inbox& inbox = inbox_of(destination);
  const auto& [seq, event, added] = item->entry;
  const std::optional<bool> was_told = before.told();
  if (!before.done && was_told != false) inbox.waiting.try_emplace(seq);
  if (event.op == Op::kRemove) return take_back(destination, inbox, item, before);
  Told& told = recall(destination, inbox, item);
  told.is_noted |= before.noted.has_value();
  if (was_told && !*was_told) return;
  if (was_told) {
    told.announced.emplace(event.tag, clock_.now());
    if (!before.done) announce(destination, inbox, item);
    return;
  }
  if (reading_) told.announced.emplace(event.tag, kPerhaps);  // what comes next in the feed may take it back
  if (told.gathering) return;
  // Where only one of the tags is followed there is nothing to choose.
  if (!reading_ && followers_.tags_at(destination) < 2) return decide(destination, inbox, event.uri);
  told.gathering = true;
  ++gathering_;
  if (reading_) {
    reading_->gathering.emplace_back(destination, event.uri);
  } else {
    tasks_.spawn("gather_tags", decide_later(destination, event.uri));
  }
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
  if (!reading_ || told->second.again == 0) decide(destination, inbox, uri);
}

Task<void> Announcer::tell_again(std::string destination, std::string uri) {
  do {  // what is read next may take back the others
    const Instant later = clock_.now() + kTellAgainAfter;
    co_await clock_.sleep_until(later);
  } while (reading_);
  Inbox& inbox = inboxes_[destination];
  const auto told = inbox.recent.find(uri);
  if (told == inbox.recent.end() || told->second.again == 0) co_return;
  note(inbox, std::exchange(told->second.again, 0), true);
  decide(destination, inbox, uri);
}

// Announces the post under as few more of its tags as it takes.
void Announcer::decide(const std::string& destination, Inbox& inbox, const std::string& uri) {
  // Who uses the node as a relay needs any of them, and knows no difference.
  static constexpr std::string_view kRelays = "relays";
  Told& told = inbox.recent[uri];
  std::erase_if(told.announced, [](const auto& one) { return one.second == kPerhaps; });
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
    announce(destination, inbox, item);
  }
  told.is_noted |= !is_only_one;
  if (!told.is_noted) return;
  for (const Item& item : under) note(inbox, item->entry.seq, told.announced.contains(item->entry.event.tag));
}

void Announcer::announce(const std::string& destination, Inbox& inbox, const Item& item) {
  inbox.waiting.try_emplace(item->entry.seq);
  const Duration wait = wait_in_spread_of(item->entry.event.tag);
  people_.push(destination, item->entry.event.uri, item, wait, is_reading());
}

bool Announcer::hand_over(const std::string& destination, const Item& item, unsigned failed) {
  const TagEvent& event = item->entry.event;
  const Followers::Target* from = followers_.target(event.tag, destination);
  const bool has_left = from == nullptr;  // then nobody else tries it
  if (has_left ? !is_of_one_person(destination) : !from->is_one_of_many(destination)) return false;
  const std::string host = host_of(destination);
  using enum Followers::Use;
  const auto others = followers_.ways(event.tag, event.uri, [&](const Followers::Way& way) {
    const auto& [inbox, target] = way;
    const bool fits = target.host == host && target.since < item->entry.seq;
    if (!fits || inbox == destination || !target.is_one_of_many(inbox)) return kNone;
    const auto known = inboxes_.find(inbox);
    if (known == inboxes_.end()) return kWorks;
    const auto told = known->second.recent.find(event.uri);
    const bool had_it = told != known->second.recent.end() && told->second.under.contains(event.tag);
    if (had_it) return kNone;
    if (!known->second.fails) return kWorks;
    return has_left ? kFails : kNone;
  });
  if (others.empty()) return false;
  const std::string& inbox = others.front()->first;
  inboxes_[inbox].via = Via::kBoost;
  inboxes_[inbox].waiting.try_emplace(item->entry.seq, failed);
  queue_for_people(inbox, item, {});
  return true;
}

// Nobody there follows the hashtag any more under which all were to be told, or it may not go there under
// that one: under another, or by somebody else's inbox. That a post has left the hashtag, by the latter only.
void Announcer::tell_otherwise(const std::string& destination, const Item& item, bool hands_over) {
  const auto& [seq, event, added] = item->entry;
  Inbox& inbox = inboxes_[destination];
  const auto waits = inbox.waiting.find(seq);
  if (waits == inbox.waiting.end()) return;
  if (hands_over && waits->second < kHandOversMax) hand_over(destination, item, waits->second);
  if (event.op != Op::kAdd) return;
  const auto known = inbox.recent.find(event.uri);
  if (known == inbox.recent.end()) return;
  Told& told = known->second;
  told.announced.erase(event.tag);
  told.under.erase(event.tag);
  if (told.is_noted) note(inbox, seq, false);
  if (!told.gathering && told.again == 0 && !told.under.empty()) decide(destination, inbox, event.uri);
}

// The post has lost a tag. If it was announced under that one, this is undone, unless it was never sent, or
// undone before a restart. If the post is still there after a while, under tags that somebody follows, then
// it was edited; if not, it is being deleted, tag by tag.
void Announcer::take_back(const std::string& destination, Inbox& inbox, const Item& item, Before before) {
  const TagEvent& event = item->entry.event;
  const auto known = inbox.recent.find(event.uri);
  Duration wait{};
  if (known != inbox.recent.end()) {
    Told& told = known->second;
    if (const auto under = told.under.extract(event.tag))
      settle(destination, inbox, under.mapped()->entry.seq);
    const auto announced = told.announced.extract(event.tag);
    // Somebody who has left may have been told under that one, for all of their server.
    const Followers::Target* target = announced ? nullptr : followers_.target(event.tag, destination);
    const bool is_for_others = target != nullptr && target->is_one_of_many(destination);
    if (!announced && !is_for_others) return settle(destination, inbox, item->entry.seq);
    if (announced)
      wait = std::max(wait, announced.mapped() + queues::InboxLanes<Item>::kApart - clock_.now());
    if (announced && !told.under.empty() && !before.noted && told.again == 0) {
      told.again = item->entry.seq;
      tasks_.spawn("tell_again", tell_again(destination, event.uri));
    }
  }
  if (before.done) return;
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
  while (inbox.recent.size() >= kRecentMax && recent_ >= kRecentInAll && !inbox.order.empty()) {
    const std::string oldest = std::move(inbox.order.front());
    inbox.order.pop_front();
    const auto told = inbox.recent.find(oldest);
    if (told == inbox.recent.end()) continue;
    told->second.again = 0;
    decide_if_gathering(destination, inbox, oldest);
    inbox.recent.erase(told);
    --recent_;
  }
}

// That place in the feed is done with.
void Announcer::settle(const std::string& destination, Inbox& inbox, std::uint64_t seq) {
  inbox.waiting.erase(seq);
  std::uint64_t reached = reading_ ? read_for(inbox) : last_seq_;
  if (!inbox.waiting.empty()) reached = std::min(reached, inbox.waiting.begin()->first - 1);
  if (reached <= inbox.acknowledged) return;
  inbox.acknowledged = reached;
  moved_.insert(destination);
}

Task<queues::InboxLanes<Announcer::Item>::Outcome> Announcer::send_to_people(std::string destination,
                                                                             Item item) {
  AnnouncementSender::ToldPeople told{AnnouncementSender::Told::kNobody, {}};
  const bool is_old = clock_.now() - item->since > kLifetime;
  const bool is_kept_back = !is_old && !may_still_go(item->entry.event, host_of(destination));
  if (!is_old && !is_kept_back) told = co_await sender_.send_to_people(destination, item);
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
  const bool failed = told.told != kTaken && told.told != kNobody && told.told != kEarly && !pauses;
  if (told.told == kTaken || told.told == kRefused) inbox.fails = false;
  // What has failed is tried again, and tells when the inbox works.
  if (failed && told.told != kRefused) inbox.fails = true;
  const auto waits = inbox.waiting.find(item->entry.seq);
  // Once: who else gets it hands it over in turn.
  if (failed && waits != inbox.waiting.end() && waits->second < kHandOversMax &&
      hand_over(destination, item, waits->second + 1))
    waits->second = kHandOversMax;
  if (told.told == kNobody && !is_old) tell_otherwise(destination, item, /*hands_over=*/!is_kept_back);
  if (told.told == kEarly) {
    const Duration waited = clock_.now() - item->since;
    co_return queues::InboxLanes<Item>::Outcome{false, {}, std::clamp(waited / 2, kEarlyLeast, kEarlyMost)};
  }
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
  if (told.told == kAgain) return is_lost_by_silence(destination);
  if (told.told == kNobody) return true;
  moved_.insert(destination);
  if (told.told == kGone) {
    if (!inbox.gone_since) inbox.gone_since = clock_.now();
    if (clock_.now() - *inbox.gone_since < kGoneAfter) return false;
    sender_.lost(event.tag, destination);
    // Whoever follows from there again begins anew.
    if (followers_.tags_at(destination) <= 1) inbox.gone_since.reset();
    return true;
  }
  inbox.gone_since.reset();
  note_answer(destination);
  if (told.told == kTaken) {
    for (auto* known : inboxes_of_server(destination, event.tag)) {
      if (std::exchange(known->second.refusals, 0) > 0) moved_.insert(known->first);
    }
  } else {
    note_refusal(destination, event.tag, told.because);
  }
  return true;
}

std::vector<std::map<std::string, Announcer::Inbox>::value_type*> Announcer::inboxes_of_server(
    const std::string& destination, const Tag& tag) {
  const auto is_one_of_many = [&](const std::string& inbox) {
    const Followers::Target* target = followers_.target(tag, inbox);
    return target != nullptr && target->is_one_of_many(inbox);
  };
  if (!is_one_of_many(destination)) return {&*inboxes_.find(destination)};
  std::vector<std::map<std::string, Inbox>::value_type*> found;
  const std::string server = origin_of(destination) + "/";
  for (auto it = inboxes_.lower_bound(server); it != inboxes_.end() && it->first.starts_with(server); ++it) {
    if (is_one_of_many(it->first)) found.push_back(&*it);
  }
  return found;
}

void Announcer::note_refusal(const std::string& destination, const Tag& tag, const std::string& because) {
  const auto inboxes = inboxes_of_server(destination, tag);
  unsigned refusals = 0;
  Instant since = clock_.now();
  for (const auto* known : inboxes) {
    if (known->second.refusals <= refusals) continue;
    refusals = known->second.refusals;
    since = known->second.refusing_since;
  }
  if (++refusals == kRefusalsMax)
    log_.warn("inbox_refuses_everything",
              {{"inbox", destination},
               {"why", because},
               {"what_to_do",
                "ask there whether this node is blocked; after a week of that, nobody there counts "
                "as a follower any more"}});
  const bool is_lost = refusals >= kRefusalsMax && clock_.now() - since >= kLifetime;
  for (auto* known : inboxes) {
    auto& [inbox, state] = *known;
    state.refusals = is_lost && followers_.tags_at(inbox) <= 1 ? 0 : refusals;
    state.refusing_since = since;
    moved_.insert(inbox);
    if (is_lost) sender_.lost(tag, inbox);
  }
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

// --- FASP servers ------------------------------------------------------------------------------------------

void Announcer::queue_for_fasp_server(const std::string& destination, const Item& item, Before before) {
  if (before.told() == true) return;
  const auto& [seq, event, added] = item->entry;
  inbox_of(destination).waiting.try_emplace(seq);
  fasp_.push(destination, event.tag.canonical(), item, wait_in_spread_of(event.tag));
}

// Only what is done with before something else that came earlier needs a note of that.
Task<queues::BatchLanes<Announcer::Item>::Outcome> Announcer::send_to_fasp_server(std::string inbox,
                                                                                  std::string hashtag,
                                                                                  Items items,
                                                                                  std::size_t most) {
  const Items all = items;
  const std::size_t given_up =
      std::erase_if(items, [&](const Item& item) { return clock_.now() - item->since > kLifetime; });
  if (given_up > 0)
    log_.warn("fasp_server_not_told", {{"inbox", inbox}, {"hashtag", hashtag}, {"posts", given_up}});
  std::erase_if(items, [&](const Item& item) { return !may_still_go(item->entry.event, host_of(inbox)); });
  auto [told, because, tried, divides, left, failed] =
      co_await sender_.send_to_fasp_server(inbox, Tag::from_canonical(hashtag), std::move(items), most);
  using enum AnnouncementSender::Told;
  if (told == kAgain) {
    static_cast<void>(is_lost_by_silence(inbox));
  } else if (told != kNobody) {
    note_answer(inbox);
  }
  if (told == kTaken) delivered_ += tried;
  Inbox& state = inboxes_[inbox];
  std::set<Item> waiting(left.begin(), left.end());
  waiting.insert(failed.begin(), failed.end());
  for (const Item& item : all) {
    const std::uint64_t seq = item->entry.seq;
    if (waiting.contains(item)) continue;
    settle(inbox, state, seq);
    if (state.acknowledged < seq) note(state, seq, true);
  }
  queues::BatchLanes<Item>::Outcome outcome{std::move(left), std::move(failed), tried,
                                            told == kTaken,  divides,           {}};
  if (told == kAgain) outcome.why = std::move(because);
  co_return outcome;
}

// Of others the days are not counted on; of who is not subscribed any more they mean nothing.
std::map<std::string, unsigned> Announcer::silent() const {
  std::map<std::string, unsigned> found;
  for (const auto& [destination, inbox] : inboxes_) {
    if (inbox.silent_days > kSilentDaysMax && followers_.tags_at(destination) > 0)
      found.emplace(destination, inbox.silent_days);
  }
  return found;
}

// What one inbox does not take, whose owner may be gone, or one post that is not taken, says nothing of a
// server that answers.
std::map<std::string, queues::QueueStatus> Announcer::failing() const {
  std::map<std::string, Instant> answered;  // by origin
  const auto last_answer_of = [&](const std::string& origin) {
    const auto [known, fresh] = answered.try_emplace(origin, Instant::min());
    if (!fresh) return known->second;
    const std::string server = origin + "/";
    for (auto it = inboxes_.lower_bound(server); it != inboxes_.end() && it->first.starts_with(server); ++it)
      known->second = std::max(known->second, it->second.answered.value_or(Instant::min()));
    return known->second;
  };
  std::map<std::string, queues::QueueStatus> found;
  for (auto& [destination, lane] : lanes()) {
    if (lane.failures == 0 || clock_.wall_now() - lane.failing_since < kFailingAfter) continue;
    const auto inbox = inboxes_.find(destination);
    const bool is_gone = inbox != inboxes_.end() && inbox->second.gone_since.has_value();
    if (is_gone || (!lane.is_down && lane.reason.starts_with("HTTP status "))) continue;
    const bool answers = last_answer_of(origin_of(destination)) > instant_of(lane.failing_since);
    if (!answers) found.try_emplace(host_of(destination), lane);
  }
  return found;
}

}  // namespace tagring::delivery
