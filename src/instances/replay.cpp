#include "instances/replay.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "federation/signed_client.hpp"

namespace tagring::instances {
namespace {

using storage::HistoryCursor;
using storage::HistoryEntry;

// A page that was read longer ago is read again: posts on it may have been removed.
constexpr Duration kPageLifetime = std::chrono::minutes(1);
constexpr unsigned kRefusalsMax = 20;  // in a row; then the instance wants none of it
constexpr federation::Backoff kBackoff = {std::chrono::seconds(5), std::chrono::minutes(10)};

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

// The one that waits longest.
std::optional<Replayer::Key> Replayer::next_of(const std::string& host) const {
  std::optional<Key> next;
  WallTime started;
  for (auto it = replays_.lower_bound({host, ""}); it != replays_.end() && it->first.first == host; ++it) {
    if (!it->second.is_active() || (next && it->second.started >= started)) continue;
    next = it->first;
    started = it->second.started;
  }
  return next;
}

std::size_t Replayer::active() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(replays_, [](const auto& item) { return item.second.is_active(); }));
}

json::array Replayer::list() const {
  json::array items;
  for (const auto& [key, replay] : replays_) items.push_back(to_json(replay));
  return items;
}

// --- the administrator -------------------------------------------------------------------------------------

Task<Result<Replay>> Replayer::begin(Request request) {
  const Duration age = request.age_max.value_or(limits_.age_max);
  const std::uint64_t posts = request.posts_max.value_or(limits_.posts_max);
  if (age > limits_.age_max || posts > limits_.posts_max) {
    co_return fail(
        ErrorCode::kTooLarge,
        fmt::format("a replay goes back {} days and {} posts at most: publish.replay_max_age_days, "
                    "publish.replay_max_posts",
                    limits_.age_max / std::chrono::days(1), limits_.posts_max));
  }
  if (request.per_minute == 0 || request.per_minute > kPerMinuteMax || age <= Duration::zero() ||
      posts == 0) {
    co_return fail(ErrorCode::kInvalid,
                   fmt::format("a replay sends 1 to {} posts a minute, at least one, and not from the future",
                               kPerMinuteMax));
  }
  if (!sender_.is_subscribed(request.host, request.tag)) {
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
  replays_[key] = replay;
  const Result<void> planned = co_await store_.plan(replay, {});
  if (!planned) {
    replays_.erase(key);
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
    const std::optional<Key> key = next_of(host);
    if (!key) break;
    const Result<Duration> wait = co_await step(*key, &work);
    Instant next = clock_.now();
    if (wait) {
      next += *wait;
      work.failures = 0;
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
  Replay* known = active({replay.host, replay.tag});
  if (known == nullptr || known->started != replay.started) co_return Result<void>();
  *known = replay;
  co_return co_await store_.save(std::move(replay), std::move(sent));
}

// --- reading the history -----------------------------------------------------------------------------------

Task<Result<Duration>> Replayer::read_ahead(Replay replay) {
  CO_TRY(ReplayPages::Found found, co_await pages_.find(replay));
  Replay* known = active({replay.host, replay.tag});
  if (known == nullptr || known->started != replay.started) co_return Duration::zero();
  replay.found = found.posts;
  replay.pages = found.pages.size();
  replay.state = ReplayState::kSending;
  replay.failing_since = WallTime();
  CO_TRY_VOID(co_await store_.plan(replay, std::move(found.pages)));
  known = active({replay.host, replay.tag});
  if (known != nullptr && known->started == replay.started) *known = replay;
  co_return Duration::zero();
}

// What is left of the current page.
Task<Result<void>> Replayer::read_page(Replay replay, Work* work) {
  CO_TRY(work->posts, co_await pages_.read(replay));
  work->key = {replay.host, replay.tag};
  work->read = clock_.now();
  co_return Result<void>();
}

// --- sending -----------------------------------------------------------------------------------------------

Task<Result<Duration>> Replayer::send_next(Replay replay, Work* work) {
  const Key key{replay.host, replay.tag};
  if (replay.pages_done == replay.pages || replay.sent + replay.skipped >= replay.posts_max) {
    CO_TRY_VOID(co_await end(key, ReplayState::kDone, ""));
    co_return Duration::zero();
  }
  if (work->key != key || work->posts.empty() || clock_.now() - work->read > kPageLifetime) {
    CO_TRY_VOID(co_await read_page(replay, work));
  }
  while (!work->posts.empty() &&
         (work->posts.back().skip || sender_.is_kept_away(work->posts.back().entry, replay.host))) {
    replay.at = HistoryCursor::of(work->posts.back().entry).text();
    ++replay.skipped;
    work->posts.pop_back();
  }
  if (work->posts.empty()) {
    ++replay.pages_done;
    replay.at.clear();
    CO_TRY_VOID(co_await save(std::move(replay), {}));
    co_return Duration::zero();
  }
  HistoryEntry entry = work->posts.back().entry;
  co_return co_await deliver(std::move(replay), std::move(entry), work);
}

Task<Result<Duration>> Replayer::deliver(Replay replay, HistoryEntry entry, Work* work) {
  const Key key{replay.host, replay.tag};
  const Duration pause = Duration(std::chrono::minutes(1)) / replay.per_minute;
  const std::optional<Instances::Recipient> recipient = sender_.recipient(replay.host, replay.tag);
  if (!recipient) {
    CO_TRY_VOID(co_await end(key, ReplayState::kFailed, "the instance is not subscribed to it any more"));
    co_return Duration::zero();
  }
  const Result<HttpResponse> response = co_await sender_.send(*recipient, replay.tag, entry);
  const bool taken = federation::was_accepted(response);
  work->refusals = taken ? 0 : work->refusals + (federation::was_refused(response) ? 1 : 0);
  if (federation::is_gone(response) || work->refusals >= kRefusalsMax) {
    CO_TRY_VOID(co_await end(key, ReplayState::kFailed,
                             fmt::format("{} answers {}", recipient->inbox, response->status)));
    co_return pause;
  }
  if (!taken && !federation::was_refused(response)) {
    if (!response) co_return std::unexpected(response.error());
    co_return fail(ErrorCode::kUnavailable, fmt::format("{} answers {}", recipient->inbox, response->status));
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
  co_return pause;
}

}  // namespace tagring::instances
