#include "storage/disputes.hpp"

#include <algorithm>
#include <utility>

#include "http/url.hpp"
#include "ring/contact.hpp"

namespace tagring::storage {
namespace {

constexpr Duration kSkewMax = std::chrono::hours(24);  // of clocks

// A removal that this node has not only heard of stays, unless the other one knows that the hashtag was put
// back later. And what was put back stays where the other one has not heard of it.
bool is_moot(const HistoryEntry& mine, const HistoryEntry& theirs) {
  return mine.removed ? theirs.version() <= mine.version()
                      : theirs.removed && mine.version() > theirs.version();
}

// What somebody says of its own, and nobody here will look at, is taken as it is; but no removal is final so.
HistoryEntry as_heard(HistoryEntry entry, bool is_looked_at) {
  if (entry.removed || is_looked_at) entry.changed = kBeforeAll;
  return entry;
}

std::vector<redundancy::Partition> partitions_of(const std::vector<HistoryEntry>& entries) {
  std::vector<redundancy::Partition> partitions;
  for (const HistoryEntry& entry : entries) partitions.push_back(entry.partition);
  return partitions;
}

}  // namespace

bool Disputes::same(const HistoryEntry& mine, const HistoryEntry& theirs) {
  // Of what this node took down the others keep their own.
  const bool removed = mine.removed && !mine.taken_down;
  return removed == theirs.removed &&
         (removed || (mine.author == theirs.author && mine.published == theirs.published));
}

// Whoever has many names of hosts has one turn.
std::string Disputes::server_of(const std::string& uri) {
  const std::string host = host_of(uri);
  return ring::domain_of(host);
}

Disputes::Disputes(HistoryStore& history, belief::OriginChecker& origins, const Runtime& runtime,
                   std::size_t most)
    : history_(history),
      origins_(origins),
      most_(most),
      clock_(runtime.clock),
      log_(runtime.log),
      tasks_(runtime.executor) {}

Task<void> Disputes::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

// Sources that give it again to a node that has just started are heard as those of a new owner.
Task<Result<void>> Disputes::load() {
  CO_TRY(std::vector<HistoryEntry> heard, co_await history_.heard(most_));
  for (HistoryEntry& entry : heard) {
    entry.changed = {};
    raise({.entry = std::move(entry),
           .from = kNobody,
           .is_hearsay = true,
           .is_alone = true,
           .due = clock_.now() + kHearsayWait});
  }
  co_return Result<void>();
}

Task<Result<std::vector<std::optional<HistoryEntry>>>> Disputes::own(
    const std::vector<HistoryEntry>& entries) {
  std::vector<Key> keys;
  for (const HistoryEntry& entry : entries) keys.emplace_back(entry.partition, entry.uri);
  return history_.find(std::move(keys));
}

Task<Result<void>> Disputes::hear(std::vector<HistoryEntry> entries, std::string from, Heard* heard) {
  return take(std::move(entries), std::move(from), 0, kHeardWait, heard);
}

Task<Result<void>> Disputes::adopt(std::vector<HistoryEntry> entries, std::string from, std::size_t enough,
                                   Duration wait) {
  return take(std::move(entries), std::move(from), enough, wait, nullptr);
}

bool Disputes::is_enough(const std::string& from, Heard* heard) const {
  return ++heard->posts > kOfDoubtful && origins_.standing().is_doubtful(from);
}

// Of a host at which nothing was lately, a few are looked at; if they are there, all are taken the next time.
bool Disputes::is_probed(const HistoryEntry& entry, const std::string& from, Heard* heard) {
  const std::string host = host_of(entry.uri);
  if (entry.removed || origins_.hosts().is_known(host)) return false;
  const bool may_look = !origins_.hosts().is_left_alone(host) && ++heard->probes[host] <= kProbes;
  if (may_look && !is_enough(from, heard))
    raise({.entry = entry, .from = from, .is_probe = true, .due = clock_.now()});
  return true;
}

// While take() looks for them on the disk a relay may bring them, and be promised that they are kept.
class Disputes::Examined {
 public:
  Examined(Disputes& disputes, const std::vector<HistoryEntry>& entries) : disputes_(disputes) {
    for (const HistoryEntry& entry : entries)
      places_.push_back(disputes_.examined_.insert({entry.partition, entry.uri}));
  }
  ~Examined() {
    for (const auto& place : places_) disputes_.examined_.erase(place);
    if (disputes_.examined_.empty()) disputes_.promised_.clear();
  }
  Examined(const Examined&) = delete;
  Examined& operator=(const Examined&) = delete;

 private:
  Disputes& disputes_;
  std::vector<std::multiset<Key>::iterator> places_;
};

// Another source gives the same. What there is then if these are enough, so that nothing is left to be looked
// at. That they agree on: of their times it has the earliest, or one alone could say that it is for ever. Who
// has only heard of it is no source, and says nothing of the time.
std::optional<HistoryEntry> Disputes::agree(std::map<Key, Dispute>::iterator open, const HistoryEntry& entry,
                                            const std::string& from, std::size_t enough) {
  if (open == open_.end() || !open->second.is_alone || !same(open->second.entry, entry)) return std::nullopt;
  Dispute& dispute = open->second;
  const bool is_own_word = from != kNobody && entry.changed != kBeforeAll;
  if (is_own_word && dispute.from == kNobody) {
    dispute.from = from;
    dispute.entry.changed = entry.changed;
  } else if (is_own_word) {
    if (entry.version() < dispute.entry.version()) dispute.entry.changed = entry.changed;
    const bool is_new =
        from != dispute.from && std::ranges::find(dispute.others, from) == dispute.others.end();
    if (is_new) dispute.others.push_back(from);
  }
  dispute.is_backed = dispute.is_backed || (enough > 0 && 1 + dispute.others.size() >= enough);
  if (!dispute.is_backed || !origins_.hosts().is_known(host_of(dispute.entry.uri))) return std::nullopt;
  HistoryEntry agreed = std::move(dispute.entry);
  promised_.insert(open->first);  // until it is written others read that it is only heard
  drop(open);
  return agreed;
}

// Nobody posts tomorrow. Where a post says nothing of its date, nobody could refute it later.
void Disputes::leave_out_unsound(std::vector<HistoryEntry>* entries) const {
  std::erase_if(*entries, [latest = clock_.wall_now() + kSkewMax](const HistoryEntry& entry) {
    return !belief::is_sound(entry.uri, entry.author, entry.published) || entry.published > latest;
  });
  // Nor is anybody to say before what the author will do.
  for (HistoryEntry& entry : *entries) entry.changed = std::min(entry.changed, clock_.wall_now());
}

// Owners that have been there pass on to each other what they heard, so that two of them are one source.
Task<Result<void>> Disputes::take(std::vector<HistoryEntry> entries, std::string from, std::size_t enough,
                                  Duration wait, Heard* heard) {
  const bool as_new_owner = enough > 0;
  leave_out_unsound(&entries);
  if (entries.empty()) co_return Result<void>();  // as what was only heard is of most pages
  const Examined examined(*this, entries);
  CO_TRY(const auto mine, co_await own(entries));
  CO_TRY(const std::vector<WallTime> kept_from, co_await history_.kept_from(partitions_of(entries)));
  std::vector<HistoryEntry> unknown;
  bool is_over = false;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    HistoryEntry& entry = entries[i];
    const bool was_let_go = (mine[i] ? mine[i]->published : entry.published) < kept_from[i];
    if (was_let_go) continue;
    const Key key{entry.partition, entry.uri};
    const auto open = open_.find(key);
    // A removal that was only heard keeps nothing out. And a new owner may be given again what it heard
    // before a restart.
    const bool is_heard = mine[i] && mine[i]->is_hearsay() && !entry.removed;
    const bool is_again =
        is_heard && as_new_owner && open == open_.end() && !promised_.contains(key) && same(*mine[i], entry);
    const bool is_lacking = !mine[i] || (is_heard && mine[i]->removed) || is_again;
    // Another source may have given it a moment ago, so that it is just being written.
    const bool is_arriving = !mine[i] && as_new_owner && open != open_.end() && open->second.is_alone &&
                             same(open->second.entry, entry);
    const bool is_news = mine[i] ? !same(*mine[i], entry) : !is_arriving;
    if (is_news && (mine[i] || !as_new_owner) && was_settled(key, entry)) continue;
    // What nothing follows from is there again in each comparison.
    if (is_news && open == open_.end() && mine[i] && is_moot(*mine[i], entry)) continue;
    if (is_lacking && !as_new_owner && is_probed(entry, from, heard)) continue;
    is_over = is_news && !as_new_owner && open == open_.end() && is_enough(from, heard);
    if (is_over) break;
    if (is_lacking && !is_arriving) {
      const bool is_denied = open != open_.end() && open->second.is_alone && !same(open->second.entry, entry);
      if (is_denied) differ(open->second.entry, entry, from);
      const bool is_raised = raise({.entry = entry,
                                    .from = from,
                                    .removed = entry.removed || (mine[i] && mine[i]->removed),
                                    .is_hearsay = true,
                                    .is_alone = as_new_owner && (!mine[i] || is_again),
                                    .is_promised = promised_.contains(key),
                                    .due = clock_.now() + wait});
      // The next comparison brings again what nobody would look at.
      if (is_raised || as_new_owner) unknown.push_back(as_heard(std::move(entry), is_raised));
      continue;
    }
    if (is_news) {
      differ(*mine[i], std::move(entry), from);
      continue;
    }
    std::optional<HistoryEntry> known;  // as it is known by now
    if (as_new_owner) known = agree(open, entry, from, enough);
    if (!known && is_arriving) known = as_heard(std::move(entry), true);
    if (known) unknown.push_back(*std::move(known));
  }
  if (!unknown.empty()) {
    CO_TRY_VOID(co_await history_.put(std::move(unknown)));
  }
  if (is_over) co_return fail(ErrorCode::kTooLarge, "an owner that was wrong lately says more than is heard");
  co_return Result<void>();
}

void Disputes::differ(const HistoryEntry& mine, HistoryEntry theirs, std::string from) {
  const bool removed = mine.removed || theirs.removed;
  const Key key{theirs.partition, theirs.uri};
  const auto open = open_.find(key);
  if (open == open_.end()) {
    raise({.entry = std::move(theirs),
           .from = std::move(from),
           .removed = !mine.removed && removed,
           .is_hearsay = !mine.removed && mine.is_hearsay(),
           .due = clock_.now()});
    return;
  }
  // However many agree: one that says otherwise may be right, and its word may be written already.
  open->second.is_alone = false;
  open->second.is_backed = false;
  open->second.said.add(theirs);
  if (!removed || open->second.removed) return;
  open->second.removed = true;
  put_off(key, open->second, Duration::zero());
}

void Disputes::promise(const std::vector<HistoryEntry>& entries) {
  for (const HistoryEntry& entry : entries) {
    const Key key{entry.partition, entry.uri};
    const auto open = open_.find(key);
    if (open != open_.end()) {
      open->second.is_promised = true;
      if (entry.removed) open->second.told = std::max(open->second.told, entry.version());
    }
    if (examined_.contains(key)) promised_.insert(key);
  }
}

// What was only heard was signed to nobody. Looked at last: it may have been promised while its server was
// asked, and a removal that was taken meanwhile may not be on the disk yet.
Task<Result<void>> Disputes::correct(Key key, std::optional<HistoryEntry> truth) {
  const auto open = open_.find(key);
  const belief::Version version = truth ? truth->version() : belief::Version();
  if (open != open_.end() && open->second.told > version) co_return Result<void>();
  const bool promised = open == open_.end() || !open->second.is_hearsay || open->second.is_promised;
  co_return co_await history_.correct(key.first, key.second, std::move(truth), promised);
}

bool Disputes::was_settled(const Key& key, const HistoryEntry& entry) const {
  const auto settled = settled_.find(key);
  return settled != settled_.end() && settled->second.said.covers(entry) &&
         clock_.now() - settled->second.at < kAgain * (1U << settled->second.times);
}

bool Disputes::raise(Dispute dispute) {
  const Key key{dispute.entry.partition, dispute.entry.uri};
  const auto open = open_.find(key);
  if (open != open_.end()) return !open->second.is_probe;
  dispute.whose = server_of(dispute.from);
  if (!places_.has_room(dispute.whose) || queue_.size() >= 2 * most_) return false;
  ++counters_.raised;
  places_.add(dispute.whose);
  enqueue(key, open_.emplace(key, std::move(dispute)).first->second.due);
  return true;
}

void Disputes::enqueue(const Key& key, Instant due) {
  queue_.emplace(due, key);
  if (!std::exchange(resolving_, true)) tasks_.spawn("disputes", resolve());
}

void Disputes::put_off(const Key& key, Dispute& dispute, Duration wait) {
  dispute.due = clock_.now() + wait;
  enqueue(key, dispute.due);
}

void Disputes::settle(const Key& key, const Said& said) {
  if (!settled_.contains(key)) make_room(settled_, most_);
  const auto [place, fresh] = settled_.try_emplace(key, Settled{clock_.now(), 0, said});
  if (fresh) return;
  place->second.said.add(said);
  place->second.at = clock_.now();
  place->second.times = std::min(place->second.times + 1, kDoublingsMax);
}

Duration Disputes::wait_for(const Key& key, const Dispute& dispute) const {
  if (asked_.size() >= kServersAtOnce || asked_.contains(server_of(key.second))) return kBetween;
  // What its server is not asked says nothing of it, and is no try.
  if (!dispute.is_probe && !origins_.has_budget(key.second, dispute.from)) return kBudgetWait;
  return Duration::zero();
}

}  // namespace tagring::storage
