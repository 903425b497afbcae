#include "replay/replay_places.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <utility>

namespace tagring::replay {
namespace {

using std::chrono::days;

constexpr Duration kLookAgain = std::chrono::seconds(1);  // whether what came of late has been read

std::int64_t number_of_day(WallTime time) {
  return std::chrono::floor<days>(time).time_since_epoch().count();
}

Duration open_on_a_day(const Replay& replay) {
  return replay.may_trend() ? Duration::zero() : ReplayPlaces::kOpen;
}

}  // namespace

WallTime ReplayPlaces::opens_first(const Replay& replay) const {
  if (replay.may_trend()) return WallTime();
  return std::chrono::floor<days>(replay.started) + kSeenFirst + kOpen;
}

WallTime ReplayPlaces::opens(const Replay& replay) const {
  const auto opens = std::max<WallTime>(opens_first(replay), authors_.today() + open_on_a_day(replay));
  const bool waits = replay.authors_per_day > 0 && authors_.is_being_read();
  return waits ? std::max<WallTime>(opens, clock_.wall_now() + kLookAgain) : opens;
}

Result<void> ReplayPlaces::check(const Replay& replay) const {
  const Duration age = replay.started - replay.not_before;
  if (replay.may_trend() || opens(replay) - replay.started < age) return {};
  return fail(
      ErrorCode::kInvalid,
      fmt::format("the first ones would go at {}, when all posts are older than {} hours, so that none "
                  "went: only a replay that may trend goes at once (--authors-per-day {} --may-trend)",
                  to_rfc3339(opens(replay)), age / std::chrono::hours(1), kAuthorsOfATrend));
}

WallTime ReplayPlaces::opens_again(const Replay& replay) const {
  return authors_.today() + days(1) + open_on_a_day(replay);
}

std::string ReplayPlaces::too_many(const Replay& replay, const std::string& tag,
                                   const budget::DayAuthors::Got& got) const {
  if (!authors_.knows_all()) return "more posts came in a day than this node knows the authors of";
  const std::size_t live = authors_.live({replay.host, tag, got});
  if (live < replay.authors_per_day) return "";
  return fmt::format("#{} has {} author{} a day by itself here", tag, live, live == 1 ? "" : "s");
}

Task<Result<std::string>> ReplayPlaces::holds_up(Replay replay) {
  if (replay.authors_per_day == 0 || authors_.is_being_read()) co_return std::string();
  budget::DayAuthors::Got got;
  CO_TRY_VOID(co_await look_up(replay, std::vector{replay.tag}, &got));
  const std::string why = too_many(replay, replay.tag, got);
  if (why.empty()) co_return why;
  co_return why +
      ": nothing is replayed while that is so, unless you allow that it may trend: begin it anew with a "
      "greater "
      "--authors-per-day (0: any number) and --may-trend";
}

Task<Result<std::string>> ReplayPlaces::waits_for(Replay replay) {
  CO_TRY(std::string why, co_await holds_up(replay));
  if (!why.empty()) co_return why;
  const Duration wait = opens(replay) - clock_.wall_now();
  if (authors_.is_being_read() && wait <= kLookAgain) co_return "what came of late is being read";
  why = wait > days(1) ? "it is to be seen first how many authors come by themselves in a day"
                       : "a day's posts go when most of who comes by themselves has come";
  co_return why;
}

Task<Result<bool>> ReplayPlaces::look_up(Replay replay, std::vector<std::string> tags,
                                         budget::DayAuthors::Got* got) {
  const std::set<std::string> ways = authors_.ways(tags);
  CO_TRY(*got, co_await sender_.got(replay.host, Tag::from_canonical(replay.tag), ways));
  co_return std::ranges::includes(ways, authors_.ways(tags));
}

std::optional<ReplayPlaces::Lack> ReplayPlaces::lack(const Replay& replay, const Outgoing& post) const {
  if (replay.authors_per_day == 0) return std::nullopt;
  if (replay.day == number_of_day(clock_.wall_now()) && replay.authors_today.size() >= kNotedMax)
    return Lack{replay.tag, ""};
  for (const std::string& tag : post.tags) {
    if (!authors_.has_room({replay.host, tag, post.got}, post.entry.author, replay.authors_per_day))
      return Lack{tag, too_many(replay, tag, post.got)};
  }
  return std::nullopt;
}

void ReplayPlaces::note(Replay& replay, const Outgoing& post) {
  const std::string& author = post.entry.author;
  for (const std::string& tag : post.tags) authors_.brought_to(replay.host, tag, author);
  if (replay.authors_per_day == 0) return;
  const std::int64_t today = number_of_day(clock_.wall_now());
  if (std::exchange(replay.day, today) != today) replay.authors_today.clear();
  for (const std::string& tag : post.tags) {
    std::string seen = tag == replay.tag ? author : author + " " + tag;
    if (std::ranges::find(replay.authors_today, seen) == replay.authors_today.end())
      replay.authors_today.push_back(std::move(seen));
  }
}

void ReplayPlaces::recall(const Replay& replay) {
  if (replay.day != number_of_day(clock_.wall_now())) return;
  for (const std::string& seen : replay.authors_today) {
    const std::size_t blank = seen.find(' ');
    authors_.brought_to(replay.host, blank == std::string::npos ? replay.tag : seen.substr(blank + 1),
                        seen.substr(0, blank));
  }
}

}  // namespace tagring::replay
