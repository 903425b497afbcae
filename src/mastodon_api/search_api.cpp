#include "mastodon_api/search_api.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "fediverse/documents.hpp"
#include "fediverse/domain.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"
#include "mastodon_api/timeline_query.hpp"
#include "posts/ids.hpp"
#include "posts/status.hpp"

namespace tagring::mastodon_api {
namespace {

constexpr std::string_view kStatuses = "/api/v1/statuses/";
constexpr std::string_view kAccounts = "/api/v1/accounts/";
constexpr std::string_view kContext = "/context";
constexpr std::string_view kAccount = "acct:";
constexpr std::string_view kPostsOf = "/statuses";
constexpr std::size_t kAncestorsMax = 5;
constexpr std::size_t kRepliesMax = 20;
constexpr std::size_t kRepliesAtOnce = 4;
constexpr std::size_t kQueryMax = 2048;       // bytes of a search
constexpr std::uint64_t kRequestsOfPost = 2;  // and of its author
constexpr std::size_t kTagsLookedAt = 8;      // of a post

// As people paste it: with or without a scheme, in any case and alphabet. Nothing if it is no URL.
std::optional<Url> url_in(std::string_view text) {
  const std::size_t colon = text.find("://");
  const bool has_scheme = colon != std::string_view::npos;
  std::string scheme = has_scheme ? ascii_lower(text.substr(0, colon)) : "https";
  if (scheme == "http") scheme = "https";  // as old pages have it; nothing is fetched by it
  if (has_scheme) text.remove_prefix(colon + 3);
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string host = fediverse::domain_in(text.substr(0, slash));
  // A word with a dot in it may be a hashtag that somebody has mistyped.
  if (!has_scheme && (slash == text.size() || !host.contains('.') || host.contains('@'))) return std::nullopt;
  const Result<Url> url = Url::parse(fmt::format("{}://{}{}", scheme, host, text.substr(slash)));
  return url ? std::optional(*url) : std::nullopt;
}

// As people paste who somebody is, without what stands before it.
std::string account_in(std::string_view text) {
  text = trim(text);
  if (ascii_lower(text.substr(0, kAccount.size())) == kAccount) text.remove_prefix(kAccount.size());
  if (text.starts_with('@')) text.remove_prefix(1);
  return std::string(text);
}

// The hashtag that is meant by its address, by the URL of its page, whatever is filtered there, or by that of
// its actor.
Result<fediverse::WebfingerTarget> named(std::string_view text, const std::optional<Url>& url,
                                         const posts::Site& site) {
  const fediverse::NodeUrls urls(site.origin);
  if (url) {
    std::string_view path = url->path();
    if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    return fediverse::parse_webfinger_resource(url->origin() + std::string(path), urls);
  }
  return fediverse::parse_webfinger_resource(std::string(kAccount) + account_in(text), urls);
}

}  // namespace

Task<std::optional<HttpResponse>> SearchApi::answer(ApiRequest request) {
  if (request.path == "/api/v2/search") co_return co_await search(std::move(request));
  if (request.path.starts_with(kAccounts)) co_return co_await account(std::move(request));
  if (!request.path.starts_with(kStatuses)) co_return std::nullopt;
  std::string id = request.path.substr(kStatuses.size());
  const bool asks_context = id.ends_with(kContext);
  if (asks_context) id.resize(id.size() - kContext.size());
  const std::optional<posts::StatusId> known = posts::parse_status_id(id);
  const std::string uri = known ? posts_.shown_as(*known) : std::string();
  if (uri.empty()) co_return std::nullopt;
  const Result<Found> found = co_await find_post(uri, /*named=*/false, posts_.deadline());
  if (!found && http_status(found.error().code) == 503) co_return api_error(found.error());
  if (!found) co_return std::nullopt;
  if (!asks_context) co_return api_response(posts_.show(found->content, *known));
  if (const Duration wait = budget_.take(budget::Resource::kReaderAsks, budget_.who(request.peer));
      wait > Duration::zero())
    co_return too_many_requests(wait);
  const json::object around = co_await context(found->content.post);
  co_return api_response(around);
}

// Who was blocked since, or hides, is shown no more than the posts are. What there is of an account is under
// hashtags, and has no place of its own.
Task<std::optional<HttpResponse>> SearchApi::account(ApiRequest request) {
  std::string name = request.path.substr(kAccounts.size());
  const bool asks_posts = name.ends_with(kPostsOf);
  if (asks_posts) name.resize(name.size() - kPostsOf.size());
  if (name == "lookup") {
    name = account_in(query_value(request.query, "acct"));
  } else if (name == "search") {
    const auto found = co_await find_account(account_in(query_value(request.query, "q")));
    co_return api_response(found ? json::array{*found} : json::array());
  }
  const auto found = co_await find_account(std::move(name));
  if (!found) co_return std::nullopt;
  co_return api_response(asks_posts ? json::value(json::array()) : json::value(*found));
}

Task<std::shared_ptr<const json::object>> SearchApi::find_account(std::string name) {
  const std::string author = posts_.author_named(name);
  if (author.empty() || blocks_.of_actor(author) != nullptr || blocks_.is_refused_by(author))
    co_return nullptr;
  co_return co_await posts_.account(author, posts_.deadline());
}

Task<HttpResponse> SearchApi::search(ApiRequest request) {
  const std::string pasted = query_value(request.query, "q");
  const std::string text(trim(pasted));
  const std::string type = query_value(request.query, "type");
  const std::size_t limit = number_in(request.query, "limit", TagApi::kFoundMax, TimelineQuery::kLimitMax);
  if (text.empty()) co_return api_error(400, "param is missing or the value is empty: q");
  if (text.size() > kQueryMax) co_return api_error(422, "the search is too long");
  json::object found = {
      {"accounts", json::array()}, {"statuses", json::array()}, {"hashtags", json::array()}};
  const bool is_first_page = number_in(request.query, "offset", 0, 1) == 0;
  const bool wants_tags = is_first_page && (type.empty() || type == "hashtags");
  const std::optional<Url> url = url_in(text);
  const auto here = named(text, url, site_);
  const bool wants_accounts = is_first_page && (type.empty() || type == "accounts");
  if (wants_accounts) {
    const auto person = co_await find_account(url ? url->text() : account_in(text));
    if (person) found["accounts"] = json::array{*person};
  }
  if (here && here->tag) {
    if (wants_tags) found["hashtags"] = co_await tags_.find(here->tag->canonical(), 1);
  } else if (url) {
    if (is_first_page && (type.empty() || type == "statuses")) {
      const auto list = co_await find_by_address(url->text(), request.peer);
      if (!list) co_return too_many_requests(list.error());
      found["statuses"] = *list;
    }
  } else if (wants_tags && !text.contains('@')) {
    found["hashtags"] = co_await tags_.find(text, std::min(limit, TagApi::kFoundMax));
  }
  co_return api_response(found);
}

// A post may be asked for by its URI, or by the address that a browser shows. Else how long to wait.
Task<std::expected<json::array, Duration>> SearchApi::find_by_address(std::string url, IpAddress peer) {
  json::array list;
  if (!posts_.has(url)) {
    const Duration wait = budget_.take(budget::Resource::kReaderAsks, budget_.who(peer));
    if (wait > Duration::zero()) co_return std::unexpected(wait);
  }
  Result<Found> found = co_await find_post(url, /*named=*/true, posts_.deadline());
  const std::string uri = found ? std::string() : posts_.found_at(url);
  if (!uri.empty()) found = co_await find_post(uri, /*named=*/true, posts_.deadline());
  if (found) list.push_back(posts_.show(found->content, found->id));
  co_return list;
}

// A post is found if it stands in the history of one of its hashtags, as it is shown here. Else anybody could
// read through this node, which fetches with its own signature, what its author gave to nobody. Many may name
// one server, which has not chosen to be asked: what is not found counts for it.
Task<Result<SearchApi::Found>> SearchApi::find_post(std::string uri, bool named, Instant deadline) {
  const Error none(ErrorCode::kNotFound, "Record not found");
  if (blocks_.of_actor(uri) != nullptr) co_return std::unexpected(none);
  const bool counts = named && !posts_.has(uri);
  const budget::Spender host = budget_.who(host_of(uri));
  if (counts && budget_.take(budget::Resource::kReaderHosts, host, kRequestsOfPost) > Duration::zero())
    co_return std::unexpected(none);
  std::vector<posts::PostCache::Wanted> wanted = {{.uri = uri, .author = {}, .named = named}};
  const auto contents = co_await posts_.read(std::move(wanted), deadline);
  if (!contents.front()) co_return std::unexpected(none);
  const std::shared_ptr<const posts::Post> post = contents.front()->post;
  const Result<bool> stands = co_await is_in_history(post);
  if (!stands) co_return std::unexpected(stands.error());
  if (!*stands) co_return std::unexpected(none);
  if (counts) budget_.give_back(budget::Resource::kReaderHosts, host, kRequestsOfPost);
  co_return Found{*contents.front(), posts::status_id(post->published, post->uri)};
}

// Whoever writes a post gives it as many hashtags as they like, and each look asks all owners of one: so only
// a few are looked at, and where it stands nowhere, not again at once.
Task<Result<bool>> SearchApi::is_in_history(std::shared_ptr<const posts::Post> post) {
  if (posts_.is_nowhere(post->uri)) co_return false;
  std::optional<Error> unread;
  std::size_t looked_at = 0;
  for (const Tag& tag : post->tags) {
    if (!history_.is_shown({tag, post->uri, post->author, post->published})) continue;
    if (++looked_at > kTagsLookedAt) break;
    const auto page =
        co_await history_.query(tag, storage::HistoryCursor::just_above(post->published, post->uri), 1);
    if (!page)
      unread = page.error();
    else if (!page->entries.empty() && page->entries.front().uri == post->uri)
      co_return true;
  }
  if (unread) co_return std::unexpected(*std::move(unread));
  if (looked_at > 0) posts_.note_nowhere(post->uri);
  co_return false;
}

// What it answers, and what answers it, as far as that is under hashtags too, this node knows of it, and it
// can be had in the time that one page has.
Task<json::object> SearchApi::context(std::shared_ptr<const posts::Post> post) {
  const Instant deadline = posts_.deadline();
  json::array above;
  std::string parent = post->in_reply_to;
  for (std::size_t i = 0; i < kAncestorsMax && !parent.empty(); ++i) {
    const Result<Found> found = co_await find_post(parent, /*named=*/true, deadline);
    if (!found) break;
    above.insert(above.begin(), posts_.show(found->content, found->id));
    parent = found->content.post->in_reply_to;
  }
  json::array below;
  std::vector<std::string> replies = posts_.replies_to(post->uri);
  replies.resize(std::min(replies.size(), kRepliesMax));
  // Each gives back to its host's budget what it took for a look.
  for (std::size_t i = 0; i < replies.size(); i += kRepliesAtOnce) {
    std::vector<Task<Result<Found>>> finds;
    for (std::size_t j = i; j < std::min(replies.size(), i + kRepliesAtOnce); ++j)
      finds.push_back(find_post(replies[j], /*named=*/true, deadline));
    const std::vector<Result<Found>> found = co_await all_of(std::move(finds));
    for (const Result<Found>& one : found)
      if (one) below.push_back(posts_.show(one->content, one->id));
  }
  co_return json::object{{"ancestors", std::move(above)}, {"descendants", std::move(below)}};
}

}  // namespace tagring::mastodon_api
