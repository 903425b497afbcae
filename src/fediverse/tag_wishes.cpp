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
    wish.ignored = "scope \"" + std::string(cut_utf8(scope, 20)) + "\" is not served, only \"tags\" is";
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
