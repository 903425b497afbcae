#include "belief/post_checker.hpp"

#include <algorithm>

#include "base/counted.hpp"

namespace tagring::belief {
namespace {

constexpr Duration kSpotCheckSpread = std::chrono::seconds(30);
constexpr Duration kSpotCheckAgain = federation::SignedClient::kCachedMax + kSpotCheckSpread;
constexpr std::size_t kSpotChecksMax = 1'000;  // under way
// How long an origin is not believed that was wrong about its own post. An honest one errs, too, where a post
// was edited just then; to be believed gains a liar only posts that its server might have shown as well.
constexpr Duration kLiarFor = std::chrono::hours(24);
constexpr std::size_t kLiarsMax = 10'000;
// What one relay sends, the other does at about the same time.
constexpr Duration kFirstWait = std::chrono::milliseconds(25);
constexpr Duration kLastWait = std::chrono::milliseconds(800);

Claim claim_of(const TagEvent& event, bool of_archive = false, std::string sender = {}) {
  // When it was removed only the post's server says, where who tells of it was told.
  const WallTime changed = event.is_hearsay() ? WallTime() : event.changed;
  return {event.tag,       event.uri, event.author, event.op == Op::kRemove,
          event.published, changed,   of_archive,   std::move(sender)};
}

bool is_withdrawal(const TagEvent& event) { return event.op == Op::kRemove && !event.is_deletion(); }

}  // namespace

Task<std::set<const TagEvent*>> PostChecker::Owner::known(std::vector<const TagEvent*> /*events*/) {
  co_return std::set<const TagEvent*>();
}

PostChecker::PostChecker(Options options, const federation::Identity& identity,
                         const federation::Blocks& blocks, OriginChecker& origins, const Runtime& runtime)
    : options_(options),
      identity_(identity),
      blocks_(blocks),
      origins_(origins),
      clock_(runtime.clock),
      log_(runtime.log),
      rng_(runtime.rng.fork("roles")),
      witnesses_(options.relays, runtime.clock),
      tasks_(runtime.executor) {}

Task<void> PostChecker::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Result<void> PostChecker::check_blocks(const TagEvent& event) const {
  TRY_VOID(blocks_.check_actor(event.uri));
  TRY_VOID(blocks_.check_actor(event.author));
  return blocks_.check_tag(event.tag.canonical());
}

bool PostChecker::vouches(const std::string& sender, const TagEvent& event) const {
  return !event.is_hearsay() && is_same_or_below(host_of(sender), host_of(event.uri)) && !is_liar(sender);
}

bool PostChecker::is_liar(const std::string& sender) const {
  const auto liar = liars_.find(sender);
  return liar != liars_.end() && clock_.now() < liar->second;
}

// Before anybody is asked about it.
Result<void> PostChecker::check_door(const Owner& owner, const TagEvent& event,
                                     const std::string& sender) const {
  if (event.op == Op::kAdd) {
    TRY_VOID(check_blocks(event));
  }
  if (event.op == Op::kAdd && sender != identity_.origin()) {
    TRY_VOID(blocks_.check_actor(sender));
  }
  return owner.check_place(event);
}

Task<std::vector<TagEvent>> PostChecker::believable(Owner& owner, std::vector<TagEvent> events,
                                                    std::string sender, redundancy::RelayClaims claims,
                                                    std::vector<Refusal>* refusals) {
  std::vector<Result<void>> verdicts;
  Relayed relayed;
  std::vector<const TagEvent*> witnessed;
  std::vector<const TagEvent*> hearsay;
  for (const TagEvent& event : events) {
    verdicts.push_back(check_door(owner, event, sender));
    if (!verdicts.back() || sender == identity_.origin() || vouches(sender, event)) continue;
    hearsay.push_back(&event);
    if (!relayed.contains(event.tag)) {
      const auto claim = claims.find(event.tag);
      const auto claimed = claim == claims.end() ? std::nullopt : std::optional(claim->second);
      relayed[event.tag] = co_await owner.witness(event.tag, sender, claimed);
    }
    const redundancy::RelayHalves halves = relayed.at(event.tag);
    if (halves == 0 || event.is_hearsay() || origins_.standing().is_proved(sender)) continue;
    witnesses_.note(event, sender, halves);
    witnessed.push_back(&event);
  }
  const std::set<const TagEvent*> known = co_await owner.known(std::move(hearsay));
  std::erase_if(witnessed, [&](const TagEvent* event) { return known.contains(event); });
  co_await await_witnesses(std::move(witnessed));
  std::vector<TagEvent> believed;
  std::size_t fetches = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    TagEvent& event = events[i];
    Result<void>& verdict = verdicts[i];
    const bool own = sender == identity_.origin();
    if (verdict && !own && vouches(sender, event)) {
      sampled_.erase({event.tag, event.uri, event.op != Op::kRemove});
      if (owner.samples()) sample(event, sender);
    } else if (verdict && !own && !known.contains(&event)) {
      verdict = co_await check_truth(&event, sender, &fetches, owner.is_archive());
    }
    // Last, and with no wait between it and the write: ownership may change at any await.
    if (verdict) verdict = owner.check_place(event);
    if (!verdict && verdict.error().code == ErrorCode::kNotOwner)
      owner.mistaken_for_owner(event.tag, host_of(sender));
    if (verdict) {
      believed.push_back(std::move(event));
    } else {
      refusals->push_back({std::move(event.uri), std::move(event.tag), verdict.error()});
    }
  }
  std::erase_if(believed, [&](TagEvent& event) {
    const Result<void> still = owner.check_place(event);
    if (!still) refusals->push_back({event.uri, event.tag, still.error()});
    return !still;
  });
  co_return believed;
}

Task<std::vector<TagEvent>> PostChecker::corroborated(std::vector<TagEvent> events, std::string relay,
                                                      Relayed relayed, std::vector<Refusal>* refusals) {
  std::vector<const TagEvent*> witnessed;
  for (const TagEvent& event : events) {
    if (relayed.contains(event.tag) && !event.is_hearsay() && !hear(event, relay, relayed))
      witnessed.push_back(&event);
  }
  co_await await_witnesses(std::move(witnessed));
  std::vector<TagEvent> believed;
  std::size_t fetches = 0;
  for (TagEvent& event : events) {
    Result<void> verdict;
    if (!vouches(relay, event)) verdict = co_await check_truth(&event, relay, &fetches, /*of_archive=*/false);
    // What an author's server denies is not denied to the relay, which would take it for the end of the
    // subscription.
    if (!verdict && verdict.error().code == ErrorCode::kDenied)
      verdict = fail(ErrorCode::kInvalid, verdict.error().message);
    if (verdict) {
      believed.push_back(std::move(event));
    } else {
      refusals->push_back({std::move(event.uri), std::move(event.tag), verdict.error()});
    }
  }
  co_return believed;
}

bool PostChecker::hear(const TagEvent& event, const std::string& relay, const Relayed& relayed) {
  if (vouches(relay, event)) return true;
  const auto halves = relayed.find(event.tag);
  if (halves != relayed.end() && !origins_.standing().is_proved(relay))
    witnesses_.note(event, relay, halves->second);
  return witnesses_.agree_on(event);
}

// Who was right then may be wrong now: posts are deleted.
Task<Result<TagEvent>> PostChecker::look_into(TagEvent event, std::string relay) {
  std::size_t fetches = 0;
  CO_TRY_VOID(co_await check_truth(&event, std::move(relay), &fetches, /*of_archive=*/false));
  co_return event;
}

Task<void> PostChecker::await_witnesses(std::vector<const TagEvent*> events) {
  for (Duration pause = kFirstWait; pause <= kLastWait; pause *= 2) {
    std::erase_if(events, [this](const TagEvent* event) {
      return witnesses_.agree_on(*event) || origins_.is_borne_out(claim_of(*event));
    });
    if (events.empty()) co_return;
    const Instant later = clock_.now() + pause;
    co_await clock_.sleep_until(later);
  }
}

// Of what another node says about posts of others. Date and consent become what the post's server says.
Task<Result<void>> PostChecker::check_truth(TagEvent* event, std::string sender, std::size_t* fetches,
                                            bool of_archive) {
  if (witnesses_.agree_on(*event)) co_return Result<void>();
  const bool was_known = origins_.is_borne_out(claim_of(*event));
  if (!was_known) {
    const std::string host = host_of(event->uri);
    if (!origins_.hosts().is_known(host) && !origins_.standing().may_name_stranger(sender, host))
      co_return fail(ErrorCode::kBusy, "not asked for now at a server that nobody knows: " + host);
    if (++*fetches > options_.fetches_per_batch)
      co_return fail(ErrorCode::kBusy, "too many posts to check at once: send the rest again");
  }
  const Result<void> truth = co_await ask_origin(event, of_archive, sender);
  // A server that does not show it says nothing of it.
  if (!truth && is_refuted(truth.error().code) && truth.error().code != ErrorCode::kDenied)
    witnesses_.forget(*event);
  // A post that is not there may have been deleted since: who hands on what it took before is not wrong, but
  // where nothing is that anybody named.
  const bool nowhere = !truth && truth.error().code == ErrorCode::kNotFound &&
                       origins_.hosts().has_nothing(host_of(event->uri));
  // Nor is one who has not heard of an edit, or takes back, not for ever, what is there: its author may have
  // blocked that node, or its administrator the author's server, which no document shows.
  const bool is_withdrawn = is_withdrawal(*event);
  const bool excused = !truth && truth.error().code == ErrorCode::kInvalid &&
                       (is_withdrawn || origins_.was_edited(event->uri));
  const bool wrong =
      nowhere || (!truth && !excused &&
                  (truth.error().code == ErrorCode::kInvalid || truth.error().code == ErrorCode::kConflict));
  // That something is not there is true of all that never was, and earns nobody anything; nor does what was
  // known to be true.
  const bool right = truth && event->op == Op::kAdd && !was_known;
  if (right || wrong) origins_.standing().note(sender, event->uri, right);
  if (!truth && truth.error().code == ErrorCode::kBusy && !is_withdrawn)
    origins_.note_sender(claim_of(*event), sender);
  co_return truth;
}

Task<Result<void>> PostChecker::ask_origin(TagEvent* event, bool of_archive, std::string sender) {
  CO_TRY(const Answer answer, co_await origins_.ask(claim_of(*event, of_archive, std::move(sender))));
  event->published = answer.published;
  event->changed = answer.changed;
  event->drop_strange_copy();  // the post is there
  if (event->op == Op::kAdd) event->indexable = event->indexable && answer.archive;
  co_return Result<void>();
}

void PostChecker::sample(const TagEvent& event, const std::string& sender) {
  if (is_withdrawal(event)) return;  // the post may be as it was
  if (!rng_.chance(options_.check_share) || sampled_.size() >= kSpotChecksMax) return;
  if (sampled_.emplace(event.tag, event.uri, event.op == Op::kRemove).second)
    tasks_.spawn("spot_check", spot_check(event, sender));
}

Task<void> PostChecker::spot_check(TagEvent event, std::string sender) {
  const Contested::Key key{event.tag, event.uri, event.op == Op::kRemove};
  // Owners of several tags draw the same post at about the same time: not all at once to its server.
  const auto spread = static_cast<std::uint64_t>(kSpotCheckSpread.count());
  const Instant later = clock_.now() + Duration(static_cast<Duration::rep>(rng_.below(spread)));
  co_await clock_.sleep_until(later);
  // Whoever invents posts of their own, so that their server or another's is asked for each, gets no further
  // than others.
  if (is_liar(sender)) {
    sampled_.erase(key);
    co_return;
  }
  Result<Answer> answer = co_await origins_.ask_of_post(claim_of(event));
  if (!answer && answer.error().code == ErrorCode::kBusy) {
    const Instant newer = clock_.now() + kSpotCheckAgain;
    co_await clock_.sleep_until(newer);
    answer = co_await origins_.ask_of_post(claim_of(event));
  }
  // Unless the sender has said the contrary meanwhile: posts are edited.
  const bool stands = sampled_.erase(key) > 0;
  if (!stands || answer || answer.error().code != ErrorCode::kInvalid) co_return;
  log_.warn("sender_not_believed_any_more",
            {{"sender", sender}, {"post", event.uri}, {"because", answer.error().message}});
  make_room(liars_, kLiarsMax);
  liars_.insert_or_assign(std::move(sender), clock_.now() + kLiarFor);
}

}  // namespace tagring::belief
