#include "replay/replay.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/counted.hpp"
#include "delivery/store.hpp"
#include "federation/signed_client.hpp"
#include "http/url.hpp"

namespace tagring::replay {
namespace {

using storage::HistoryCursor;
using storage::HistoryEntry;

// A page that was read longer ago is read again: posts on it may have been removed.
constexpr Duration kPageLifetime = std::chrono::minutes(1);
constexpr Duration kLookEvery = std::chrono::seconds(10);
constexpr std::string_view kTooOld = "posts were left out that had become older than the instance keeps them";
constexpr unsigned kRefusalsMax = 20;  // in a row; then the instance wants none of it
// A server that does not answer is asked again, so that no post is lost while this node is cut off itself.
// Many replays may ask it so often at once: so long, too.
constexpr Duration kSilentFor = std::chrono::minutes(10);
constexpr unsigned kAskedMax = 6;  // in a row
constexpr Duration kGivenUpAfter = (kAskedMax - 1) * kSilentFor;
constexpr Duration kSilenceLifetime = std::chrono::hours(3);  // what was long before was another one
constexpr std::size_t kSilentMax = 10'000;
constexpr queues::Backoff kBackoff = {std::chrono::seconds(5), std::chrono::minutes(10)};

constexpr std::string_view state_name(ReplayState state) {
  switch (state) {
    case ReplayState::kReading:
      return "reading";
    case ReplayState::kSending:
      return "sending";
    case ReplayState::kDone:
      return "done";
    case ReplayState::kCancelled:
      return "cancelled";
    case ReplayState::kFailed:
      return "failed";
  }
  return "";
}

std::int64_t day_of(WallTime time) {
  return std::chrono::floor<std::chrono::days>(time).time_since_epoch().count();
}

bool is_set(WallTime time) { return time != WallTime(); }

json::object to_json(const Replay& replay) {
  json::object item = {{"host", replay.host},
                       {"tag", replay.tag},
                       {"order", replay.newest_first ? "newest_first" : "oldest_first"},
                       {"state", state_name(replay.state)},
                       {"sent", replay.sent},
                       {"skipped", replay.skipped},
                       {"estimated", replay.found},
                       {"per_minute", replay.per_minute},
                       {"authors_per_day", replay.authors_per_day},
                       {"started", to_rfc3339(replay.started)}};
  if (!replay.reason.empty()) item["reason"] = replay.reason;
  if (is_set(replay.newest)) item["newest"] = to_rfc3339(replay.newest);
  if (is_set(replay.oldest)) item["oldest"] = to_rfc3339(replay.oldest);
  if (is_set(replay.failing_since)) item["failing_since"] = to_rfc3339(replay.failing_since);
  return item;
}

}  // namespace

// --- what there is -----------------------------------------------------------------------------------------

Task<Result<void>> Replayer::load() {
  CO_TRY(std::vector<Replay> replays, co_await store_.replays());
  for (Replay& replay : replays) {
    Key key{replay.host, replay.tag};
    places_.recall(replay);
    replays_[std::move(key)] = std::move(replay);
  }
  co_return Result<void>();
}

void Replayer::start() {
  for (const auto& [key, replay] : replays_) {
    if (replay.is_active()) serve_soon(key.first);
  }
}

Task<void> Replayer::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Replay* Replayer::active(const Key& key) {
  const auto found = replays_.find(key);
  return found != replays_.end() && found->second.is_active() ? &found->second : nullptr;
}

Replay* Replayer::current(const Replay& replay) {
  Replay* known = active({replay.host, replay.tag});
  return known != nullptr && known->started == replay.started ? known : nullptr;
}

// Of those that could go on now, the one that was begun first.
std::optional<Replayer::Next> Replayer::next_of(const std::string& host) const {
  std::optional<Next> next;
  for (auto it = replays_.lower_bound({host, ""}); it != replays_.end() && it->first.first == host; ++it) {
    if (!it->second.is_active()) continue;
    const auto rest = resting_.find(it->first);
    const Instant at = rest == resting_.end() ? clock_.now() : std::max(rest->second.until, clock_.now());
    const Next candidate{at, it->second.started, it->first};
    if (!next || candidate < *next) next = candidate;
  }
  return next;
}

std::size_t Replayer::active() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(replays_, [](const auto& item) { return item.second.is_active(); }));
}

json::array Replayer::list() const {
  json::array items;
  for (const auto& [key, replay] : replays_) {
    json::object item = to_json(replay);
    const auto rest = resting_.find(key);
    if (rest != resting_.end() && rest->second.until > clock_.now()) {
      item["waits_until"] = to_rfc3339(clock_.wall_now() + (rest->second.until - clock_.now()));
      if (!rest->second.why.empty()) item["waits_for"] = rest->second.why;
    }
    items.push_back(std::move(item));
  }
  return items;
}

// --- the administrator -------------------------------------------------------------------------------------

Task<Result<Replay>> Replayer::begin(Request request) {
  const Duration age = std::min(request.age_max.value_or(limits_.age_max), limits_.age_max);
  const std::uint64_t posts = request.posts_max.value_or(limits_.posts_max);
  if (posts > limits_.posts_max) {
    co_return fail(
        ErrorCode::kTooLarge,
        fmt::format("a replay sends {} posts at most: publish.replay_max_posts", limits_.posts_max));
  }
  if (request.per_minute == 0 || request.per_minute > kPerMinuteMax || age <= Duration::zero() ||
      posts == 0) {
    co_return fail(ErrorCode::kInvalid,
                   fmt::format("a replay sends 1 to {} posts a minute, at least one, and not from the future",
                               kPerMinuteMax));
  }
  if (request.authors_per_day > kAuthorsPerDayMax) {
    co_return fail(ErrorCode::kInvalid,
                   fmt::format("posts of at most {} authors a day, or 0 for any number", kAuthorsPerDayMax));
  }
  if (!sender_.is_subscribed(request.host, Tag::from_canonical(request.tag))) {
    co_return fail(
        ErrorCode::kNotFound,
        fmt::format("{} is not subscribed to #{}: tagring instance subscribe", request.host, request.tag));
  }
  const Key key{request.host, request.tag};
  if (active(key) != nullptr) {
    co_return fail(ErrorCode::kConflict,
                   fmt::format("a replay of #{} to {} is under way already", request.tag, request.host));
  }
  Replay replay;
  replay.host = request.host;
  replay.tag = request.tag;
  replay.newest_first = request.newest_first;
  replay.started = clock_.wall_now();
  replay.not_before = replay.started - age;
  replay.posts_max = posts;
  replay.per_minute = request.per_minute;
  replay.authors_per_day = request.authors_per_day;
  CO_TRY_VOID(places_.check(replay));
  // Who begins anew does not begin a day anew.
  auto former = replays_.extract(key);
  if (!former.empty()) {
    replay.day = former.mapped().day;
    replay.authors_today = former.mapped().authors_today;
  }
  resting_.erase(key);
  replays_[key] = replay;
  const Result<void> planned = co_await store_.plan(replay, {});
  if (!planned) {
    // The former one is what the disk has, unless this one was written meanwhile, as cancelled or begun.
    if (current(replay) != nullptr) replays_.erase(key);
    replays_.insert(std::move(former));
    co_return std::unexpected(planned.error());
  }
  serve_soon(request.host);
  co_return replay;
}

Task<Result<void>> Replayer::cancel(std::string host, std::string tag) {
  const Key key{host, tag};
  if (active(key) == nullptr) {
    co_return fail(ErrorCode::kNotFound, fmt::format("no replay of #{} to {} is under way", tag, host));
  }
  co_return co_await end(key, ReplayState::kCancelled, "");
}

Task<Result<void>> Replayer::end(Key key, ReplayState state, std::string reason) {
  Replay* replay = active(key);
  if (replay == nullptr) co_return Result<void>();
  resting_.erase(key);
  replay->state = state;
  replay->reason = std::move(reason);
  replay->failing_since = WallTime();
  log_.info("replay_ended", {{"host", replay->host},
                             {"tag", replay->tag},
                             {"state", state_name(state)},
                             {"reason", replay->reason},
                             {"sent", replay->sent}});
  co_return co_await store_.save(*replay, {});
}

// --- one instance ------------------------------------------------------------------------------------------

void Replayer::serve_soon(const std::string& host) {
  if (served_.insert(host).second) tasks_.spawn("replay", serve(host));
}

Task<void> Replayer::serve(std::string host) {
  Work work;
  for (;;) {
    const std::optional<Next> due = next_of(host);
    if (!due) break;
    if (due->at > clock_.now()) {
      // Meanwhile another may be begun.
      const Instant then = std::min(due->at, clock_.now() + kLookEvery);
      co_await clock_.sleep_until(then);
      continue;
    }
    const std::optional<Key> key = due->key;
    const Result<Duration> wait = co_await step(*key, &work);
    Instant next = clock_.now();
    if (wait) {
      next += *wait;
    } else {
      next += kBackoff.wait(++work.failures, rng_);
      work.key.reset();  // what was skipped since the last note is skipped again
      co_await note_failure(*key, wait.error());
    }
    co_await clock_.sleep_until(next);
  }
  served_.erase(host);
}

Task<Result<Duration>> Replayer::step(Key key, Work* work) {
  const Replay replay = *active(key);
  if (replay.state == ReplayState::kReading) co_return co_await read_ahead(replay);
  co_return co_await send_next(replay, work);
}

Task<void> Replayer::note_failure(Key key, Error error) {
  Replay* replay = active(key);
  if (replay == nullptr) co_return;
  log_.debug("replay_fails", {{"host", replay->host}, {"tag", replay->tag}, {"why", error.message}});
  const WallTime now = clock_.wall_now();
  if (!is_set(replay->failing_since)) {
    replay->failing_since = now;
    // If it fails, patience begins anew after a restart.
    co_await store_.save(*replay, {});
  } else if (now - replay->failing_since > kPatience) {
    // If it fails, the next failure ends it.
    co_await end(key, ReplayState::kFailed, std::move(error.message));
  }
}

// Unless the replay has ended meanwhile.
Task<Result<void>> Replayer::save(Replay replay, std::vector<std::string> sent) {
  Replay* known = current(replay);
  if (known == nullptr) co_return Result<void>();
  *known = replay;
  co_return co_await store_.save(std::move(replay), std::move(sent));
}

// --- reading the history -----------------------------------------------------------------------------------

Task<Result<Duration>> Replayer::read_ahead(Replay replay) {
  CO_TRY(ReplayPages::Found found, co_await pages_.find(replay));
  if (current(replay) == nullptr) co_return Duration::zero();
  replay.found = found.posts;
  replay.pages = found.pages.size();
  replay.state = ReplayState::kSending;
  replay.failing_since = WallTime();
  CO_TRY_VOID(co_await store_.plan(replay, std::move(found.pages)));
  if (Replay* known = current(replay)) *known = replay;
  co_return Duration::zero();
}

// What is left of the current page.
Task<Result<void>> Replayer::read_page(Replay replay, Work* work) {
  CO_TRY(work->posts, co_await pages_.read(replay));
  work->key = {replay.host, replay.tag};
  work->started = replay.started;
  work->read = clock_.now();
  co_return Result<void>();
}

// --- sending -----------------------------------------------------------------------------------------------

Task<Result<Duration>> Replayer::send_next(Replay replay, Work* work) {
  const Key key{replay.host, replay.tag};
  if (replay.pages_done == replay.pages || replay.sent + replay.skipped >= replay.posts_max) {
    CO_TRY_VOID(co_await end(key, ReplayState::kDone, replay.reason));
    co_return Duration::zero();
  }
  if (const Instant again = sender_.deliver_again(replay.host, replay.tag); again > clock_.now()) {
    rest(key, again, "the instance asked for a pause");
    co_return Duration::zero();
  }
  const bool is_another = work->key != key || work->started != replay.started;
  if (is_another || work->posts.empty() || clock_.now() - work->read > kPageLifetime) {
    CO_TRY_VOID(co_await read_page(replay, work));
  }
  // What has become too old meanwhile: an instance that keeps posts so long only would let it go at once.
  const WallTime oldest = clock_.wall_now() - (replay.started - replay.not_before);
  const std::uint64_t skipped = replay.skipped;
  while (!work->posts.empty()) {
    const auto& [entry, skip] = work->posts.back();
    const bool is_too_old = !skip && entry.published < oldest;
    if (!skip && !is_too_old && !sender_.is_kept_away(entry, replay.host)) break;
    if (is_too_old) replay.reason = kTooOld;
    pass_over(replay, work);
  }
  // They are off the page, whenever the next one goes. On the disk neither they nor their number are noted
  // yet.
  if (Replay* known = current(replay); known != nullptr && replay.skipped != skipped) *known = replay;
  if (work->posts.empty()) {
    ++replay.pages_done;
    replay.at.clear();
    CO_TRY_VOID(co_await save(std::move(replay), {}));
    co_return Duration::zero();
  }
  if (places_.opens(replay) > clock_.wall_now()) co_return co_await wait_until_open(std::move(replay));
  Outgoing post{work->posts.back().entry, {replay.tag}};
  if (const Instant again = ask_again(post.entry.uri); again > clock_.now()) {
    rest(key, again);
    co_return Duration::zero();
  }
  if (replay.authors_per_day > 0) {
    const Result<std::vector<std::string>> tags = co_await tags_of(replay.tag, post.entry.uri, work);
    if (current(replay) == nullptr) co_return Duration::zero();
    if (!tags) co_return co_await leave_out(std::move(replay), tags.error().code, work);
    post.tags = *tags;
    CO_TRY(const bool is_all, co_await places_.look_up(replay, post.tags, &post.got));
    // If not, the next turn asks; and if it was blocked while its server was asked, that passes over it.
    if (current(replay) == nullptr || !is_all || sender_.is_kept_away(post.entry, replay.host))
      co_return Duration::zero();
  }
  co_return co_await send_if_there_is_room(std::move(replay), std::move(post), work);
}

void Replayer::rest(const Key& key, Instant until, std::string why) {
  resting_[key] = {until, std::move(why)};
}

Task<Result<Duration>> Replayer::wait_until_open(Replay replay) {
  CO_TRY(std::string why, co_await places_.waits_for(replay));
  if (current(replay) == nullptr) co_return Duration::zero();
  const Duration pause = places_.opens(replay) - clock_.wall_now();
  rest({replay.host, replay.tag}, clock_.now() + pause, std::move(why));
  // Its history could be read again. Of an inbox that failed nothing is known before it is tried.
  if (is_set(replay.failing_since) && replay.failing_since < places_.opens_first(replay)) {
    replay.failing_since = WallTime();
    CO_TRY_VOID(co_await save(std::move(replay), {}));
  }
  co_return Duration::zero();
}

void Replayer::pass_over(Replay& replay, Work* work) {
  replay.at = HistoryCursor::of(work->posts.back().entry).text();
  ++replay.skipped;
  work->posts.pop_back();
}

Task<Result<std::vector<std::string>>> Replayer::tags_of(std::string tag, std::string uri, Work* work) {
  const std::int64_t today = day_of(clock_.wall_now());
  if (work->learnt.uri == uri && work->learnt.day == today) co_return work->learnt.tags;
  note_asked(uri);
  CO_TRY(std::vector<std::string> tags, co_await sender_.tags_of(Tag::from_canonical(tag), uri));
  silent_.erase(host_of(uri));
  work->learnt = {std::move(uri), tags, today};
  co_return tags;
}

// It was asked once more in vain.
bool Replayer::is_given_up(const std::string& origin) {
  if (!silent_.contains(origin)) make_room(silent_, kSilentMax);
  Silence& silent = silent_[origin];
  const Instant now = clock_.now();
  if (silent.times == 0 || now - silent.last > kSilenceLifetime) silent = {.since = now, .last = now};
  silent.last = now;
  return ++silent.times >= kAskedMax && now - silent.since >= kGivenUpAfter;
}

Task<Result<Duration>> Replayer::leave_out(Replay replay, ErrorCode why, Work* work) {
  const std::string origin = host_of(work->posts.back().entry.uri);
  const bool answered =
      why == ErrorCode::kNotFound || why == ErrorCode::kDenied || why == ErrorCode::kInvalid;
  if (answered) silent_.erase(origin);
  if (!answered && !is_given_up(origin)) {
    rest({replay.host, replay.tag}, clock_.now() + kSilentFor, origin + " does not answer");
    co_return Duration::zero();
  }
  pass_over(replay, work);
  CO_TRY_VOID(co_await save(std::move(replay), {}));
  co_return Duration::zero();
}

Task<Result<Duration>> Replayer::send_if_there_is_room(Replay replay, Outgoing post, Work* work) {
  const Key key{replay.host, replay.tag};
  std::optional<Recipient> recipient = sender_.recipient(replay.host, Tag::from_canonical(replay.tag));
  if (!recipient) {
    CO_TRY_VOID(co_await end(key, ReplayState::kFailed, "the instance is not subscribed to it any more"));
    co_return Duration::zero();
  }
  // The post's server may have taken until midnight to answer: the next turn waits.
  if (places_.opens(replay) > clock_.wall_now()) co_return Duration::zero();
  if (auto lack = places_.lack(replay, post))
    co_return co_await wait_or_leave_out(std::move(replay), *std::move(lack), work);
  co_return co_await deliver(std::move(replay), std::move(post), *std::move(recipient), work);
}

// Who waited for a place under another hashtag that is busy day by day would hold up all behind.
Task<Result<Duration>> Replayer::wait_or_leave_out(Replay replay, ReplayPlaces::Lack lack, Work* work) {
  if (lack.tag != replay.tag && !lack.why.empty() && places_.knows_all()) {
    replay.reason = "what it left out last is under another hashtag, too: " + lack.why;
    pass_over(replay, work);
    CO_TRY_VOID(co_await save(std::move(replay), {}));
    co_return Duration::zero();
  }
  const Duration pause = places_.opens_again(replay) - clock_.wall_now();
  std::string why;
  if (!lack.why.empty()) {
    CO_TRY(why, co_await places_.holds_up(replay));
  }
  if (why.empty()) why = fmt::format("no more authors have a place under #{} today", lack.tag);
  if (current(replay) != nullptr) rest({replay.host, replay.tag}, clock_.now() + pause, std::move(why));
  replay.failing_since = WallTime();  // nothing fails where nothing is tried before tomorrow
  CO_TRY_VOID(co_await save(std::move(replay), {}));
  co_return Duration::zero();
}

void Replayer::note_asked(const std::string& uri) {
  std::erase_if(origins_, [this](const auto& known) { return known.second <= clock_.now(); });
  origins_[host_of(uri)] = clock_.now() + kOriginEvery;
}

Instant Replayer::ask_again(const std::string& uri) const {
  const std::string origin = host_of(uri);
  const auto known = origins_.find(origin);
  const Instant asked_for = sender_.fetch_again(origin);
  return known == origins_.end() ? asked_for : std::max(known->second, asked_for);
}

Task<Result<Duration>> Replayer::deliver(Replay replay, Outgoing post, Recipient recipient, Work* work) {
  const Key key{replay.host, replay.tag};
  const Duration pause = Duration(std::chrono::minutes(1)) / replay.per_minute;
  const HistoryEntry& entry = post.entry;
  places_.note(replay, post);
  note_asked(entry.uri);
  const Result<HttpResponse> response =
      co_await sender_.send(recipient, Tag::from_canonical(replay.tag), entry);
  const bool taken = federation::was_accepted(response);
  // Of an inbox that is not there: proxies err.
  const bool refused = federation::was_refused(response) && !federation::is_gone(response);
  work->refusals = taken ? 0 : work->refusals + (refused ? 1 : 0);
  if (work->refusals >= kRefusalsMax) {
    CO_TRY_VOID(co_await end(key, ReplayState::kFailed,
                             fmt::format("{} answers {}", recipient.inbox, response->status)));
    co_return pause;
  }
  if (!taken && !refused) {
    if (!response) co_return std::unexpected(response.error());
    co_return fail(ErrorCode::kUnavailable, fmt::format("{} answers {}", recipient.inbox, response->status));
  }
  work->posts.pop_back();
  replay.at = HistoryCursor::of(entry).text();
  replay.failing_since = WallTime();
  std::vector<std::string> sent;
  if (taken) {
    ++replay.sent;
    if (!is_set(replay.newest) || entry.published > replay.newest) replay.newest = entry.published;
    if (!is_set(replay.oldest) || entry.published < replay.oldest) replay.oldest = entry.published;
    sent.push_back(entry.uri);
  } else {
    ++replay.skipped;
  }
  CO_TRY_VOID(co_await save(std::move(replay), std::move(sent)));
  work->failures = 0;  // a rest says nothing
  co_return pause;
}

}  // namespace tagring::replay
