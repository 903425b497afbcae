#include "mastodon_api/tag_api.hpp"

#include <optional>
#include <utility>

#include "base/bytes.hpp"
#include "base/counted.hpp"
#include "hashtag/typed.hpp"
#include "http/url.hpp"
#include "mastodon_api/timeline_query.hpp"
#include "posts/ids.hpp"

namespace tagring::mastodon_api {
namespace {

constexpr std::string_view kTagPath = "/api/v1/tags/";
constexpr std::string_view kDaysPrefix = "/api/tagring/tags/";
constexpr std::string_view kDaysSuffix = "/days";
constexpr std::size_t kTrendsDefault = 10;

// What stands between the two in the path, decoded; nothing if it does not.
std::optional<std::string> named(std::string_view path, std::string_view prefix, std::string_view suffix) {
  if (!path.starts_with(prefix) || !path.ends_with(suffix)) return std::nullopt;
  if (!suffix.empty() && path.size() <= prefix.size() + suffix.size()) return std::nullopt;
  path.remove_prefix(prefix.size());
  path.remove_suffix(suffix.size());
  return percent_decode(path).value_or("");
}

// As in Mastodon a name has to be one here, while timelines take what can be read of it.
Result<Tag> named_tag(const federation::Blocks& blocks, std::string_view name) {
  if (name.contains('/')) return offered_tag(blocks, name);
  TRY(const Tag tag, parse_typed_tag(name));
  return offered_tag(blocks, tag.canonical());
}

}  // namespace

Task<std::optional<HttpResponse>> TagApi::answer(ApiRequest request) {
  if (request.path == "/api/v1/trends/tags" || request.path == "/api/v1/trends")
    co_return co_await trending(std::move(request.query));
  if (const auto name = named(request.path, kTagPath, "")) co_return co_await tag(std::move(request), *name);
  if (const auto name = named(request.path, kDaysPrefix, kDaysSuffix))
    co_return co_await days(*name, std::move(request.query));
  co_return std::nullopt;
}

Task<Result<std::vector<storage::HistoryDay>>> TagApi::days_of(Tag tag, std::chrono::sys_days from,
                                                               std::chrono::sys_days to) {
  const auto key = std::tuple(tag.canonical(), from, to);
  const auto known = known_days_.find(key);
  if (known != known_days_.end() && clock_.now() - known->second.since < kDaysFresh)
    co_return known->second.days;
  CO_TRY(const auto days, co_await history_.query_days(tag, from, to));
  make_room(known_days_, kDaysMax);
  known_days_.insert_or_assign(key, KnownDays{clock_.now(), days});
  co_return days;
}

Task<Result<std::vector<storage::HistoryDay>>> TagApi::last_days(Tag tag) {
  const auto today = std::chrono::floor<std::chrono::days>(clock_.wall_now());
  co_return co_await days_of(tag, today - std::chrono::days(kTagDays - 1), today + std::chrono::days(1));
}

Task<json::object> TagApi::describe(Tag tag) {
  const auto today = std::chrono::floor<std::chrono::days>(clock_.wall_now());
  const auto known = co_await last_days(tag);
  std::vector<TagDay> days;
  for (const storage::HistoryDay& day : known.value_or(std::vector<storage::HistoryDay>()))
    days.push_back({day.day, day.posts, day.authors});
  co_return make_tag(tag, site_, days, today);
}

Task<HttpResponse> TagApi::tag(ApiRequest request, std::string name) {
  const Result<Tag> tag = named_tag(blocks_, name);
  if (!tag) co_return api_error(tag.error());
  json::object entity = co_await describe(*tag);
  co_return api_response(entity);
}

Task<HttpResponse> TagApi::trending(std::string query) {
  const std::size_t limit = number_in(query, "limit", kTrendsDefault, kFoundMax);
  const std::size_t offset = number_in(query, "offset", 0, 10'000);
  json::array list;
  for (const std::string& name : trends_.top(limit, offset)) {
    const Result<Tag> tag = offered_tag(blocks_, name);
    if (!tag) continue;
    // What was used may have been deleted since.
    const auto days = co_await last_days(*tag);
    if (days && days->empty()) continue;
    list.push_back(co_await describe(*tag));
  }
  co_return api_response(list);
}

Task<HttpResponse> TagApi::days(std::string name, std::string query) {
  const Result<Tag> tag = named_tag(blocks_, name);
  if (!tag) co_return api_error(tag.error());
  const auto today = std::chrono::floor<std::chrono::days>(clock_.wall_now());
  const std::string from_text = query_value(query, "from");
  const std::string to_text = query_value(query, "to");
  const auto to = to_text.empty() ? std::optional(today) : parse_date(to_text);
  const auto from =
      from_text.empty() && to ? std::optional(*to - std::chrono::days(29)) : parse_date(from_text);
  if (!from || !to || *to < *from || *to - *from >= storage::HistoryService::kDaysMax)
    co_return api_error(422, "from and to must be days (2026-11-21), at most ten years apart");
  const auto known = co_await days_of(*tag, *from, *to + std::chrono::days(1));
  if (!known) co_return api_error(known.error());
  json::array list;
  for (const storage::HistoryDay& day : *known)
    list.push_back(json::object{{"day", date(day.day)}, {"posts", day.posts}, {"authors", day.authors}});
  co_return api_response(list);
}

Task<json::array> TagApi::find(std::string text, std::size_t limit) {
  json::array list;
  const Result<Tag> exact = Tag::parse(text);
  if (!exact) co_return list;
  std::vector<std::string> names = {exact->canonical()};
  for (std::string& name : trends_.beginning_with(exact->canonical(), limit)) {
    if (name != exact->canonical()) names.push_back(std::move(name));
  }
  for (const std::string& name : names) {
    const Result<Tag> tag = offered_tag(blocks_, name);
    if (tag && list.size() < limit) list.push_back(co_await describe(*tag));
  }
  co_return list;
}

}  // namespace tagring::mastodon_api
