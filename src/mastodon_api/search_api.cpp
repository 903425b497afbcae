#include "mastodon_api/search_api.hpp"

#include <algorithm>

#include "base/url.hpp"
#include "mastodon_api/ids.hpp"
#include "mastodon_api/status.hpp"
#include "mastodon_api/timeline_query.hpp"

namespace tagring::mastodon_api {
namespace {

constexpr std::size_t kTagsFoundMax = 20;
constexpr std::size_t kQueryMax = 2048;   // bytes of a search
constexpr std::size_t kSameTimeMax = 20;  // posts of one millisecond that are looked through

}  // namespace

Task<std::optional<HttpResponse>> SearchApi::answer(ApiRequest request) {
  if (request.path != "/api/v2/search") co_return std::nullopt;
  co_return co_await search(std::move(request));
}

Task<HttpResponse> SearchApi::search(ApiRequest request) {
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
    found["hashtags"] = co_await tags_.find(text, std::min(limit, kTagsFoundMax));
  }
  co_return api_response(found);
}

// A post is found by its URI if it stands in the history of one of its hashtags, as it is shown here. Else
// anybody could read through this node, which fetches with its own signature, what its author gave to nobody.
Task<json::array> SearchApi::find_post(std::string uri, IpAddress peer) {
  json::array list;
  if (!rate_.count(peer).allowed || blocks_.of_actor(uri) != nullptr) co_return list;
  const auto contents = co_await posts_.read({{uri, {}}}, posts_.deadline());
  if (!contents.front()) co_return list;
  const std::shared_ptr<const Post> post = contents.front()->post;
  const std::shared_ptr<const json::object> account = contents.front()->account;
  for (const Tag& tag : post->tags) {
    if (!history_.is_shown({tag.canonical(), post->uri, post->author, post->published})) continue;
    const bool found = co_await is_in_history(tag, post->uri, post->published);
    if (!found) continue;
    list.push_back(make_status(*post, *account, status_id(post->published, post->uri)));
    break;
  }
  co_return list;
}

Task<bool> SearchApi::is_in_history(Tag tag, std::string uri, WallTime published) {
  const storage::HistoryCursor just_newer{published + Duration(1), ""};
  const auto page = co_await history_.query(std::move(tag), just_newer, kSameTimeMax);
  co_return page&& std::ranges::any_of(page->entries,
                                       [&](const storage::HistoryEntry& entry) { return entry.uri == uri; });
}

}  // namespace tagring::mastodon_api
