#include "admin/routes.hpp"

#include <charconv>
#include <fmt/format.h>
#include <set>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "hashtag/typed.hpp"
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

Result<std::uint64_t> number_in(std::string_view query, std::string_view name, std::uint64_t otherwise) {
  const std::string text = query_value(query, name);
  if (text.empty()) return otherwise;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return fail(ErrorCode::kInvalid, fmt::format("'{}' must be a number, from 0 to 2^64 - 1", name));
  return value;
}

std::string text_in(const json::object& body, std::string_view key) { return json::text_of(body, key); }

Result<Tag> tag_in(const json::object& body) { return parse_typed_tag(text_in(body, "tag")); }

Result<Tag> tag_in(std::string_view query) { return parse_typed_tag(query_value(query, "tag")); }

Result<std::vector<Tag>> tags_in(const json::object& body) {
  std::vector<Tag> tags;
  std::set<Tag> known;
  Result<void> readable;
  json::for_each(json::find(body, "tags"), [&](const json::value& element) {
    if (!readable) return;
    const Result<Tag> tag =
        parse_typed_tag(element.is_string() ? std::string_view(element.get_string()) : std::string_view());
    if (!tag) {
      readable = std::unexpected(tag.error());
    } else if (known.insert(*tag).second) {
      tags.push_back(*tag);
    }
  });
  if (!readable) return std::unexpected(readable.error());
  if (tags.empty() || tags.size() > kTagsMax)
    return fail(ErrorCode::kInvalid, "'tags' must name 1 to 200000 hashtags");
  return tags;
}

}  // namespace tagring::admin
