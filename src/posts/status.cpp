#include "posts/status.hpp"

#include <algorithm>
#include <cmath>

#include "base/bytes.hpp"
#include "fediverse/json_ld.hpp"
#include "fediverse/note.hpp"
#include "fediverse/vocabulary.hpp"
#include "posts/html.hpp"

namespace tagring::posts {
namespace {

constexpr std::size_t kWarningMax = 2000;        // bytes of a content warning
constexpr std::size_t kDescriptionMax = 10'000;  // of a description of an image
constexpr std::size_t kChoiceMax = 500;
constexpr std::size_t kBlurhashMax = 200;

// `content`, or the first of `contentMap`.
std::string content_of(const json::object& o) {
  if (auto content = json::get_string(o, "content")) return *std::move(content);
  const json::object* map = json::get_object(o, "contentMap");
  if (map == nullptr || map->empty() || !map->begin()->value().is_string()) return {};
  return std::string(map->begin()->value().get_string());
}

// Two or three letters, as ISO 639 has them; regions are left out, as Mastodon does.
json::value language_of(const json::object& o) {
  const json::object* map = json::get_object(o, "contentMap");
  if (map == nullptr || map->empty()) return nullptr;
  const std::string_view code = map->begin()->key();
  const std::string_view plain = code.substr(0, code.find_first_of("-_"));
  const bool is_code = plain.size() >= 2 && plain.size() <= 3 &&
                       std::ranges::all_of(plain, [](char c) { return c >= 'a' && c <= 'z'; });
  return is_code ? json::value(plain) : json::value(nullptr);
}

// Titles of articles, videos and events stand above what they say.
std::string html_of(const json::object& o, const fediverse::Note& note) {
  std::string html = sanitize_html(content_of(o));
  if (note.type == "Note" || note.type == "Question") return html;
  const std::string title = text_of_html(json::text_of(o, "name"), kNameMax);
  return title.empty() ? html : "<p><strong>" + escape_html(title) + "</strong></p>" + html;
}

std::string kind_of(const json::object& attachment) {
  const std::string media = json::text_of(attachment, "mediaType");
  for (const std::string_view kind : {"image", "video", "audio"}) {
    if (media.starts_with(std::string(kind) + "/")) return std::string(kind);
  }
  if (fediverse::has_type(attachment, "Image")) return "image";
  if (fediverse::has_type(attachment, "Video")) return "video";
  return fediverse::has_type(attachment, "Audio") ? "audio" : "unknown";
}

// `kind` as kind_of() has it. Pictures are their own previews, by whose size clients shape them.
json::value meta_of(const json::object& attachment, std::string_view kind) {
  json::object meta;
  const auto width = json::get_int(attachment, "width");
  const auto height = json::get_int(attachment, "height");
  if (width && height && *width > 0 && *height > 0 && *width <= 100'000 && *height <= 100'000) {
    const json::object size = {{"width", *width},
                               {"height", *height},
                               {"size", std::to_string(*width) + "x" + std::to_string(*height)},
                               {"aspect", static_cast<double>(*width) / static_cast<double>(*height)}};
    meta["original"] = size;
    if (kind == "image") meta["small"] = size;
  }
  const json::value* focus = json::find(attachment, "focalPoint");
  if (focus != nullptr && focus->is_array() && focus->get_array().size() == 2) {
    const auto number = [&](std::size_t i) {
      boost::system::error_code error;
      const double value = focus->get_array()[i].to_number<double>(error);
      return !error && std::isfinite(value) ? std::clamp(value, -1.0, 1.0) : 0.0;
    };
    meta["focus"] = json::object{{"x", number(0)}, {"y", number(1)}};
  }
  return meta.empty() ? json::value(nullptr) : json::value(std::move(meta));
}

// A picture. Of a video there may be one beside it.
json::value preview_of(const json::object& attachment, std::string_view kind, const std::string& url) {
  if (kind == "image") return json::value(url);
  const std::string icon = url_of(json::find(attachment, "icon"));
  return icon.empty() ? json::value(nullptr) : json::value(icon);
}

// Links to other pages are no media; servers attach them too.
json::array attachments_of(const json::object& o) {
  json::array list;
  json::for_each(json::find(o, "attachment"), [&](const json::value& v) {
    if (!v.is_object() || list.size() >= kAttachmentsMax) return;
    const json::object& attachment = v.get_object();
    const std::string url = url_of(&v);
    const std::string kind = kind_of(attachment);
    if (url.empty() || (kind == "unknown" && !fediverse::has_type(attachment, "Document"))) return;
    std::string description = json::text_of(attachment, "name");
    if (description.empty()) description = json::text_of(attachment, "summary");
    std::string blurhash = json::text_of(attachment, "blurhash");
    if (blurhash.size() > kBlurhashMax) blurhash.clear();
    const auto text_or_null = [](std::string_view text) {
      return text.empty() ? json::value(nullptr) : json::value(text);
    };
    list.push_back(json::object{{"id", stable_id(url)},
                                {"type", kind},
                                {"url", url},
                                {"preview_url", preview_of(attachment, kind, url)},
                                {"remote_url", url},
                                {"preview_remote_url", nullptr},
                                {"text_url", nullptr},
                                {"meta", meta_of(attachment, kind)},
                                {"description", text_or_null(cut_utf8(description, kDescriptionMax))},
                                {"blurhash", text_or_null(blurhash)}});
  });
  return list;
}

struct Link {
  std::string url;
  std::string text;
};

// The first of the mentions in the text of a post. `html` is as sanitize_html() writes it.
std::vector<Link> mentions_in(std::string_view html) {
  std::vector<Link> links;
  constexpr std::string_view kHref = "href=\"";
  constexpr std::string_view kEnd = "</a>";
  for (std::size_t at = html.find("<a "); at != std::string_view::npos && links.size() < kMentionsMax;
       at = html.find("<a ", at)) {
    const std::string_view link = html.substr(at, html.find(kEnd, at) - at);
    at += link.size();
    if (at >= html.size()) break;
    const std::size_t begin = link.find(kHref);
    if (begin == std::string_view::npos || !link.contains("mention")) continue;
    const std::string_view rest = link.substr(begin + kHref.size());
    links.push_back({std::string(rest.substr(0, rest.find('"'))),
                     text_of_html(std::string(link) + std::string(kEnd), kNameMax)});
  }
  return links;
}

// Where the text of a post leads who clicks on a mention: at the profile, while the mention names the actor.
std::string profile_in(const std::vector<Link>& links, const std::string& actor,
                       const std::string& username) {
  for (const auto& [url, text] : links) {
    const bool is_meant = text == "@" + username || text.starts_with("@" + username + "@");
    if (is_meant && !url.contains('&') && fediverse::is_same_origin(url, actor)) return url;
  }
  return actor;
}

json::array mentions_of(const json::object& o, std::string_view html) {
  json::array mentions;
  const std::vector<Link> links = mentions_in(html);
  json::for_each(json::find(o, "tag"), [&](const json::value& v) {
    if (!v.is_object() || mentions.size() >= kMentionsMax) return;
    const json::object& tag = v.get_object();
    const std::string href = json::text_of(tag, "href");
    if (!fediverse::has_type(tag, "Mention") || !Url::parse(href)) return;
    std::string acct(cut_utf8(json::text_of(tag, "name"), kNameMax));
    if (acct.starts_with('@')) acct.erase(0, 1);
    const std::string username = acct.substr(0, acct.find('@'));
    if (username.empty()) return;
    if (!acct.contains('@')) acct += "@" + authority_of(href);
    mentions.push_back(json::object{{"id", stable_id(href)},
                                    {"username", username},
                                    {"url", profile_in(links, href, username)},
                                    {"acct", acct}});
  });
  return mentions;
}

json::value poll_of(const json::object& o, const fediverse::Note& note, WallTime now) {
  if (note.type != "Question") return nullptr;
  const json::value* any = json::find(o, "anyOf");
  const bool multiple = any != nullptr && any->is_array();
  json::array options;
  std::int64_t votes = 0;
  json::for_each(multiple ? any : json::find(o, "oneOf"), [&](const json::value& v) {
    if (!v.is_object() || options.size() >= kChoicesMax) return;
    const std::int64_t count = count_of(v.get_object(), "replies");
    votes += count;
    const std::string title = json::text_of(v.get_object(), "name");
    options.push_back(json::object{{"title", cut_utf8(title, kChoiceMax)}, {"votes_count", count}});
  });
  if (options.empty()) return nullptr;
  std::optional<WallTime> end = from_rfc3339(json::text_of(o, "endTime"));
  if (const auto closed = from_rfc3339(json::text_of(o, "closed"))) end = closed;
  const auto voters = json::get_int(o, "votersCount");
  return json::object{{"id", stable_id(note.id)},
                      {"expires_at", end ? json::value(datetime(*end)) : json::value(nullptr)},
                      {"expired", end && *end <= now},
                      {"multiple", multiple},
                      {"votes_count", votes},
                      {"voters_count", voters ? json::value(std::max<std::int64_t>(*voters, 0)) : nullptr},
                      {"options", std::move(options)},
                      {"emojis", emojis_of(o)}};
}

json::array tags_of(const fediverse::Note& note, const Site& site) {
  json::array tags;
  for (const Tag& tag : note.tags)
    tags.push_back(json::object{{"name", tag.canonical()}, {"url", site.tag_url(tag.canonical())}});
  return tags;
}

// Plain text, or HTML, as the server has it. "<Dune>" looks like markup, and is none.
std::string warning_of(const json::object& o) {
  const std::string summary = json::text_of(o, "summary");
  std::string text = text_of_html(summary, kWarningMax);
  if (trim(text).empty() && sanitize_html(summary).empty()) text = cut_utf8(summary, kWarningMax);
  return text;
}

json::object describe(const json::object& o, const fediverse::Note& note, WallTime now, const Site& site) {
  const std::string warning = warning_of(o);
  // An article's summary is what it is about, and no warning.
  const bool is_warning = note.type == "Note" || note.type == "Question";
  const bool edited = note.updated && *note.updated > note.published;
  const std::string html = html_of(o, note);
  return {{"id", std::to_string(status_id(note.published, note.id))},
          {"uri", note.id},
          {"created_at", datetime(note.published)},
          {"content", html},
          {"visibility", "public"},
          {"sensitive", json::get_flag(o, "sensitive") || (is_warning && !warning.empty())},
          {"spoiler_text", is_warning ? warning : std::string()},
          {"media_attachments", attachments_of(o)},
          {"mentions", mentions_of(o, html)},
          {"tags", tags_of(note, site)},
          {"emojis", emojis_of(o)},
          {"reblogs_count", count_of(o, "shares")},
          {"favourites_count", count_of(o, "likes")},
          {"quotes_count", 0},
          {"replies_count", count_of(o, "replies")},
          {"url", page_of(o, note.id)},
          {"in_reply_to_id", nullptr},
          {"in_reply_to_account_id", nullptr},
          {"reblog", nullptr},
          {"poll", poll_of(o, note, now)},
          {"card", nullptr},
          {"language", language_of(o)},
          {"text", nullptr},
          {"edited_at", edited ? json::value(datetime(*note.updated)) : json::value(nullptr)},
          {"quote", nullptr},
          {"quote_approval",
           json::object{{"automatic", json::array()}, {"manual", json::array()}, {"current_user", "denied"}}},
          {"tagged_collections", json::array()}};
}

}  // namespace

bool Post::has(const Tag& tag) const { return std::ranges::binary_search(tags, tag); }

Result<Post> read_post(std::string_view body, const std::string& uri, WallTime now, const Site& site) {
  TRY(const json::object o, fediverse::parse_document(body));
  if (fediverse::has_type(o, "Tombstone")) return fail(ErrorCode::kNotFound, "the post was deleted");
  TRY(fediverse::Note note, fediverse::parse_fetched_note(o, now));
  if (note.id != uri) return fail(ErrorCode::kInvalid, "the document is another post");
  if (note.visibility != fediverse::Visibility::kPublic)
    return fail(ErrorCode::kNotFound, "the post is not public");
  if (!note.may_be_announced)
    return fail(ErrorCode::kNotFound, "the author lets not everybody announce the post");
  Post post{.uri = uri,
            .author = note.author,
            .published = note.published,
            .in_reply_to = note.in_reply_to,
            .tags = note.tags,
            .has_media = false,
            .status = describe(o, note, now, site)};
  post.has_media = !post.status.at("media_attachments").as_array().empty();
  return post;
}

json::object make_status(const Post& post, const json::object& account, StatusId id, const Post* parent) {
  json::object status = post.status;
  if (parent != nullptr) {
    status["in_reply_to_id"] = std::to_string(status_id(parent->published, parent->uri));
    status["in_reply_to_account_id"] = stable_id(parent->author);
  }
  status["id"] = std::to_string(id);
  status["account"] = account;
  return status;
}

}  // namespace tagring::posts
