#include "web/site.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/json.hpp"
#include "fediverse/negotiation.hpp"
#include "hashtag/typed.hpp"
#include "http/url.hpp"
#include "web/assets.hpp"
#include "web/html.hpp"
#include "web/layout.hpp"
#include "web/posts.hpp"
#include "web/tag_page.hpp"

namespace tagring::web {
namespace {

constexpr std::string_view kAssets = "/assets/";
constexpr std::string_view kTags = "/tags/";
constexpr std::string_view kIcon = "/favicon.ico";  // asked for by programs that read no page
constexpr std::size_t kListMax = 20;
constexpr std::size_t kSearchedMax = 4096;  // bytes of a search; the API says of less that it is too long
constexpr std::string_view kTrends = "/api/v1/trends/tags?limit=20";  // kListMax

HttpResponse asset(std::string_view name) {
  HttpResponse response;
  const Asset* found = find_asset(name);
  if (found == nullptr) {
    response.status = 404;
    return response;
  }
  response.headers.add("Content-Type", std::string(found->type));
  // The address has the hash of the content in it (asset_url).
  response.headers.add("Cache-Control", "public, max-age=31536000, immutable");
  add_security_headers(response.headers);
  response.body = std::string(found->body);
  return response;
}

// Servers are given the address of a page, too, and want its actor.
HttpResponse by_accept(HttpResponse response) {
  response.headers.add("Vary", "Accept");
  return response;
}

// Why the API did not answer, in its own words if it has some.
std::string reason_of(const HttpResponse& response) {
  if (const auto body = json::parse_object(response.body)) {
    for (const char* key : {"message", "error_description", "error"}) {
      if (auto text = json::get_string(*body, key)) return *std::move(text);
    }
  }
  return fmt::format("status {}", response.status);
}

// When to ask again, if the API says so.
void pass_wait_on(const HttpResponse& answer, HttpResponse& page) {
  if (const auto wait = answer.headers.find("Retry-After"))
    page.headers.set("Retry-After", std::string(*wait));
}

// " <span>77 posts in 7 days</span>"; nothing if that is not known.
std::string used(const json::object& tag) {
  std::uint64_t posts = 0;
  json::for_each(json::find(tag, "history"), [&](const json::value& day) {
    const std::string uses = day.is_object() ? json::text_of(day.get_object(), "uses") : "";
    std::uint64_t count = 0;
    if (std::from_chars(uses.data(), uses.data() + uses.size(), count).ec == std::errc()) posts += count;
  });
  if (posts == 0) return {};
  return fmt::format(R"(<span class="muted">{} post{} in 7 days</span>)", posts, posts == 1 ? "" : "s");
}

// Those of which nothing is known come last.
std::string tag_items(const json::value* list) {
  std::string items;
  std::string unused;
  std::size_t count = 0;
  json::for_each(list, [&](const json::value& element) {
    if (!element.is_object() || ++count > kListMax) return;
    const std::string name = json::text_of(element.get_object(), "name");
    if (name.empty()) return;
    const std::string use = used(element.get_object());
    (use.empty() ? unused : items) += "<li>" + tag_link(name) + use + "</li>";
  });
  items += unused;
  return items.empty() ? items : "<ul class=\"tag-list\">" + items + "</ul>";
}

std::string links_to(const std::vector<Tag>& tags) {
  std::string items;
  for (const Tag& tag : tags) items += "<li>" + tag_link(tag.canonical()) + "</li>";
  return "<ul class=\"tag-list\">" + items + "</ul>";
}

// What could have been.
std::string nothing_found(std::string_view text) {
  const bool is_address = text.find_first_of("@/") != std::string_view::npos;
  return fmt::format("<p class=\"notice\">Nothing was found. {}</p>",
                     is_address
                         ? "A post is found by its address if it is under a hashtag here, and a person if "
                           "a post of theirs has been shown here."
                         : "A hashtag has at least one letter.");
}

// The actor that a page is about, for servers that are given the page's address, and for those that mark a
// link in a profile as the actor's own if the page links back.
std::string links_to_actor(std::string_view actor) {
  return fmt::format(
      "<link rel=\"alternate\" type=\"application/activity+json\" href=\"{0}\">\n<link rel=\"me\" "
      "href=\"{0}\">\n",
      actor);
}

// Of the page after this one, in a Link header: <…?max_id=7>; rel="next".
std::string next_max_id(std::string_view link) {
  const std::size_t end = link.find(">; rel=\"next\"");
  if (end == std::string_view::npos) return {};
  const std::size_t start = link.rfind('<', end);
  if (start == std::string_view::npos) return {};
  const Result<Url> url = Url::parse(link.substr(start + 1, end - start - 1));
  return url ? query_value(url->query(), "max_id") : std::string();
}

}  // namespace

bool Site::is_path(std::string_view path) {
  return path == "/" || path == kIcon || path == "/search" || path == "/admin" || path.starts_with(kTags) ||
         path.starts_with(kAssets);
}

Task<HttpResponse> Site::answer(HttpRequest request) {
  const std::string path(path_of(request.target));
  const std::string query(query_of(request.target));
  if (path.starts_with(kAssets)) co_return asset(std::string_view(path).substr(kAssets.size()));
  if (path == kIcon) co_return redirect(302, asset_url("icon.svg"));
  const bool for_server = fediverse::prefers_activities(request.headers.joined("Accept").value_or(""));
  if (path == "/" && for_server) co_return by_accept(redirect(303, "/actor"));
  if (const std::string there = moved_page(request.target); !there.empty() && path != "/admin" && !for_server)
    co_return by_accept(redirect(302, there));
  if (path == "/") co_return by_accept(co_await home(request.peer));
  if (path == "/search") co_return co_await search(query, request.peer);
  if (path == "/admin") {
    PageParts parts{.title = "Administration of " + options_.authority, .script = "admin.js"};
    parts.main =
        "<div id=\"app\" class=\"admin\"><h1>Administration</h1><noscript><p class=\"notice\">This page "
        "needs "
        "JavaScript. The command line does not: <code>tagring --help</code>.</p></noscript></div>";
    co_return make_page(parts, options_.authority, options_.contact);
  }
  const std::string rest = path.substr(kTags.size());
  if (rest.ends_with("/follow")) {
    const std::string name = percent_decode(rest.substr(0, rest.size() - 7)).value_or("");
    const Result<Tag> found = parse_typed_tag(name);
    if (!found) co_return no_such_hashtag(name, found.error());
    const bool as_json = fediverse::prefers_json(request.headers.joined("Accept").value_or(""));
    co_return by_accept(co_await follow(*found, query_value(query, "account"), as_json, request.peer));
  }
  if (for_server) {
    const Result<Tag> found = parse_typed_tag(percent_decode(rest).value_or(""));
    if (found) co_return by_accept(redirect(303, "/tag/" + found->actor_name()));
  }
  co_return by_accept(co_await tag(rest, query, request.peer));
}

std::string Site::moved_page(const std::string& target) const {
  const std::string origin = options_.moved_to ? options_.moved_to() : std::string();
  return origin.empty() ? origin : origin + target;
}

HttpResponse Site::page(std::string title, std::string main, int status) const {
  PageParts parts{.status = status, .title = std::move(title), .main = std::move(main)};
  return make_page(parts, options_.authority, options_.contact);
}

HttpResponse Site::missing() const {
  return by_accept(page("No such page",
                        "<h1>No such page</h1>\n<p class=\"notice\">There is nothing at this address.</p>\n"
                        "<p><a href=\"/\">What this node is, and what is active here</a>; or search for a "
                        "hashtag above.</p>\n",
                        404));
}

HttpResponse Site::no_such_hashtag(const std::string& name, const Error& error) const {
  const std::vector<Tag> meant = tags_meant_by(name);
  return page("No such hashtag",
              fmt::format("<h1>No such hashtag</h1>\n<p>{}</p>\n{}", escape(error.message),
                          meant.empty() ? std::string() : links_to(meant)),
              404);
}

Task<HttpResponse> Site::ask_api(std::string target, IpAddress reader) {
  HttpRequest request;
  request.peer = reader;
  request.target = std::move(target);
  return api_(std::move(request));
}

Task<HttpResponse> Site::home(IpAddress reader) {
  const HttpResponse answer = co_await ask_api(std::string(kTrends), reader);
  std::string trends;
  if (const auto list = json::parse(answer.body); list && answer.status == 200) {
    trends = tag_items(&*list);
    trends = trends.empty() ? "<p class=\"notice\">No hashtag was used here in the last 24 hours. Search for "
                              "one above.</p>\n"
                            : "<h2>Active in the last 24 hours</h2>\n" + trends + "\n";
  }
  // Where the script asks for the same, which takes the place of what is drawn here.
  const std::string main = fmt::format(
      "<div id=\"app\" data-home=\"{}\">\n<h1>Hashtags of the fediverse</h1>\n"
      "<p class=\"lead\">Every public post under a hashtag, from every server that takes part: read it here, "
      "or follow it from your own server.</p>\n",
      escape(kTrends));
  PageParts parts{.title = "Hashtags of the fediverse – " + options_.authority};
  const std::string actor = options_.origin + "/actor";
  parts.head = links_to_actor(actor) +
               render_preview({.title = "Hashtags of the fediverse",
                               .text = "Every public post under a hashtag, from every server that takes "
                                       "part: to read, and to follow from your own server.",
                               .url = options_.origin + "/",
                               .image = actor + "/icon.png",
                               .site = options_.authority});
  parts.main = main + trends + "</div>\n";
  parts.is_for_search_engines = true;
  co_return make_page(parts, options_.authority, options_.contact);
}

Task<HttpResponse> Site::search(std::string query, IpAddress reader) {
  const std::string text(cut_utf8(query_value(query, "q"), kSearchedMax));
  HttpResponse answer;  // the API takes the search for nothing for an error
  if (!trim(text).empty())
    answer = co_await ask_api("/api/v2/search?limit=20&q=" + percent_encode(text), reader);
  std::string found;
  if (answer.status != 200) {
    found = fmt::format("<p class=\"notice\" role=\"status\">This cannot be searched for: {}</p>",
                        escape(reason_of(answer)));
  } else if (const auto result = json::parse_object(answer.body)) {
    found = tag_items(json::find(*result, "hashtags"));
    json::for_each(json::find(*result, "accounts"), [&](const json::value& account) {
      if (account.is_object()) found += render_account(account.get_object());
    });
    json::for_each(json::find(*result, "statuses"), [&](const json::value& status) {
      if (status.is_object()) found += render_post(status.get_object(), clock_.wall_now());
    });
  }
  // A hashtag need not be known here to have a timeline.
  if (const Result<Tag> tag = parse_typed_tag(text); tag && !found.contains(tag_link(tag->canonical()))) {
    found += links_to({*tag});
  } else if (!tag && found.empty() && !text.contains('@')) {
    if (const std::vector<Tag> meant = tags_meant_by(text); !meant.empty())
      found = "<p class=\"notice\">Nothing was found. Perhaps this was meant:</p>" + links_to(meant);
  }
  if (found.empty()) found = nothing_found(text);
  PageParts parts{.status = answer.status, .title = text + " – " + options_.authority, .search = text};
  parts.main =
      fmt::format("<div id=\"app\">\n<h1>Search for <bdi>{}</bdi></h1>\n{}</div>\n", escape(text), found);
  HttpResponse response = make_page(parts, options_.authority, options_.contact);
  pass_wait_on(answer, response);
  co_return response;
}

Task<HttpResponse> Site::tag(std::string rest, std::string query, IpAddress reader) {
  const bool has_slash = rest.ends_with('/');
  if (has_slash) rest.pop_back();
  const std::string name = percent_decode(rest).value_or("");
  const Result<Tag> tag = parse_typed_tag(name);  // also as its actor is called
  if (!tag) co_return no_such_hashtag(name, tag.error());
  const std::string own = std::string(kTags) + percent_encode(tag->canonical());
  if (has_slash || name != tag->canonical()) co_return redirect(301, query.empty() ? own : own + "?" + query);
  const TagView view = TagView::parse(query);
  const HttpResponse answer = co_await ask_api(view.api_target(*tag), reader);
  Result<json::array> statuses = json::array();
  std::string older;
  if (answer.status != 200) {
    statuses = fail(ErrorCode::kUnavailable, reason_of(answer));
  } else {
    Result<json::value> list = json::parse(answer.body);
    if (list && list->is_array()) statuses = std::move(list->get_array());
    older = next_max_id(answer.headers.find("Link").value_or(""));
  }
  PageParts parts{.status = answer.status, .title = "#" + tag->canonical() + " – " + options_.authority};
  const std::string actor = fmt::format("{}/tag/{}", options_.origin, tag->actor_name());
  parts.head =
      links_to_actor(actor) +
      render_preview({.title = "#" + tag->canonical(),
                      .text = fmt::format(
                          "Public posts under #{} from many servers of the fediverse: read them here, or "
                          "follow @{}@{} from your own server.",
                          tag->canonical(), tag->actor_name(), options_.authority),
                      .url = options_.origin + view.page_target(*tag),
                      .image = actor + "/icon.png",
                      .site = options_.authority});
  parts.head += fmt::format(
      "<link rel=\"alternate\" type=\"application/rss+xml\" href=\"{0}.rss\">\n"
      "<link rel=\"alternate\" type=\"application/atom+xml\" href=\"{0}.atom\">\n",
      own);
  parts.main = render_tag_page(*tag, view, options_.authority, statuses, older, clock_.wall_now());
  HttpResponse response = make_page(parts, options_.authority, options_.contact);
  pass_wait_on(answer, response);
  co_return response;
}

}  // namespace tagring::web
