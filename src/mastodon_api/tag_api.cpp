#include "mastodon_api/tag_api.hpp"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "base/bytes.hpp"
#include "base/counted.hpp"
#include "budget/metered.hpp"
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

// At the database, which otherwise refuses.
bool has_time_to_read(const Executor& asker) {
  const auto* metered = asker.target<budget::Metered>();
  return metered == nullptr || metered->meter()->may_read();
}

// Whose share it is; empty: the node's.
std::string share_of(const Executor& asker) {
  const auto* metered = asker.target<budget::Metered>();
  return metered == nullptr ? std::string() : metered->meter()->whole();
}

}  // namespace

TagApi::TagApi(posts::Site site, storage::HistoryService& history, Trends& trends,
               const federation::Blocks& blocks, const Runtime& runtime)
    : site_(std::move(site)),
      history_(history),
      trends_(trends),
      blocks_(blocks),
      clock_(runtime.clock),
      alarm_(runtime.clock, runtime.executor),
      tasks_(runtime.executor) {}

Task<void> TagApi::stop() {
  tasks_.cancel();
  alarm_.ring();
  co_await tasks_.join();
}

Task<std::optional<HttpResponse>> TagApi::answer(ApiRequest request) {
  if (request.path == "/api/v1/trends/tags" || request.path == "/api/v1/trends")
    co_return co_await trending(std::move(request.query));
  if (const auto name = named(request.path, kTagPath, "")) co_return co_await tag(std::move(request), *name);
  if (const auto name = named(request.path, kDaysPrefix, kDaysSuffix))
    co_return co_await days(*name, std::move(request.query));
  co_return std::nullopt;
}

// --- days --------------------------------------------------------------------------------------------------

bool TagApi::take_out(const Span& span) {
  std::size_t taken = 0;
  waiting_.change_all([&](Line& line) {
    taken += std::erase_if(line, [&](const Wanted& wanted) { return wanted.span == span; });
  });
  return taken > 0;
}

void TagApi::move_up(const Span& span, const Executor& asker) {
  if (!has_time_to_read(asker)) return;
  const std::string who = share_of(asker);
  bool is_behind = false;
  waiting_.change_all([&](Line& line) {
    const auto place = std::ranges::find(line, span, &Wanted::span);
    const auto before = std::distance(line.begin(), place);
    if (place == line.end() || std::cmp_less_equal(before, waiting_.of(who))) return;
    line.erase(place);
    is_behind = true;
  });
  if (is_behind) waiting_.change(who, [&](Line& line) { line.push_back({span, asker}); });
}

bool TagApi::stand_in_line(const Span& span, const Executor& asker) {
  const std::string who = share_of(asker);
  const bool has_room = waiting_.make_room(who, kWaitingMax, [this](Line& line) {
    const std::shared_ptr<KnownDays> known = asked_for_.extract(line.back().span).mapped();
    known->is_refused = true;
    known->answer = fail(ErrorCode::kUnavailable, "others ask for less");
    line.pop_back();
    alarm_.ring();
  });
  if (has_room) waiting_.change(who, [&](Line& line) { line.push_back({span, asker}); });
  return has_room;
}

std::shared_ptr<const TagApi::KnownDays> TagApi::want(const Span& span, bool for_list,
                                                      const Executor& asker) {
  if (const auto known = known_days_.find(span); known != known_days_.end()) {
    const Duration age = clock_.now() - known->second->since;
    if (age < (*known->second->answer ? kDaysFresh : kDaysFailed)) return known->second;
    known_days_.erase(known);
  }
  if (const auto asked_for = asked_for_.find(span); asked_for != asked_for_.end()) {
    const std::shared_ptr<KnownDays> known = asked_for->second;
    if (for_list) {
      move_up(span, asker);
    } else if (take_out(span)) {
      // One hashtag does not wait behind those of lists.
      tasks_.spawn("days", ask({span, asker}));
    }
    return known;
  }
  if (for_list && !stand_in_line(span, asker)) return nullptr;
  const auto known = asked_for_.emplace(span, std::make_shared<KnownDays>()).first->second;
  if (!for_list) {
    tasks_.spawn("days", ask({span, asker}));
    return known;
  }
  if (asked_ >= kAskedMax) return known;
  ++asked_;
  tasks_.spawn("days_of_list", ask_waiting());
  return known;
}

// On the executor of who asks, whose time it takes, also when they have been answered without.
Task<void> TagApi::ask(Wanted wanted) {
  const Executor asker = wanted.asker;
  TaskGroup charged(asker);
  charged.spawn("days_of_asker", read(std::move(wanted)));
  co_await charged.join();
}

Task<void> TagApi::read(Wanted wanted) {
  const auto& [name, from, to] = wanted.span;
  Result<Days> answer = co_await history_.query_days(Tag::from_canonical(name), from, to);
  const std::shared_ptr<KnownDays> known = asked_for_.extract(wanted.span).mapped();
  known->is_refused = !answer && !has_time_to_read(wanted.asker);
  known->since = clock_.now();
  known->answer = std::move(answer);
  if (!known->is_refused) {
    make_room(known_days_, kDaysMax);
    known_days_.insert_or_assign(std::move(wanted.span), known);
  }
  alarm_.ring();
}

Task<void> TagApi::ask_waiting() {
  while (!waiting_.empty()) {
    last_served_ = waiting_.next_after(last_served_);
    Wanted next = waiting_.change(last_served_, [](Line& line) {
      Wanted first = std::move(line.front());
      line.pop_front();
      return first;
    });
    co_await ask(std::move(next));
  }
  --asked_;
}

Task<Result<TagApi::Days>> TagApi::wait_for(Span span, std::shared_ptr<const KnownDays> known, bool for_list,
                                            Instant deadline) {
  const Executor asker = co_await boost::asio::this_coro::executor;
  for (;;) {
    while (known && !known->answer && clock_.now() < deadline) co_await alarm_.wait_until(deadline);
    if (!known || !known->answer)
      co_return fail(ErrorCode::kUnavailable, "the owners of the hashtag have not answered yet");
    // Where somebody else had asked, it was their time that was over.
    if (!known->is_refused || !has_time_to_read(asker) || clock_.now() >= deadline) co_return *known->answer;
    known = want(span, for_list, asker);
  }
}

Task<json::array> TagApi::describe(std::vector<Tag> tags, bool in_use) {
  const Executor asker = co_await boost::asio::this_coro::executor;
  const Instant deadline = clock_.now() + kDaysWait;
  const auto today = std::chrono::floor<std::chrono::days>(clock_.wall_now());
  std::vector<Span> spans;
  for (const Tag& tag : tags)
    spans.emplace_back(tag.canonical(), today - std::chrono::days(kTagDays - 1),
                       today + std::chrono::days(1));
  std::vector<std::shared_ptr<const KnownDays>> asked_for;
  const bool for_list = spans.size() > 1;
  for (const Span& span : spans) asked_for.push_back(want(span, for_list, asker));
  json::array list;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const Result<Days> known = co_await wait_for(spans[i], asked_for[i], for_list, deadline);
    if (in_use && known && known->empty()) continue;
    std::vector<TagDay> days;
    for (const storage::HistoryDay& day : known.value_or(Days()))
      days.push_back({day.day, day.posts, day.authors});
    list.push_back(make_tag(tags[i], site_, days, today));
  }
  co_return list;
}

// --- the API -----------------------------------------------------------------------------------------------

Task<HttpResponse> TagApi::tag(ApiRequest request, std::string name) {
  const Result<Tag> tag = named_tag(blocks_, name);
  if (!tag) co_return api_error(tag.error());
  std::vector<Tag> one = {*tag};
  const json::array described = co_await describe(std::move(one), /*in_use=*/false);
  co_return api_response(described.front());
}

Task<HttpResponse> TagApi::trending(std::string query) {
  const std::size_t limit = number_in(query, "limit", kTrendsDefault, kFoundMax);
  const std::size_t offset = number_in(query, "offset", 0, 10'000);
  std::vector<Tag> tags;
  for (const std::string& name : trends_.top(limit, offset)) {
    if (Result<Tag> tag = offered_tag(blocks_, name)) tags.push_back(*std::move(tag));
  }
  // What was used may have been deleted since.
  const json::array list = co_await describe(std::move(tags), /*in_use=*/true);
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
  const Span span(tag->canonical(), *from, *to + std::chrono::days(1));
  const Executor asker = co_await boost::asio::this_coro::executor;
  std::shared_ptr<const KnownDays> asked_for = want(span, /*for_list=*/false, asker);
  const Result<Days> known =
      co_await wait_for(span, std::move(asked_for), /*for_list=*/false, clock_.now() + kDaysWait);
  if (!known) co_return api_error(known.error());
  json::array list;
  for (const storage::HistoryDay& day : *known)
    list.push_back(json::object{{"day", date(day.day)}, {"posts", day.posts}, {"authors", day.authors}});
  co_return api_response(list);
}

Task<json::array> TagApi::find(std::string text, std::size_t limit) {
  const Result<Tag> exact = parse_typed_tag(text);
  if (!exact) co_return json::array();
  std::vector<std::string> names = {exact->canonical()};
  for (std::string& name : trends_.beginning_with(exact->canonical(), limit)) {
    if (name != exact->canonical()) names.push_back(std::move(name));
  }
  std::vector<Tag> tags;
  for (const std::string& name : names) {
    Result<Tag> tag = offered_tag(blocks_, name);
    if (tag && tags.size() < limit) tags.push_back(*std::move(tag));
  }
  co_return co_await describe(std::move(tags), /*in_use=*/false);
}

}  // namespace tagring::mastodon_api
