#include "admin/replay_control.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "fediverse/domain.hpp"

namespace tagring::admin {
namespace {

// Beyond any limit, so that too much is refused and not wrapped around.
std::optional<std::int64_t> bounded(const json::object& body, std::string_view key) {
  constexpr std::int64_t kNumberMax = 4'000'000'000;
  const auto value = json::get_int(body, key);
  return value ? std::optional(std::clamp<std::int64_t>(*value, 0, kNumberMax)) : std::nullopt;
}

// Seconds, or none for as far back as the node goes.
Result<std::optional<Duration>> age_in(const json::object& body) {
  const auto seconds = bounded(body, "max_age_s");
  if (!seconds) {
    return fail(
        ErrorCode::kInvalid,
        "say how long the instance keeps posts of others (Mastodon: Administration > Server settings > "
        "Content retention), or it lets older ones go at once: --max-age 14d, or forever; "
        "\"max_age_s\", 0 for ever");
  }
  if (json::get_int(body, "max_age_s") < 0)
    return fail(ErrorCode::kInvalid, "max_age_s is a number of seconds, or 0 for ever");
  return *seconds == 0 ? std::nullopt : std::optional<Duration>(std::chrono::seconds(*seconds));
}

}  // namespace

void ReplayControl::add_routes(Routes& routes) {
  routes.get("/instances/replays",
             [this](const Request&) { return replied(json::object{{"replays", replayer_.list()}}); });
  routes.post("/instances/replay", [this](Request request) { return begin(std::move(request.body)); });
  routes.post("/instances/cancel-replay",
              [this](Request request) { return cancel(std::move(request.body)); });
}

Task<Reply> ReplayControl::begin(json::object body) {
  CO_TRY(const Tag tag, tag_in(body));
  const std::string order = json::get_string(body, "order").value_or("newest_first");
  if (order != "newest_first" && order != "oldest_first")
    co_return fail(ErrorCode::kInvalid, "'order' is newest_first or oldest_first");
  replay::Replayer::Request wish;
  wish.host = fediverse::domain_in(text_in(body, "host"));
  wish.tag = tag.canonical();
  wish.newest_first = order == "newest_first";
  CO_TRY(wish.age_max, age_in(body));
  if (const auto posts = bounded(body, "max_posts")) wish.posts_max = static_cast<std::uint64_t>(*posts);
  if (const auto rate = bounded(body, "per_minute")) wish.per_minute = static_cast<std::uint32_t>(*rate);
  if (const auto authors = bounded(body, "authors_per_day"))
    wish.authors_per_day = static_cast<std::uint32_t>(*authors);
  const json::value* agreed = json::find(body, "may_trend");
  if (replay::is_trend(wish.authors_per_day) && (agreed == nullptr || *agreed != json::value(true))) {
    co_return fail(
        ErrorCode::kInvalid,
        "Mastodon counts posts as of the day on which they come: with five authors a day or more it shows "
        "that "
        "day as the hashtag's busiest, may take it for trending, and writes to its moderators. If that is "
        "wanted, say so: --may-trend, \"may_trend\": true");
  }
  CO_TRY(const replay::Replay begun, co_await replayer_.begin(std::move(wish)));
  replay::ReplayPlaces& places = replayer_.places();
  json::object answer = {{"host", begun.host},
                         {"tag", begun.tag},
                         {"not_before", to_rfc3339(begun.not_before)},
                         {"max_posts", begun.posts_max},
                         {"per_minute", begun.per_minute},
                         {"authors_per_day", begun.authors_per_day},
                         {"begins", to_rfc3339(std::max(places.opens(begun), begun.started))},
                         {"trends", begun.may_trend()}};
  const Result<std::string> why = co_await places.holds_up(begun);
  if (why && !why->empty()) answer["waits_for"] = *why;
  co_return answer;
}

Task<Reply> ReplayControl::cancel(json::object body) {
  const std::string host = fediverse::domain_in(text_in(body, "host"));
  CO_TRY(const Tag tag, tag_in(body));
  CO_TRY_VOID(co_await replayer_.cancel(host, tag.canonical()));
  co_return json::object{{"host", host}, {"tag", tag.canonical()}, {"cancelled", true}};
}

}  // namespace tagring::admin
