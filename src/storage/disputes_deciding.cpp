// The part of Disputes that asks the posts' servers, and does what they say.
#include <algorithm>
#include <utility>

#include "belief/origin_checker.hpp"
#include "belief/tag_event.hpp"
#include "http/url.hpp"
#include "storage/disputes.hpp"

namespace tagring::storage {
namespace {

belief::Claim claim_of(const HistoryEntry& entry) {
  return {entry.partition.tag, entry.uri,       entry.author,
          entry.removed,       entry.published, std::max(entry.changed, WallTime())};
}

}  // namespace

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

// Enough gave it, so that it is hearsay no more.
Task<void> Disputes::confirm(Key key, std::optional<HistoryEntry> mine) {
  const HistoryEntry& given = open_.at(key).entry;
  if (!mine || !mine->is_hearsay()) co_return close(key, {});
  std::vector<HistoryEntry> borne_out{given};
  close(key, co_await history_.put(std::move(borne_out)));
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
  std::vector<Key> keys{key};
  auto found = co_await history_.find(std::move(keys));
  if (!found) co_return close(key, std::unexpected(found.error()));
  std::optional<HistoryEntry>& mine = found->front();
  if (unknown && dispute.is_probe) co_return close(key, {});
  if (unknown) co_return close(key, co_await give_up(dispute, std::move(mine)));
  const bool same_author = !mine || mine->author == dispute.entry.author;
  // Where this node was wrong about the author, nothing was said of what the other one has.
  const bool right = same_author && answer.has_value() != dispute.entry.removed;
  // That something is not there is true of all that never was, and earns nobody anything.
  const bool says_something = answer || (same_author && !right);
  // Nor is who was told of a post itself, and said so, wrong about it.
  const bool is_own_word = dispute.from != kNobody && (dispute.entry.removed || !dispute.entry.is_hearsay());
  if (is_own_word && !is_nowhere && says_something) origins_.standing().note(dispute.from, key.second, right);
  // Of a post by somebody else the next one who names its author is heard.
  const bool is_settled =
      (answer && !dispute.is_probe) || (!answer && answer.error().code != ErrorCode::kConflict);
  if (is_settled) settle(key, asked);
  if (dispute.is_probe) co_return close(key, {});
  if (!answer && dispute.is_hearsay && !dispute.entry.removed) co_await drop_others_from(dispute.from, key);
  close(key, co_await set_right(dispute, std::move(mine), answer));
}

// Nobody will say whether it is there: it stays, as everybody keeps what they have.
Task<Result<void>> Disputes::give_up(Dispute dispute, std::optional<HistoryEntry> mine) {
  if (!mine || mine->removed || !mine->is_hearsay()) co_return Result<void>();
  mine->changed = same(dispute.entry, *mine) ? std::max(dispute.entry.changed, WallTime()) : WallTime();
  std::vector<HistoryEntry> kept{*std::move(mine)};
  co_return co_await history_.put(std::move(kept));
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
  const bool was_heard = mine->is_hearsay();
  const bool is_hearsay = was_heard || (dispute.is_hearsay && !mine->removed);
  const bool final = mine->removed && !is_hearsay && !(answer && truth.version() > mine->version());
  const bool is_unwanted = is_hearsay && answer && !answer->archive;
  // A removal that names somebody else than the author is of another post than this one.
  const bool is_of_another = was_heard && !answer && answer.error().code == ErrorCode::kConflict;
  if (final || (same(*mine, truth) && !is_unwanted && !is_of_another)) {
    ++counters_.upheld;
    if (!was_heard || (mine->removed && !dispute.left)) co_return Result<void>();
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
