#include "web/posts.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include "base/bytes.hpp"
#include "base/time.hpp"
#include "posts/html.hpp"
#include "web/html.hpp"

namespace tagring::web {
namespace {

constexpr std::size_t kMediaMax = 16;
constexpr std::size_t kTagsMax = 64;
constexpr std::size_t kWarningMax = 1000;  // bytes
constexpr std::size_t kTextMax = 64U << 10U;
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::string text_at(const json::object& object, std::string_view key) { return json::text_of(object, key); }

// "2026-11-21 02:24 UTC"
std::string readable(WallTime time) {
  const std::string text = to_rfc3339(time);
  return text.substr(0, 10) + " " + text.substr(11, 5) + " UTC";
}

// "3h ago", as ui/src/age.ts says it.
std::string age(WallTime time, WallTime now) {
  using namespace std::chrono;
  const auto ago = std::max(floor<seconds>(now - time), seconds(0));
  if (ago < seconds(1)) return "now";
  if (ago < minutes(1)) return fmt::format("{}s ago", ago.count());
  if (ago < hours(1)) return fmt::format("{}m ago", floor<minutes>(ago).count());
  if (ago < days(1)) return fmt::format("{}h ago", floor<hours>(ago).count());
  if (ago < days(2)) return "yesterday";
  if (ago < days(7)) return fmt::format("{}d ago", floor<days>(ago).count());
  const year_month_day day(floor<days>(time));
  const std::string date = fmt::format("{} {}", kMonths.at(static_cast<unsigned>(day.month()) - 1),
                                       static_cast<unsigned>(day.day()));
  if (day.year() == year_month_day(floor<days>(now)).year()) return date;
  return fmt::format("{}, {}", date, static_cast<int>(day.year()));
}

icu::UnicodeString utf16(std::string_view text) {
  return icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
}

std::string lower(std::string_view text) {
  std::string result;
  return utf16(text).toLower(icu::Locale::getRoot()).toUTF8String(result);
}

// The first letter, on the colour that the script has for the author.
std::string avatar(std::string_view name, std::string_view acct) {
  const icu::UnicodeString hashed = utf16(acct);
  std::uint32_t hash = 0;
  for (int32_t i = 0; i < hashed.length(); ++i) hash = hash * 31 + hashed.charAt(i);
  const auto distance =
      static_cast<std::uint32_t>(std::abs(static_cast<std::int64_t>(static_cast<std::int32_t>(hash))));
  const icu::UnicodeString letters = utf16(name);
  std::string letter = "·";
  for (int32_t i = 0; i < letters.length(); i = letters.moveIndex32(i, 1)) {
    const UChar32 c = letters.char32At(i);
    if ((U_GET_GC_MASK(c) & (U_GC_L_MASK | U_GC_N_MASK)) == 0) continue;
    letter.clear();
    icu::UnicodeString(c).toUpper(icu::Locale::getRoot()).toUTF8String(letter);
    break;
  }
  return fmt::format(R"(<span class="avatar hue{}" aria-hidden="true">{}</span>)", distance % 6,
                     escape(letter));
}

std::string link(std::string_view url, std::string_view attributes, std::string_view inner) {
  const std::string_view safe = safe_link(url);
  if (safe.empty()) return fmt::format("<span {}>{}</span>", attributes, inner);
  return fmt::format(R"(<a {} href="{}" rel="nofollow noopener noreferrer">{}</a>)", attributes, escape(safe),
                     inner);
}

// As large as the picture that the script shows to who has pictures loaded (ui/src/post.tsx); else not there.
std::string room_of(const json::object& media) {
  const std::string type = text_at(media, "type");
  std::string source = text_at(media, "preview_url");
  if (source.empty() && type == "image") source = text_at(media, "url");
  if (type == "audio" || !source.starts_with("https://")) return {};
  const json::object* meta = json::get_object(media, "meta");
  const json::object* original = meta == nullptr ? nullptr : json::get_object(*meta, "original");
  const auto number = [&](std::string_view key, std::int64_t otherwise) {
    return original == nullptr ? otherwise : json::get_int(*original, key).value_or(otherwise);
  };
  return fmt::format(R"(<svg class="room" viewBox="0 0 {} {}" aria-hidden="true"></svg>)",
                     number("width", 16), number("height", 9));
}

std::string render_media(const json::object& status) {
  const bool is_sensitive = json::get_flag(status, "sensitive");
  std::string items;
  std::size_t count = 0;
  json::for_each(json::find(status, "media_attachments"), [&](const json::value& element) {
    if (!element.is_object() || ++count > kMediaMax) return;
    const json::object& media = element.get_object();
    std::string label = text_at(media, "description");
    if (label.empty()) label = "without a description";
    std::string type = text_at(media, "type");
    if (type == "unknown") type = "attachment";
    items.append(
        link(text_at(media, "url"), R"(class="media-link" dir="auto")",
             fmt::format("{}<span><b>{}:</b> {}</span>", is_sensitive ? std::string() : room_of(media),
                         escape(type), escape(label))));
  });
  if (items.empty()) return items;
  return fmt::format(R"(<div class="media-grid n{}">{}</div>)", std::min<std::size_t>(count, 4), items);
}

std::string render_poll(const json::object& status, std::string_view lang) {
  const json::object* poll = json::get_object(status, "poll");
  if (poll == nullptr) return {};
  std::string items;
  json::for_each(json::find(*poll, "options"), [&](const json::value& option) {
    if (option.is_object())
      items.append("<li dir=\"auto\">").append(escape(text_at(option.get_object(), "title"))).append("</li>");
  });
  return fmt::format(R"(<ul class="poll" lang="{}">{}</ul>)", lang, items);
}

// Those that the text does not show already; servers put some of them beside it.
std::string render_tags(const json::object& status, std::string_view main) {
  const std::string text = lower(posts::text_of_html(text_at(status, "content"), kTextMax));
  std::string items;
  std::size_t count = 0;
  json::for_each(json::find(status, "tags"), [&](const json::value& element) {
    const std::string name = element.is_object() ? text_at(element.get_object(), "name") : "";
    if (name.empty() || name == main || text.contains("#" + name) || ++count > kTagsMax) return;
    items.append("<li>").append(tag_link(name)).append("</li>");
  });
  return items.empty() ? items : "<ul class=\"tags\" aria-label=\"Hashtags\">" + items + "</ul>";
}

// The picture, and the name with a link to the profile.
std::string render_author(const json::object& account) {
  std::string name = text_at(account, "display_name");
  if (name.empty()) name = text_at(account, "username");
  const std::string acct = text_at(account, "acct");
  const std::string names =
      fmt::format(R"(<bdi class="name">{}</bdi> <span class="acct">@{}</span>)", escape(name), escape(acct));
  return avatar(name, acct) + link(text_at(account, "url"), "class=\"author\"", names);
}

}  // namespace

std::string tag_link(std::string_view tag) {
  return fmt::format(R"(<a href="/tags/{}" class="tag"><bdi>#{}</bdi></a>)", percent_encode(tag),
                     escape(tag));
}

std::string render_post(const json::object& status, WallTime now, std::string_view main) {
  const json::object none;
  const json::object* account = json::get_object(status, "account");
  if (account == nullptr) account = &none;
  std::string url = text_at(status, "url");
  if (url.empty()) url = text_at(status, "uri");
  const std::string created = text_at(status, "created_at");
  const std::optional<WallTime> time = from_rfc3339(created);
  const std::string when = time ? fmt::format(R"(<time datetime="{}" title="{}">{}</time>)", escape(created),
                                              readable(*time), age(*time, now))
                                : std::string();
  // Where it is not known, it is not that of the page.
  const std::string lang = escape(text_at(status, "language"));
  std::string body = fmt::format(R"(<div class="content" dir="auto" lang="{}">{}</div>)", lang,
                                 posts::sanitize_html(text_at(status, "content")));
  body.append(render_poll(status, lang)).append(render_media(status));
  if (const std::string warning = text_at(status, "spoiler_text"); !warning.empty()) {
    body = fmt::format(R"(<details class="warning"><summary dir="auto" lang="{}">{}</summary>{}</details>)",
                       lang, escape(cut_utf8(warning, kWarningMax)), body);
  }
  // Whose account the browser remembers gets a link to there in the last line (ui/src/early.ts).
  return fmt::format(
      "<article class=\"post\"><header>{}{}</header>{}{}<p class=\"elsewhere\"></p></article>\n",
      render_author(*account), link(url, "class=\"when\"", when), body, render_tags(status, main));
}

std::string render_account(const json::object& account) {
  return fmt::format("<article class=\"post\"><header>{}</header></article>\n", render_author(account));
}

}  // namespace tagring::web
