#include "web/posts.hpp"

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/time.hpp"
#include "posts/html.hpp"
#include "web/html.hpp"

namespace tagring::web {
namespace {

constexpr std::size_t kMediaMax = 16;
constexpr std::size_t kTagsMax = 64;
constexpr std::size_t kWarningMax = 1000;  // bytes

std::string text_at(const json::object& object, std::string_view key) { return json::text_of(object, key); }

// "2026-11-21 02:24 UTC"
std::string readable(std::string_view rfc3339) {
  const std::optional<WallTime> time = from_rfc3339(rfc3339);
  if (!time) return {};
  const std::string text = to_rfc3339(*time);
  return text.substr(0, 10) + " " + text.substr(11, 5) + " UTC";
}

std::string link(std::string_view url, std::string_view attributes, std::string_view inner) {
  const std::string_view safe = safe_link(url);
  if (safe.empty()) return fmt::format("<span {}>{}</span>", attributes, inner);
  return fmt::format(R"(<a {} href="{}" rel="nofollow noopener noreferrer">{}</a>)", attributes, escape(safe),
                     inner);
}

std::string render_media(const json::object& status) {
  std::string items;
  std::size_t count = 0;
  json::for_each(json::find(status, "media_attachments"), [&](const json::value& element) {
    if (!element.is_object() || ++count > kMediaMax) return;
    const json::object& media = element.get_object();
    std::string label = text_at(media, "description");
    if (label.empty()) label = "without a description";
    items.append("<li>").append(
        link(text_at(media, "url"), "dir=\"auto\"",
             fmt::format("<b>{}:</b> {}", escape(text_at(media, "type")), escape(label))));
    items.append("</li>");
  });
  return items.empty() ? items : "<ul class=\"media-links\">" + items + "</ul>";
}

std::string render_tags(const json::object& status) {
  std::string items;
  std::size_t count = 0;
  json::for_each(json::find(status, "tags"), [&](const json::value& element) {
    if (!element.is_object() || ++count > kTagsMax) return;
    const std::string name = text_at(element.get_object(), "name");
    if (!name.empty()) items.append("<li>").append(tag_link(name)).append("</li>");
  });
  return items.empty() ? items : "<ul class=\"tags\">" + items + "</ul>";
}

}  // namespace

std::string tag_link(std::string_view tag) {
  return fmt::format(R"(<a href="/tags/{}" class="tag"><bdi>#{}</bdi></a>)", percent_encode(tag),
                     escape(tag));
}

std::string render_post(const json::object& status) {
  const json::object none;
  const json::object* account = json::get_object(status, "account");
  if (account == nullptr) account = &none;
  std::string name = text_at(*account, "display_name");
  if (name.empty()) name = text_at(*account, "username");
  std::string url = text_at(status, "url");
  if (url.empty()) url = text_at(status, "uri");
  const std::string created = text_at(status, "created_at");
  const std::string author = fmt::format(R"(<bdi class="name">{}</bdi> <span class="acct">@{}</span>)",
                                         escape(name), escape(text_at(*account, "acct")));
  std::string body =
      fmt::format(R"(<div class="content" dir="auto" lang="{}">{}</div>)",
                  escape(text_at(status, "language")), posts::sanitize_html(text_at(status, "content")));
  body.append(render_media(status));
  if (const std::string warning = text_at(status, "spoiler_text"); !warning.empty()) {
    body = fmt::format(R"(<details class="warning"><summary dir="auto">{}</summary>{}</details>)",
                       escape(posts::text_of_html(warning, kWarningMax)), body);
  }
  return fmt::format(
      "<article class=\"post\"><header>{} {}</header>{}<footer>{}</footer></article>\n",
      link(text_at(*account, "url"), "class=\"author\"", author),
      link(url, "class=\"when\"",
           fmt::format(R"(<time datetime="{}">{}</time>)", escape(created), readable(created))),
      body, render_tags(status));
}

}  // namespace tagring::web
