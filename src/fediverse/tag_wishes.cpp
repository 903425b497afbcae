#include "fediverse/tag_wishes.hpp"

#include <set>

#include "base/bytes.hpp"
#include "base/json.hpp"
#include "hashtag/tag.hpp"

namespace tagring::fediverse {
namespace {

class Collected {
 public:
  void add(std::string_view name) {
    const Result<Tag> tag = Tag::parse(name);
    if (tag && known_.insert(tag->canonical()).second) tags_.push_back(tag->canonical());
  }
  std::vector<std::string> take() { return std::move(tags_); }

 private:
  std::set<std::string> known_;
  std::vector<std::string> tags_;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// `rel` is a list of names in one parameter.
bool is_next(std::string_view parameter) {
  const std::size_t mark = parameter.find('=');
  if (mark == std::string_view::npos) return false;
  if (ascii_lower(std::string(trimmed(parameter.substr(0, mark)))) != "rel") return false;
  std::string_view value = trimmed(parameter.substr(mark + 1));
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
    value = value.substr(1, value.size() - 2);
  while (!value.empty()) {
    const std::size_t end = std::min(value.find(' '), value.size());
    if (ascii_lower(std::string(value.substr(0, end))) == "next") return true;
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return false;
}

}  // namespace

Result<std::vector<std::string>> parse_followed_tags(std::string_view body) {
  TRY(const json::value parsed, json::parse(body));
  if (!parsed.is_array()) return fail(ErrorCode::kInvalid, "the followed hashtags are no list");
  Collected tags;
  for (const json::value& element : parsed.get_array()) {
    const auto name =
        element.is_object() ? json::get_string(element.get_object(), "name") : std::optional<std::string>();
    if (!name) return fail(ErrorCode::kInvalid, "a followed hashtag has no 'name'");
    tags.add(*name);
  }
  return tags.take();
}

std::optional<std::string> next_link(std::string_view header) {
  for (;;) {
    const std::size_t open = header.find('<');
    const std::size_t close = header.find('>', std::min(open, header.size()));
    if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
    const std::string_view url = header.substr(open + 1, close - open - 1);
    header.remove_prefix(close + 1);
    const std::size_t end = std::min(header.find('<'), header.size());
    std::string_view parameters = header.substr(0, end);
    while (!parameters.empty()) {
      const std::size_t stop = std::min(parameters.find_first_of(";,"), parameters.size());
      if (is_next(parameters.substr(0, stop))) return std::string(url);
      parameters.remove_prefix(std::min(stop + 1, parameters.size()));
    }
  }
}

Result<SocialRelay> parse_social_relay(std::string_view body) {
  TRY(const json::object document, json::parse_object(body));
  const json::value* subscribe = json::find(document, "subscribe");
  if (subscribe == nullptr || !subscribe->is_bool()) {
    return fail(ErrorCode::kInvalid, "'subscribe' is neither true nor false");
  }
  SocialRelay wish;
  if (!subscribe->get_bool()) return wish;
  const std::string scope = json::text_of(document, "scope");
  if (scope != "tags") {
    wish.ignored = "scope \"" + scope.substr(0, 20) + "\" is not served, only \"tags\" is";
    return wish;
  }
  Collected tags;
  const json::value* names = json::find(document, "tags");
  if (names == nullptr || !names->is_array()) return fail(ErrorCode::kInvalid, "'tags' is no list");
  for (const json::value& name : names->get_array()) {
    if (name.is_string()) tags.add(name.get_string());
  }
  wish.tags = tags.take();
  return wish;
}

}  // namespace tagring::fediverse
