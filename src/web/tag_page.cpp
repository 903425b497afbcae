#include "web/tag_page.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/time.hpp"
#include "hashtag/typed.hpp"
#include "http/url.hpp"
#include "web/html.hpp"
#include "web/posts.hpp"

namespace tagring::web {
namespace {

constexpr std::size_t kPageSize = 20;
constexpr std::size_t kIdMax = 100;
constexpr std::size_t kWrongMax = 3;  // are told

// The hashtags of a field; what of it is none goes to `wrong`, with the reason.
std::vector<std::string> words(std::string_view text, std::vector<std::string>* wrong) {
  constexpr std::string_view kBetween = " ,#\t\r\n";
  std::vector<std::string> result;
  while (result.size() < TagView::kTagsMax) {
    text.remove_prefix(std::min(text.find_first_not_of(kBetween), text.size()));
    if (text.empty()) break;
    const std::string word(text.substr(0, text.find_first_of(kBetween)));
    text.remove_prefix(word.size());
    if (const Result<Tag> tag = parse_typed_tag(word)) {
      result.push_back(tag->canonical());
    } else if (wrong->size() < kWrongMax) {
      wrong->push_back(tag.error().message);
    }
  }
  return result;
}

std::string joined(const std::vector<std::string>& list) {
  std::string result;
  for (const std::string& word : list) result.append(result.empty() ? "" : " ").append(word);
  return result;
}

// The text if it is a day, "2026-05-01", else empty.
std::string day(std::string text) { return from_rfc3339(text + "T00:00:00Z") ? text : std::string(); }

class Query {
 public:
  void add(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    text_.append(text_.empty() ? "?" : "&").append(name).append("=").append(percent_encode(value));
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string field(std::string_view name, std::string_view label, const std::vector<std::string>& value) {
  return fmt::format(
      R"(<label>{}<input name="{}" value="{}" dir="auto" autocapitalize="none" maxlength="200"></label>)",
      label, name, escape(joined(value)));
}

std::string filters(const Tag& tag, const TagView& view) {
  const bool is_used = !view.any.empty() || !view.all.empty() || !view.none.empty() || !view.until.empty();
  return fmt::format(
      R"(<details class="filters"{}><summary>Combine hashtags, or go to a date</summary><form action="/tags/{}">{}{}{})"
      R"(<label>Up to the day<input type="date" name="until" value="{}"></label><button>Show</button></form></details>)",
      is_used ? " open" : "", percent_encode(tag.canonical()), field("any", "Also show", view.any),
      field("all", "Must have", view.all), field("none", "Without", view.none), escape(view.until));
}

std::string follow_box(const Tag& tag, std::string_view authority) {
  const std::string address = fmt::format("@{}@{}", tag.actor_name(), authority);
  return fmt::format(
      R"(<section class="follow" aria-label="Follow"><div class="room"></div><details><summary class="button">Follow</summary>)"
      R"(<form action="/tags/{0}/follow"><label>Your server or account)"
      R"(<input name="account" placeholder="@me@social.example" autocapitalize="none" autocomplete="off" maxlength="300" required>)"
      R"(</label><button>Continue</button></form></details><p>or search for <code class="address">{1}</code> )"
      R"(<button type="button" class="quiet scripted" disabled>Copy</button> )"
      R"(<a class="muted" href="/tags/{0}.rss">RSS</a></p></section>)",
      percent_encode(tag.canonical()), escape(address));
}

std::string id_of_post(const json::value& status) {
  return status.is_object() ? json::text_of(status.get_object(), "id") : std::string();
}

std::string pager(const Tag& tag, const TagView& view, const json::array& statuses,
                  const std::string& older) {
  const std::string base = view.page_target(tag);
  const auto with = [&base](std::string_view name, const std::string& id) {
    return fmt::format("{}{}{}={}", base, base.contains('?') ? '&' : '?', name, percent_encode(id));
  };
  std::string links;
  const bool is_first = view.max_id.empty() && view.min_id.empty();
  if (!is_first && !statuses.empty()) {
    links += fmt::format(R"(<a rel="prev" href="{}">Newer posts</a>)",
                         escape(with("min_id", id_of_post(statuses.front()))));
  }
  if (!is_first) links += fmt::format(R"(<a href="{}">Newest</a>)", escape(base));
  if (!older.empty()) {
    links += fmt::format(R"(<a rel="next" href="{}">Older posts</a>)", escape(with("max_id", older)));
  }
  return links.empty() ? links : "<nav class=\"pager\" aria-label=\"Pages\">" + links + "</nav>\n";
}

}  // namespace

TagView TagView::parse(std::string_view query) {
  TagView view;
  view.any = words(query_value(query, "any"), &view.wrong);
  view.all = words(query_value(query, "all"), &view.wrong);
  view.none = words(query_value(query, "none"), &view.wrong);
  const std::string until(cut_utf8(query_value(query, "until"), 10));
  view.until = day(until);
  if (view.until != until) view.wrong.push_back(fmt::format("'{}' is no day such as 2026-05-01", until));
  view.max_id = query_value(query, "max_id").substr(0, kIdMax);
  view.min_id = query_value(query, "min_id").substr(0, kIdMax);
  return view;
}

std::string TagView::api_target(const Tag& tag) const {
  Query query;
  for (const std::string& word : any) query.add("any[]", word);
  for (const std::string& word : all) query.add("all[]", word);
  for (const std::string& word : none) query.add("none[]", word);
  if (!until.empty()) query.add("until", until + "T23:59:59.999Z");
  query.add("max_id", max_id);
  query.add("min_id", min_id);
  query.add("limit", fmt::to_string(kPageSize));
  return "/api/v1/timelines/tag/" + percent_encode(tag.canonical()) + query.text();
}

std::string TagView::page_target(const Tag& tag) const {
  Query query;
  query.add("any", joined(any));
  query.add("all", joined(all));
  query.add("none", joined(none));
  query.add("until", until);
  return "/tags/" + percent_encode(tag.canonical()) + query.text();
}

std::string render_tag_page(const Tag& tag, const TagView& view, std::string_view authority,
                            const Result<json::array>& statuses, const std::string& older, WallTime now) {
  std::string posts;
  if (!statuses) {
    posts = fmt::format(R"(<p class="notice" role="status">The posts cannot be shown: {}</p>)",
                        escape(statuses.error().message));
  } else if (statuses->empty() && older.empty()) {
    const bool is_first = view.max_id.empty() && view.min_id.empty();
    posts = fmt::format(R"(<p class="notice">{}</p>)",
                        is_first ? "No posts yet. New ones will appear here." : "There are no more posts.");
    if (!is_first) posts += pager(tag, view, *statuses, older);
  } else {
    for (const json::value& status : *statuses) {
      if (status.is_object()) posts += render_post(status.get_object(), now, tag.canonical());
    }
    posts += pager(tag, view, *statuses, older);
  }
  const bool is_empty =
      statuses && statuses->empty() && older.empty() && view.page_target(tag).find('?') == std::string::npos;
  // The chart comes with the script, and so does what the buttons do; their room is there before.
  const std::string tools =
      is_empty ? std::string()
               : "<section class=\"chart\"></section>\n<div class=\"tools\">" + filters(tag, view) +
                     R"(<label class="inline switch scripted"><input type="checkbox" disabled> )"
                     "Load images</label></div>\n";
  std::string wrong;
  for (const std::string& why : view.wrong)
    wrong += fmt::format("<p class=\"notice\" role=\"status\">{}</p>\n", escape(why));
  // Before what the script draws. The script has no other way to the canonical form of a word.
  return wrong + fmt::format(
                     "<div id=\"app\" data-tag=\"{0}\" data-any=\"{4}\" data-all=\"{5}\" data-none=\"{6}\">\n"
                     "<h1 class=\"tag-title\"><bdi>#{0}</bdi></h1>\n{1}\n{2}"
                     "<section aria-label=\"Posts\" class=\"feed\">\n{3}</section>\n</div>\n",
                     escape(tag.canonical()), follow_box(tag, authority), tools, posts,
                     escape(joined(view.any)), escape(joined(view.all)), escape(joined(view.none)));
}

}  // namespace tagring::web
