#include "mastodon_api/client_api.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/http_error.hpp"
#include "federation/version.hpp"
#include "ring/codec.hpp"

namespace tagring::mastodon_api {
namespace {

constexpr std::string_view kTimelinePath = "/api/v1/timelines/tag/";
constexpr std::string_view kStreamingPath = "/api/v1/streaming";
constexpr std::string_view kFeedPath = "/tags/";
constexpr std::string_view kTagPath = "/api/v1/tags/";
constexpr std::string_view kDaysPrefix = "/api/tagring/tags/";
constexpr std::string_view kDaysSuffix = "/days";
constexpr std::string_view kMissingImage = "/avatars/original/missing.png";
constexpr std::size_t kTagsFoundMax = 20;
constexpr std::size_t kTrendsDefault = 10;
constexpr std::size_t kQueryMax = 2048;  // octets of a search

// One transparent pixel.
constexpr std::string_view kPixel =
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c636060606000000005"
    "000109a2d5b60000000049454e44ae426082";

// "/tags/caturday.rss": of which hashtag, and in which form. The name is not decoded.
std::optional<std::pair<std::string_view, FeedFormat>> feed_of(std::string_view path) {
  if (!path.starts_with(kFeedPath)) return std::nullopt;
  path.remove_prefix(kFeedPath.size());
  for (const auto& [ending, format] : {std::pair(std::string_view(".rss"), FeedFormat::kRss),
                                       std::pair(std::string_view(".atom"), FeedFormat::kAtom)}) {
    if (path.ends_with(ending) && path.size() > ending.size())
      return std::pair(path.substr(0, path.size() - ending.size()), format);
  }
  return std::nullopt;
}

void allow_any_origin(HttpResponse& response) {
  response.headers.set("Access-Control-Allow-Origin", "*");
  response.headers.set("Access-Control-Expose-Headers",
                       "Link, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset");
  response.headers.set("X-Content-Type-Options", "nosniff");
}

HttpResponse preflight() {
  HttpResponse response{.status = 204, .headers = {}, .body = {}};
  allow_any_origin(response);
  response.headers.add("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS");
  response.headers.add("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID");
  response.headers.add("Access-Control-Max-Age", "86400");
  return response;
}

std::size_t number_in(std::string_view query, std::string_view name, std::size_t otherwise,
                      std::size_t most) {
  const std::string text = query_value(query, name);
  std::size_t value = otherwise;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::min(value, most) : otherwise;
}

std::string link_of(const std::string& base, const Timeline::Page& page, bool forwards) {
  std::string link;
  // Read forwards, "more" is about newer posts; there are always older ones, or one finds that there are
  // none.
  if (page.oldest && (page.more || forwards))
    link = fmt::format("<{}max_id={}>; rel=\"next\"", base, *page.oldest);
  if (page.newest) {
    if (!link.empty()) link += ", ";
    link += fmt::format("<{}min_id={}>; rel=\"prev\"", base, *page.newest);
  }
  return link;
}

}  // namespace

HttpResponse api_response(const json::value& value) {
  HttpResponse response;
  response.headers.add("Content-Type", "application/json; charset=utf-8");
  response.body = json::serialize(value);
  return response;
}

HttpResponse api_error(const Error& error) {
  // What cannot be read is "unprocessable" in Mastodon.
  return api_error(error.code == ErrorCode::kInvalid ? 422 : http_status(error.code), error.message);
}

HttpResponse api_error(int status, std::string_view message) {
  HttpResponse response = api_response(json::object{{"error", message}});
  response.status = status;
  return response;
}

bool ClientApi::is_path(std::string_view path) {
  return path.starts_with("/api/") || path == kMissingImage || feed_of(path);
}

Task<HttpResponse> ClientApi::answer(HttpRequest request) {
  const std::size_t mark = std::min(request.target.find('?'), request.target.size());
  Request wish{request.target.substr(0, mark),
               request.target.substr(std::min(mark + 1, request.target.size())), request.method,
               request.peer};
  if (wish.method == "OPTIONS") co_return preflight();
  wish.wants_socket = ascii_iequals(request.headers.find("Upgrade").value_or(""), "websocket");
  const federation::RateLimit::Verdict verdict = rate_.count(wish.peer);
  HttpResponse response;
  if (verdict.allowed) {
    response = co_await route(std::move(wish));
  } else {
    response = api_error(429, "Too many requests");
  }
  allow_any_origin(response);
  response.headers.set("X-RateLimit-Limit", std::to_string(verdict.limit));
  response.headers.set("X-RateLimit-Remaining", std::to_string(verdict.remaining));
  response.headers.set("X-RateLimit-Reset", datetime(verdict.reset));
  co_return response;
}

Task<HttpResponse> ClientApi::route(Request request) {
  const std::string path = request.path;
  if (request.method != "GET" && request.method != "HEAD")
    co_return api_error(405, "only reading is possible here");
  if (path == kMissingImage) {
    HttpResponse response;
    response.headers.add("Content-Type", "image/png");
    response.body = from_hex(kPixel).value_or("");
    co_return response;
  }
  if (path == "/api/v1/instance") co_return co_await instance(true);
  if (path == "/api/v2/instance") co_return co_await instance(false);
  if (path == "/api/v1/trends/tags" || path == "/api/v1/trends") co_return co_await trending(request);
  if (path == "/api/v2/search") co_return co_await search(request);
  if (path.starts_with(kStreamingPath)) co_return stream(request);
  if (const auto wanted = feed_of(path))
    co_return co_await feed(percent_decode(wanted->first).value_or(""), wanted->second);
  const auto named = [&](std::string_view prefix, std::string_view suffix) {
    std::string_view name = std::string_view(path).substr(prefix.size());
    name.remove_suffix(suffix.size());
    return percent_decode(name).value_or("");
  };
  if (path.starts_with(kTimelinePath)) co_return co_await tag_timeline(request, named(kTimelinePath, ""));
  if (path.starts_with(kTagPath)) co_return co_await tag(request, named(kTagPath, ""));
  if (path.starts_with(kDaysPrefix) && path.ends_with(kDaysSuffix) &&
      path.size() > kDaysPrefix.size() + kDaysSuffix.size()) {
    co_return co_await days(request, named(kDaysPrefix, kDaysSuffix));
  }
  // Clients ask for these at their start, and expect a list.
  constexpr std::array<std::string_view, 5> kEmptyLists = {"/api/v1/custom_emojis", "/api/v1/instance/rules",
                                                           "/api/v1/trends/statuses", "/api/v1/trends/links",
                                                           "/api/v1/instance/peers"};
  if (std::ranges::find(kEmptyLists, path) != kEmptyLists.end()) co_return api_response(json::array());
  co_return api_error(404, "Record not found");
}

Result<Tag> ClientApi::offered(std::string_view name) const {
  TRY(Tag tag, Tag::parse(name));
  if (const federation::Block* block = blocks_.of_tag(tag.canonical()))
    return fail(ErrorCode::kNotFound, "this hashtag is not offered here: " + block->reason);
  return tag;
}

// --- timelines ---------------------------------------------------------------------------------------------

Task<HttpResponse> ClientApi::tag_timeline(Request request, std::string name) {
  if (const Result<Tag> tag = offered(name); !tag) co_return api_error(tag.error());
  Result<TimelineQuery> query = TimelineQuery::parse(name, request.query);
  if (!query) co_return api_error(query.error());
  std::erase_if(query->any, [&](const Tag& tag) { return blocks_.of_tag(tag.canonical()) != nullptr; });
  const std::string base = fmt::format("{}{}{}?{}", site_.origin, kTimelinePath,
                                       percent_encode(query->tag.canonical()), query->filters());
  const bool forwards = query->min_id.has_value();
  Result<Timeline::Page> page = co_await timeline_.read(*std::move(query));
  if (!page) co_return api_error(page.error());
  HttpResponse response = api_response(page->statuses);
  if (const std::string link = link_of(base, *page, forwards); !link.empty())
    response.headers.add("Link", link);
  co_return response;
}

Task<HttpResponse> ClientApi::feed(std::string name, FeedFormat format) {
  const Result<Tag> tag = offered(name);
  if (!tag) co_return api_error(tag.error());
  Result<TimelineQuery> query = TimelineQuery::parse(name, "");
  if (!query) co_return api_error(query.error());
  const Result<Timeline::Page> page = co_await timeline_.read(*std::move(query));
  if (!page) co_return api_error(page.error());
  HttpResponse response;
  response.headers.add("Content-Type", media_type(format));
  response.headers.add("Cache-Control", "public, max-age=60");
  response.body = make_feed(format, *tag, page->statuses, site_, clock_.wall_now());
  co_return response;
}

// --- hashtags ----------------------------------------------------------------------------------------------

Task<std::vector<storage::HistoryDay>> ClientApi::days_of(Tag tag, std::chrono::sys_days from,
                                                          std::chrono::sys_days to) {
  const auto key = std::tuple(tag.canonical(), from, to);
  const auto known = known_days_.find(key);
  if (known != known_days_.end() && clock_.now() - known->second.since < options_.days_fresh)
    co_return known->second.days;
  const auto days = co_await history_.query_days(tag, from, to);
  if (!days) co_return std::vector<storage::HistoryDay>();
  if (known_days_.size() >= options_.days_max) known_days_.clear();
  known_days_.insert_or_assign(key, KnownDays{clock_.now(), *days});
  co_return *days;
}

Task<json::object> ClientApi::describe(Tag tag) {
  const auto today = std::chrono::floor<std::chrono::days>(clock_.wall_now());
  std::vector<TagDay> days;
  for (const storage::HistoryDay& day :
       co_await days_of(tag, today - std::chrono::days(kTagDays - 1), today + std::chrono::days(1)))
    days.push_back({day.day, day.posts, day.authors});
  co_return make_tag(tag, site_, days, today);
}

Task<HttpResponse> ClientApi::tag(Request request, std::string name) {
  const Result<Tag> tag = offered(name);
  if (!tag) co_return api_error(tag.error());
  json::object entity = co_await describe(*tag);
  co_return api_response(entity);
}

Task<HttpResponse> ClientApi::trending(Request request) {
  const std::size_t limit = number_in(request.query, "limit", kTrendsDefault, kTagsFoundMax);
  const std::size_t offset = number_in(request.query, "offset", 0, 10'000);
  json::array list;
  for (const std::string& name : trends_.top(limit, offset)) {
    const Result<Tag> tag = offered(name);
    if (!tag) continue;
    list.push_back(co_await describe(*tag));
  }
  co_return api_response(list);
}

Task<HttpResponse> ClientApi::days(Request request, std::string name) {
  const Result<Tag> tag = offered(name);
  if (!tag) co_return api_error(tag.error());
  const auto today = std::chrono::floor<std::chrono::days>(clock_.wall_now());
  const std::string from_text = query_value(request.query, "from");
  const std::string to_text = query_value(request.query, "to");
  const auto to = to_text.empty() ? std::optional(today) : parse_date(to_text);
  const auto from =
      from_text.empty() && to ? std::optional(*to - std::chrono::days(29)) : parse_date(from_text);
  if (!from || !to || *to < *from || *to - *from >= storage::HistoryService::kDaysMax)
    co_return api_error(422, "from and to must be days (2026-11-21), at most ten years apart");
  json::array list;
  for (const storage::HistoryDay& day : co_await days_of(*tag, *from, *to + std::chrono::days(1)))
    list.push_back(json::object{{"day", date(day.day)}, {"posts", day.posts}, {"authors", day.authors}});
  co_return api_response(list);
}

// --- search ------------------------------------------------------------------------------------------------

Task<HttpResponse> ClientApi::search(Request request) {
  const std::string text = query_value(request.query, "q");
  const std::string type = query_value(request.query, "type");
  const std::size_t limit = number_in(request.query, "limit", kTagsFoundMax, TimelineQuery::kLimitMax);
  if (text.empty()) co_return api_error(400, "param is missing or the value is empty: q");
  if (text.size() > kQueryMax) co_return api_error(422, "the search is too long");
  json::object found = {
      {"accounts", json::array()}, {"statuses", json::array()}, {"hashtags", json::array()}};
  const bool is_first_page = number_in(request.query, "offset", 0, 1) == 0;
  if (Url::parse(text)) {
    if (is_first_page && (type.empty() || type == "statuses"))
      found["statuses"] = co_await find_post(text, request.peer);
  } else if (is_first_page && (type.empty() || type == "hashtags")) {
    found["hashtags"] = co_await find_tags(text, std::min(limit, kTagsFoundMax));
  }
  co_return api_response(found);
}

// The hashtag itself, which there need not have been any post under, then those that begin so.
Task<json::array> ClientApi::find_tags(std::string text, std::size_t limit) {
  json::array list;
  const Result<Tag> exact = Tag::parse(text);
  if (!exact) co_return list;
  std::vector<std::string> names = {exact->canonical()};
  for (std::string& name : trends_.beginning_with(exact->canonical(), limit)) {
    if (name != exact->canonical()) names.push_back(std::move(name));
  }
  for (const std::string& name : names) {
    const Result<Tag> tag = offered(name);
    if (tag && list.size() < limit) list.push_back(co_await describe(*tag));
  }
  co_return list;
}

// A post is found by its URI if it could stand in a timeline here: public, under a hashtag, not blocked, not
// taken down.
Task<json::array> ClientApi::find_post(std::string uri, IpAddress peer) {
  json::array list;
  if (!resolve_rate_.count(peer).allowed || blocks_.of_actor(uri) != nullptr) co_return list;
  const auto contents = co_await posts_.read({{uri, {}}}, posts_.deadline());
  if (!contents.front()) co_return list;
  const Post& post = *contents.front()->post;
  const bool is_shown = std::ranges::any_of(post.tags, [&](const Tag& tag) {
    return history_.is_shown({tag.canonical(), post.uri, post.author, post.published});
  });
  if (!is_shown) co_return list;
  list.push_back(make_status(post, *contents.front()->account, status_id(post.published, post.uri)));
  co_return list;
}

// --- streams -----------------------------------------------------------------------------------------------

HttpResponse ClientApi::stream(const Request& request) {
  HttpResponse response;
  if (request.path == "/api/v1/streaming/health") {
    response.headers.add("Content-Type", "text/plain");
    response.body = "OK";
    return response;
  }
  const bool is_events = request.path == "/api/v1/streaming/hashtag";
  const bool is_socket =
      request.wants_socket && (request.path == kStreamingPath || request.path == "/api/v1/streaming/");
  if (!is_events && !is_socket) return api_error(404, "Not found");
  const std::string name = query_value(request.query, "tag");
  const std::string kind = query_value(request.query, "stream");
  std::optional<Tag> tag;
  if (is_events || !kind.empty()) {
    if (!is_events && kind != "hashtag") return api_error(404, "Unknown stream type");
    Result<Tag> parsed = offered(name);
    if (!parsed) return api_error(parsed.error());
    tag = *std::move(parsed);
  }
  response.stream = is_events ? streams_.open_events(*tag, request.peer)
                              : streams_.open_socket(std::move(tag), name, request.peer);
  if (!response.stream) return api_error(429, "Too many streams");
  response.status = is_socket ? 101 : 200;
  if (is_events) {
    response.headers.add("Content-Type", "text/event-stream");
    response.headers.add("Cache-Control", "private, no-store");
    response.headers.add("X-Accel-Buffering", "no");
  }
  return response;
}

// --- the node ----------------------------------------------------------------------------------------------

Task<HttpResponse> ClientApi::instance(bool v1) {
  InstanceFacts facts{.site = site_,
                      .version = std::string(federation::kVersion),
                      .domains = options_.domains(),
                      .email = options_.email};
  if (const auto totals = co_await store_.totals()) facts.posts = totals->entries;
  co_return api_response(v1 ? make_instance_v1(facts) : make_instance(facts));
}

}  // namespace tagring::mastodon_api
