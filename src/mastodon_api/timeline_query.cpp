#include "mastodon_api/timeline_query.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/bytes.hpp"
#include "http/url.hpp"

namespace tagring::mastodon_api {
namespace {

constexpr std::size_t kPairsMax = 200;  // of name and value in one query

std::vector<Tag> tags_in(std::string_view query, std::string_view name) {
  std::vector<Tag> tags;
  for (const std::string& value : query_values(query, name, TimelineQuery::kTagsMax)) {
    if (Result<Tag> tag = Tag::parse(value)) tags.push_back(*std::move(tag));
  }
  return tags;
}

std::optional<posts::StatusId> id_in(std::string_view query, std::string_view name) {
  if (query_value(query, name).empty()) return std::nullopt;
  return number_in(query, name, 0, UINT64_MAX);
}

}  // namespace

std::vector<std::string> query_values(std::string_view query, std::string_view name, std::size_t values_max) {
  std::vector<std::string> values;
  for (std::size_t pairs = 0; !query.empty() && pairs < kPairsMax; ++pairs) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::string key = percent_decode(pair.substr(0, pair.find('='))).value_or("");
    // "any[]=x", and "any[0]=x" as some clients write it.
    const std::string_view rest = std::string_view(key).substr(std::min(name.size(), key.size()));
    const bool is_list = rest.starts_with('[') && rest.ends_with(']');
    if (!key.starts_with(name) || (!rest.empty() && !is_list) || values.size() == values_max) continue;
    // query_value reads one pair as well as many.
    const std::string value = query_value(pair, pair.substr(0, pair.find('=')));
    if (!value.empty()) values.push_back(value);
  }
  return values;
}

std::size_t number_in(std::string_view query, std::string_view name, std::size_t otherwise,
                      std::size_t most) {
  const std::string text = query_value(query, name);
  if (text.empty()) return otherwise;
  const char* const begin = text.data() + (text.starts_with('-') ? 1 : 0);
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  return error == std::errc::result_out_of_range ? most : std::min(value, most);
}

bool query_flag(std::string_view query, std::string_view name) {
  const std::string value = ascii_lower(query_value(query, name));
  return value == "true" || value == "1" || value == "on" || value == "t";
}

Result<TimelineQuery> TimelineQuery::parse(std::string_view name, std::string_view query) {
  TRY(Tag tag, Tag::parse(name));
  TimelineQuery wish{.tag = std::move(tag),
                     .any = tags_in(query, "any"),
                     .all = tags_in(query, "all"),
                     .none = tags_in(query, "none"),
                     .max_id = {},
                     .since_id = {},
                     .min_id = {}};
  wish.max_id = id_in(query, "max_id");
  wish.since_id = id_in(query, "since_id");
  wish.min_id = id_in(query, "min_id");
  for (const std::string_view key : {"max_time", "until"}) {
    const std::string text = query_value(query, key);
    if (text.empty()) continue;
    const std::optional<WallTime> time = from_rfc3339(text);
    if (!time) return fail(ErrorCode::kInvalid, std::string(key) + " is no date of RFC 3339");
    const posts::StatusId after = posts::first_id_at(*time + Duration(1));
    wish.max_id = std::min(wish.max_id.value_or(after), after);
  }
  wish.limit = number_in(query, "limit", kLimitDefault, kLimitMax);
  wish.local = query_flag(query, "local");
  wish.remote = query_flag(query, "remote");
  wish.only_media = query_flag(query, "only_media");
  return wish;
}

std::string TimelineQuery::filters() const {
  std::string text;
  const auto add = [&](std::string_view key, const std::vector<Tag>& tags) {
    for (const Tag& each : tags) text += std::string(key) + "[]=" + percent_encode(each.canonical()) + "&";
  };
  add("any", any);
  add("all", all);
  add("none", none);
  if (limit != kLimitDefault) text += "limit=" + std::to_string(limit) + "&";
  if (local) text += "local=true&";
  if (remote) text += "remote=true&";
  if (only_media) text += "only_media=true&";
  return text;
}

}  // namespace tagring::mastodon_api
