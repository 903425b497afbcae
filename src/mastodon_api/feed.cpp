#include "mastodon_api/feed.hpp"

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "posts/html.hpp"
#include "posts/ids.hpp"

namespace tagring::mastodon_api {
namespace {

constexpr std::size_t kTitleMax = 120;  // bytes

std::string text_of(const json::object& o, std::string_view key) { return json::text_of(o, key); }

std::string element(std::string_view name, std::string_view text) {
  return fmt::format("<{0}>{1}</{0}>\n", name, posts::escape_html(text));
}

// What is behind a content warning comes after it, as in the feeds of Mastodon.
std::string html_of(const json::object& status, const std::string& warning) {
  std::string html = text_of(status, "content");
  if (!warning.empty())
    html = "<p><strong>Content warning:</strong> " + posts::escape_html(warning) + "</p><hr>" + html;
  return html;
}

struct Item {
  std::string uri;
  std::string url;
  std::string title;
  std::string html;
  std::string acct;
  std::string author_url;
  WallTime published;
  WallTime updated;
  std::vector<std::string> tags;
  std::string media;  // elements of RSS or Atom
};

// Atom has no mark for what is sensitive: there it is behind the link to the post only.
std::string media_of(FeedFormat format, const json::object& status) {
  const bool is_sensitive = json::get_flag(status, "sensitive");
  if (is_sensitive && format == FeedFormat::kAtom) return {};
  std::string elements;
  json::for_each(json::find(status, "media_attachments"), [&](const json::value& v) {
    const json::object& o = v.as_object();
    const std::string url = posts::escape_html(text_of(o, "url"));
    const std::string kind = text_of(o, "type");
    const std::string medium = kind == "unknown" ? "document" : kind;
    if (format == FeedFormat::kRss) {
      elements += fmt::format(
          "<media:content url=\"{}\" medium=\"{}\"><media:rating scheme=\"urn:simple\">{}</media:rating>"
          "<media:description type=\"plain\">{}</media:description></media:content>\n",
          url, medium, is_sensitive ? "adult" : "nonadult", posts::escape_html(text_of(o, "description")));
    } else {
      elements += fmt::format("<link rel=\"enclosure\" href=\"{}\"/>\n", url);
    }
  });
  return elements;
}

Item item_of(FeedFormat format, const json::object& status) {
  Item item;
  item.uri = text_of(status, "uri");
  item.url = text_of(status, "url");
  const std::string warning = text_of(status, "spoiler_text");
  item.html = html_of(status, warning);
  // Lists show it before anybody has agreed to see the rest.
  item.title = warning.empty() ? posts::text_of_html(item.html, kTitleMax)
                               : std::string(cut_utf8("Content warning: " + warning, kTitleMax));
  if (const json::object* account = json::get_object(status, "account")) {
    item.acct = text_of(*account, "acct");
    item.author_url = text_of(*account, "url");
  }
  item.published = from_rfc3339(text_of(status, "created_at")).value_or(WallTime());
  item.updated = from_rfc3339(text_of(status, "edited_at")).value_or(item.published);
  json::for_each(json::find(status, "tags"),
                 [&](const json::value& v) { item.tags.push_back(text_of(v.as_object(), "name")); });
  item.media = media_of(format, status);
  return item;
}

std::string rss_item(const Item& item) {
  std::string text = "<item>\n<guid isPermaLink=\"false\">" + posts::escape_html(item.uri) + "</guid>\n";
  text += element("link", item.url) + element("pubDate", to_http_date(item.published));
  text += element("dc:creator", "@" + item.acct) + element("description", item.html) + item.media;
  for (const std::string& tag : item.tags) text += element("category", tag);
  return text + "</item>\n";
}

std::string atom_entry(const Item& item) {
  std::string text = "<entry>\n" + element("id", item.uri);
  text += element("title", item.title.empty() ? "@" + item.acct : item.title);
  text += element("published", posts::datetime(item.published)) +
          element("updated", posts::datetime(item.updated));
  text += "<author>\n" + element("name", "@" + item.acct) + element("uri", item.author_url) + "</author>\n";
  text +=
      fmt::format("<link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>\n", posts::escape_html(item.url));
  text += "<content type=\"html\">" + posts::escape_html(item.html) + "</content>\n" + item.media;
  for (const std::string& tag : item.tags)
    text += fmt::format("<category term=\"{}\"/>\n", posts::escape_html(tag));
  return text + "</entry>\n";
}

}  // namespace

std::string make_feed(FeedFormat format, const Tag& tag, const json::array& statuses, const posts::Site& site,
                      WallTime now) {
  const std::string page = site.tag_url(tag.canonical());
  const std::string title = "#" + tag.canonical();
  const std::string about = "Public posts under " + title + " from all servers of the network.";
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  std::string items;
  WallTime latest;
  for (const json::value& v : statuses) {
    const Item item = item_of(format, v.as_object());
    latest = std::max(latest, item.updated);
    items += format == FeedFormat::kRss ? rss_item(item) : atom_entry(item);
  }
  // For a day the same, or readers would get an empty feed as a new one again and again.
  if (statuses.empty()) latest = std::chrono::floor<std::chrono::days>(now);
  if (format == FeedFormat::kRss) {
    text +=
        "<rss version=\"2.0\" xmlns:atom=\"http://www.w3.org/2005/Atom\""
        " xmlns:dc=\"http://purl.org/dc/elements/1.1/\" xmlns:media=\"http://search.yahoo.com/mrss/\">\n"
        "<channel>\n";
    text += element("title", title) + element("link", page) + element("description", about);
    text += fmt::format("<atom:link rel=\"self\" type=\"application/rss+xml\" href=\"{}.rss\"/>\n",
                        posts::escape_html(page));
    text += element("lastBuildDate", to_http_date(latest)) + element("ttl", "15");
    return text + items + "</channel>\n</rss>\n";
  }
  text += "<feed xmlns=\"http://www.w3.org/2005/Atom\">\n" + element("id", page) + element("title", title);
  text += element("subtitle", about) + element("updated", posts::datetime(latest));
  text += fmt::format(
      "<link rel=\"self\" type=\"application/atom+xml\" href=\"{0}.atom\"/>\n"
      "<link rel=\"alternate\" type=\"text/html\" href=\"{0}\"/>\n",
      posts::escape_html(page));
  return text + items + "</feed>\n";
}

}  // namespace tagring::mastodon_api
