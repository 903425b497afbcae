#include "mastodon_api/timeline_api.hpp"

#include <fmt/format.h>

#include "hashtag/tag.hpp"
#include "http/url.hpp"

namespace tagring::mastodon_api {
namespace {

constexpr std::string_view kTimelinePath = "/api/v1/timelines/tag/";
constexpr std::string_view kFeedPath = "/tags/";

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

std::string link_of(const std::string& base, const Timeline::Page& page, bool forwards) {
  std::string link;
  // Read forwards, "more" is about newer posts; there are always older ones, or one finds that there are
  // none.
  // Without a post there is nothing to go on from forwards; and clients that are used much cannot bear it.
  if (page.statuses.empty() && !page.more) return link;
  if (page.oldest && (page.more || forwards))
    link = fmt::format("<{}max_id={}>; rel=\"next\"", base, *page.oldest);
  if (page.newest) {
    if (!link.empty()) link += ", ";
    link += fmt::format("<{}min_id={}>; rel=\"prev\"", base, *page.newest);
  }
  return link;
}

}  // namespace

bool TimelineApi::is_feed(std::string_view path) { return feed_of(path).has_value(); }

Task<std::optional<HttpResponse>> TimelineApi::answer(ApiRequest request) {
  if (const auto wanted = feed_of(request.path)) {
    if (const std::string there = moved_to_(); !there.empty()) co_return redirect(301, there + request.path);
    co_return co_await feed(percent_decode(wanted->first).value_or(""), wanted->second);
  }
  if (!request.path.starts_with(kTimelinePath)) co_return std::nullopt;
  const std::string name = percent_decode(request.path.substr(kTimelinePath.size())).value_or("");
  co_return co_await timeline(name, std::move(request.query));
}

Task<HttpResponse> TimelineApi::timeline(std::string name, std::string query_text) {
  if (const Result<Tag> tag = offered_tag(blocks_, name); !tag) co_return api_error(tag.error());
  Result<TimelineQuery> query = TimelineQuery::parse(name, query_text);
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

Task<HttpResponse> TimelineApi::feed(std::string name, FeedFormat format) {
  const Result<Tag> tag = offered_tag(blocks_, name);
  if (!tag) co_return api_error(tag.error());
  Result<TimelineQuery> query = TimelineQuery::parse(name, "");
  if (!query) co_return api_error(query.error());
  const Result<Timeline::Page> page = co_await timeline_.read(*std::move(query));
  if (!page) co_return api_error(page.error());
  HttpResponse response;
  response.headers.add("Content-Type", media_type(format));
  response.headers.add("Cache-Control", "public, max-age=60");
  response.headers.add("X-Robots-Tag", "noindex");
  response.body = make_feed(format, *tag, page->statuses, site_, clock_.wall_now());
  co_return response;
}

}  // namespace tagring::mastodon_api
