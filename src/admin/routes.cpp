#include "admin/routes.hpp"

#include <charconv>
#include <fmt/format.h>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "http/url.hpp"

namespace tagring::admin {
namespace {

constexpr std::size_t kTagsMax = 200'000;

}  // namespace

void Routes::add(std::string method, std::string path, Route route) {
  const bool is_new =
      routes_.try_emplace(std::pair(std::move(method), std::move(path)), std::move(route)).second;
  TR_ASSERT(is_new);
}

const Routes::Route* Routes::find(const std::string& method, const std::string& path) const {
  const auto found = routes_.find({method, path});
  return found == routes_.end() ? nullptr : &found->second;
}

Task<Reply> replied(Reply reply) { co_return reply; }

std::uint64_t number_at(const json::value& item, std::string_view key) {
  return item.get_object().at(key).to_number<std::uint64_t>();
}

std::uint64_t number_in(std::string_view query, std::string_view name, std::uint64_t otherwise) {
  const std::string text = query_value(query, name);
  std::uint64_t value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string text_in(const json::object& body, std::string_view key) { return json::text_of(body, key); }

namespace {

constexpr std::size_t kShownMax = 100;  // bytes of what somebody typed

// Tag::parse passes over what cannot stand in a hashtag, as it must with what other servers write. Here
// somebody who types two words means something else.
Result<Tag> parse_typed(std::string_view text) {
  if (text.find_first_of(" \t\r\n") != std::string_view::npos)
    return fail(ErrorCode::kInvalid, fmt::format("'{}' has a space in it: a hashtag is one word", text));
  Result<Tag> tag = Tag::parse(text);
  if (tag) return tag;
  std::string_view because = tag.error().message;
  if (constexpr std::string_view kSubject = "hashtag "; because.starts_with(kSubject))
    because.remove_prefix(kSubject.size());
  return fail(ErrorCode::kInvalid,
              fmt::format("'{}' is no hashtag: it {}", cut_utf8(text, kShownMax), because));
}

}  // namespace

Result<Tag> tag_in(const json::object& body) { return parse_typed(text_in(body, "tag")); }

Result<Tag> tag_in(std::string_view query) { return parse_typed(query_value(query, "tag")); }

Result<std::vector<Tag>> tags_in(const json::object& body) {
  std::vector<Tag> tags;
  Result<void> readable;
  json::for_each(json::find(body, "tags"), [&](const json::value& element) {
    if (!readable) return;
    const Result<Tag> tag =
        parse_typed(element.is_string() ? std::string_view(element.get_string()) : std::string_view());
    if (!tag) {
      readable = std::unexpected(tag.error());
    } else {
      tags.push_back(*tag);
    }
  });
  if (!readable) return std::unexpected(readable.error());
  if (tags.empty() || tags.size() > kTagsMax)
    return fail(ErrorCode::kInvalid, "'tags' must name 1 to 200000 hashtags");
  return tags;
}

}  // namespace tagring::admin
