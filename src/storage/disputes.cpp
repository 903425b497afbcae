#include "storage/disputes.hpp"

#include <algorithm>
#include <utility>

#include "http/url.hpp"
#include "ring/contact.hpp"

namespace tagring::storage {
namespace {

constexpr Duration kSkewMax = std::chrono::hours(24);  // of clocks

bool same(const HistoryEntry& mine, const HistoryEntry& theirs) {
  // Of what this node took down the others keep their own.
  const bool removed = mine.removed && !mine.taken_down;
  return removed == theirs.removed &&
         (removed || (mine.author == theirs.author && mine.published == theirs.published));
}

belief::Claim claim_of(const HistoryEntry& entry) {
  return {entry.partition.tag, entry.uri,       entry.author,
          entry.removed,       entry.published, std::max(entry.changed, WallTime())};
}

// A removal that this node has not only heard of stays, unless the other one knows that the hashtag was put
// back later. And what was put back stays where the other one has not heard of it.
bool is_moot(const HistoryEntry& mine, const HistoryEntry& theirs) {
  return mine.removed ? theirs.version() <= mine.version()
                      : theirs.removed && mine.version() > theirs.version();
}

// Whoever has many names of hosts has one turn.
std::string server_of(const std::string& uri) {
  const std::string host = host_of(uri);
  return ring::domain_of(host);
}

HistoryEntry as_heard(HistoryEntry entry) {
  if (entry.removed) entry.changed = kBeforeAll;
  return entry;
}

std::vector<redundancy::Partition> partitions_of(const std::vector<HistoryEntry>& entries) {
  std::vector<redundancy::Partition> partitions;
  for (const HistoryEntry& entry : entries) partitions.push_back(entry.partition);
  return partitions;
}

}  // namespace

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
    // A removal that was only heard keeps nothing out.
    const bool is_lacking = !mine[i] || (mine[i]->changed == kBeforeAll && !entry.removed);
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
                                    .removed = entry.removed || mine[i],
                                    .is_hearsay = true,
                                    .is_alone = as_new_owner && !mine[i],
                                    .is_promised = promised_.contains(key),
                                    .due = clock_.now() + wait});
      // The next comparison brings again what nobody would look at.
      if (is_raised || as_new_owner) unknown.push_back(as_heard(std::move(entry)));
      continue;
    }
    if (is_news) {
      differ(*mine[i], std::move(entry), from);
      continue;
    }
    std::optional<HistoryEntry> agreed;
    if (open != open_.end() && open->second.is_alone && same(open->second.entry, entry))
      agreed = agree(open, entry, from, enough);
    if (agreed && agreed->removed)
      unknown.push_back(*std::move(agreed));
    else if (is_arriving)
      unknown.push_back(as_heard(std::move(entry)));
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

bool Disputes::is_hearsay(const HistoryEntry& entry) const {
  if (entry.removed) return entry.changed == kBeforeAll;
  const auto open = open_.find({entry.partition, entry.uri});
  return open != open_.end() && open->second.is_hearsay && !open->second.is_promised &&
         !open->second.is_probe;
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

Task<void> Disputes::resolve() {
  while (!queue_.empty()) {
    const auto [due, key] = *queue_.begin();
    const auto open = open_.find(key);
    if (open == open_.end() || open->second.due != due) {
      queue_.erase(queue_.begin());
      continue;
    }
    const Instant now = clock_.now();
    if (due > now) {  // one that comes meanwhile may be due before
      co_await clock_.sleep_until(std::min(due, now + kLookAround));
      continue;
    }
    queue_.erase(queue_.begin());
    const Duration wait = wait_for(key, open->second);
    if (wait > Duration::zero()) put_off(key, open->second, wait);
    co_await clock_.sleep_until(now + (wait > Duration::zero() ? Duration(1) : kBetween));
    if (wait > Duration::zero()) continue;
    asked_.insert(server_of(key.second));
    tasks_.spawn("dispute", resolve_at(server_of(key.second), key));
  }
  resolving_ = false;
}

// A server that is slow holds up nothing but what is said of its own posts.
Task<void> Disputes::resolve_at(std::string server, Key key) {
  co_await resolve_one(std::move(key));
  asked_.erase(server);
}

Task<void> Disputes::resolve_one(Key key) {
  std::vector<Key> keys{key};
  const auto found = co_await history_.find(std::move(keys));
  const auto open = open_.find(key);
  if (open == open_.end()) co_return;  // settled meanwhile
  if (!found) {
    put_off(key, open->second, kRemovalWait);
    co_return;
  }
  const Dispute dispute = open->second;
  const std::optional<HistoryEntry>& mine = found->front();
  if (dispute.is_backed && origins_.hosts().is_known(host_of(key.second))) {
    co_await confirm(key, mine);
    co_return;
  }
  // Whom the other one names as the author decides nothing about what this node has.
  belief::Claim claim = claim_of(mine ? *mine : dispute.entry);
  claim.sender = dispute.from;
  // That it is gone counts at once; that it is there, once caches have let it go.
  claim.removed = dispute.removed && !dispute.was_there;
  if (claim.removed == dispute.entry.removed) claim.changed = claim_of(dispute.entry).changed;
  // What is said meanwhile may be later than the answer.
  Said asked = dispute.said;
  asked.add(dispute.entry);
  Result<belief::Answer> answer = fail(ErrorCode::kNotFound, "gone");
  if (claim.removed) {
    const Result<belief::Answer> gone = co_await origins_.ask(std::move(claim));
    const auto still = open_.find(key);
    if (still == open_.end()) co_return;
    if (!gone) {
      still->second.was_there = true;
      put_off(key, still->second, kRemovalWait);
      co_return;
    }
    still->second.left = gone->changed;
  } else {
    answer = co_await origins_.ask_about_dispute(std::move(claim));
  }
  co_await decide(key, asked, std::move(answer));
}

// Enough gave it. A removal that stands as hearsay is final from now on.
Task<void> Disputes::confirm(Key key, std::optional<HistoryEntry> mine) {
  const HistoryEntry& given = open_.at(key).entry;
  const bool was_heard = mine && mine->changed == kBeforeAll;
  if (!was_heard || !given.removed) co_return close(key, {});
  std::vector<HistoryEntry> removal{given};
  close(key, co_await history_.put(std::move(removal)));
}

// What the post's server said, of who this node believes is its author. It was asked because of `asked`.
Task<void> Disputes::decide(Key key, Said asked, Result<belief::Answer> answer) {
  const auto open = open_.find(key);
  if (open == open_.end()) co_return;
  const bool is_only_heard = open->second.is_hearsay && !open->second.is_promised;
  // Nothing that was only heard is kept where nothing is.
  const bool is_nowhere = is_only_heard && origins_.hosts().has_nothing(host_of(key.second));
  // A server that does not show it to this node does not say that it is not there.
  const bool is_hidden = !answer && !is_only_heard && answer.error().code == ErrorCode::kDenied;
  const bool unknown = !answer && (is_hidden || !belief::is_refuted(answer.error().code)) && !is_nowhere;
  if (unknown && !open->second.is_probe && ++open->second.tries < kTriesMax) {
    put_off(key, open->second, kRemovalWait * (1U << open->second.tries));
    co_return;
  }
  const Dispute dispute = open->second;
  if (unknown) co_return close(key, {});
  std::vector<Key> keys{key};
  auto found = co_await history_.find(std::move(keys));
  if (!found) co_return close(key, std::unexpected(found.error()));
  std::optional<HistoryEntry>& mine = found->front();
  const bool same_author = !mine || mine->author == dispute.entry.author;
  // Where this node was wrong about the author, nothing was said of what the other one has.
  const bool right = same_author && answer.has_value() != dispute.entry.removed;
  // That something is not there is true of all that never was, and earns nobody anything.
  const bool says_something = answer || (same_author && !right);
  if (dispute.from != kNobody && !is_nowhere && says_something)
    origins_.standing().note(dispute.from, key.second, right);
  // Of a post by somebody else the next one who names its author is heard.
  const bool is_settled =
      (answer && !dispute.is_probe) || (!answer && answer.error().code != ErrorCode::kConflict);
  if (is_settled) settle(key, asked);
  if (dispute.is_probe) co_return close(key, {});
  if (!answer && dispute.is_hearsay && !dispute.entry.removed) co_await drop_others_from(dispute.from, key);
  close(key, co_await set_right(dispute, std::move(mine), answer));
}

// What the disk did not take stays open: nobody else may ever say so again.
void Disputes::close(const Key& key, const Result<void>& done) {
  const auto open = open_.find(key);
  if (open == open_.end()) return;
  if (done) {
    drop(open);
    return;
  }
  log_.error("history_not_corrected", {{"post", key.second}, {"because", done.error().message}});
  put_off(key, open->second, kSaveAgain);
}

// Of what it alone gave, nothing is kept: where it is true, others have it too, or it is heard again. An
// owner that has been there hears no second one: there its word goes where it leaves no room for what others
// say.
Task<void> Disputes::drop_others_from(std::string origin, Key decided) {
  if (!origins_.standing().is_doubtful(origin)) co_return;
  const bool is_crowded = open_.size() > most_ / 4;  // half of what one alone may have
  const auto is_its_own = [&](const Dispute& dispute) {
    return (dispute.is_alone || (is_crowded && dispute.is_hearsay)) && dispute.from == origin;
  };
  std::vector<Key> theirs;
  for (const auto& [key, dispute] : open_) {
    if (is_its_own(dispute) && key != decided) theirs.push_back(key);
  }
  for (const Key& key : theirs) {
    const auto open = open_.find(key);  // another one may have given it meanwhile
    const bool nobody_else = open != open_.end() && is_its_own(open->second) && !open->second.is_backed &&
                             !open->second.is_promised;
    if (nobody_else) close(key, co_await correct(key, std::nullopt));
  }
}

// What is deleted is so for ever; a hashtag that a post lacks may come back.
WallTime Disputes::left_at(const Dispute& dispute, ErrorCode why) const {
  if (dispute.left) return *dispute.left;
  const WallTime told = dispute.entry.removed ? claim_of(dispute.entry).changed : WallTime();
  if (why == ErrorCode::kNotFound) return told;
  return std::min(belief::version_of(true, told).at, clock_.wall_now());
}

// What this node has becomes what the post's server says.
Task<Result<void>> Disputes::set_right(Dispute dispute, std::optional<HistoryEntry> mine,
                                       Result<belief::Answer> answer) {
  const Key key{dispute.entry.partition, dispute.entry.uri};
  // What is here no more was dropped since: its partition is another's now, or it is too old.
  if (!mine || mine->taken_down) co_return Result<void>();
  HistoryEntry truth = *mine;
  truth.removed = !answer;
  truth.changed = answer ? answer->changed : left_at(dispute, answer.error().code);
  if (answer) truth.published = answer->published;
  // Nothing is revived but what came by hearsay, or was put back later. A removal with a time of its own did
  // not, though the post may have: this node was told of it since.
  const bool was_heard = mine->changed == kBeforeAll;
  const bool is_hearsay = was_heard || (dispute.is_hearsay && !mine->removed);
  const bool final = mine->removed && !is_hearsay && !(answer && truth.version() > mine->version());
  const bool is_unwanted = is_hearsay && answer && !answer->archive;
  // A removal that names somebody else than the author is of another post than this one.
  const bool is_of_another = was_heard && !answer && answer.error().code == ErrorCode::kConflict;
  if (final || (same(*mine, truth) && !is_unwanted && !is_of_another)) {
    ++counters_.upheld;
    if (!was_heard || !dispute.left) co_return Result<void>();
    std::vector<HistoryEntry> borne_out{std::move(truth)};
    co_return co_await history_.put(std::move(borne_out));
  }
  ++counters_.corrected;
  log_.info("history_corrected",
            {{"tag", key.first.name()}, {"post", key.second}, {"removed", truth.removed}});
  // What its author does not wish to be found is not kept on another owner's word.
  if (is_unwanted) co_return co_await correct(key, std::nullopt);
  if (answer) co_return co_await correct(key, std::move(truth));
  // Gone, and somebody said so; or it never was there, or is by somebody else.
  const bool is_gone = dispute.removed && answer.error().code != ErrorCode::kConflict;
  if (!is_gone) co_return co_await correct(key, std::nullopt);
  // Since when a post is there was heard as well as that it is.
  const auto open = open_.find(key);
  const bool is_own = open == open_.end() || open->second.is_promised || !is_hearsay;
  if (!is_own) co_return co_await correct(key, std::move(truth));
  std::vector<HistoryEntry> tombstone{std::move(truth)};
  co_return co_await history_.put(std::move(tombstone));
}

}  // namespace tagring::storage
