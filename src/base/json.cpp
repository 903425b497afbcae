#include "base/json.hpp"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "base/bytes.hpp"

namespace tagring::json {
namespace {

constexpr std::size_t kMembersMax = 1'000;   // of one object
constexpr std::size_t kValuesMax = 250'000;  // of one text
// Pairs of members of the same object, all objects together: what tables cost where all keys collide, which
// whoever writes the text can bring about.
constexpr std::size_t kPairsMax = 5'000'000;

// The position behind a string that begins before `at`.
std::size_t skip_string(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return std::min(at, text.size()) + 1;
}

// Reads no more of the grammar than where strings end. Up to the first error in the text it sees what the
// parser sees, and behind that the parser builds nothing.
Result<void> count(std::string_view text) {
  std::array<std::size_t, kDepthMax + 1> members{};  // of the object at each level
  std::size_t depth = 0;
  std::size_t values = 1;
  std::size_t pairs = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at++];
    if (c == '"') {
      at = skip_string(text, at);
    } else if (c == '{' || c == '[') {
      if (++depth > kDepthMax) return fail(ErrorCode::kInvalid, "body is not JSON: too many levels");
      members[depth] = 0;
      ++values;
    } else if (c == '}' || c == ']') {
      depth -= depth > 0 ? 1 : 0;
    } else if (c == ',') {
      ++values;
    } else if (c == ':') {
      pairs += members[depth]++;
    }
    if (members[depth] > kMembersMax)
      return fail(ErrorCode::kTooLarge, fmt::format("a JSON object has more than {} members", kMembersMax));
    if (values > kValuesMax || pairs > kPairsMax)
      return fail(ErrorCode::kTooLarge, "body has too many JSON values");
  }
  return {};
}

}  // namespace

Result<value> parse(std::string_view text) {
  // "MAY ignore the presence of a byte order mark" (RFC 8259, 8.1).
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (!is_utf8(text)) return fail(ErrorCode::kInvalid, "body is not UTF-8");
  TRY_VOID(count(text));
  boost::json::parse_options options;
  options.max_depth = kDepthMax;
  boost::json::error_code error;
  value result = boost::json::parse(text, error, {}, options);
  if (error) return fail(ErrorCode::kInvalid, "body is not JSON: " + error.message());
  return result;
}

Result<object> parse_object(std::string_view text) {
  TRY(value result, parse(text));
  if (!result.is_object()) return fail(ErrorCode::kInvalid, "body is not a JSON object");
  return std::move(result.get_object());
}

std::string serialize(const value& v) { return boost::json::serialize(v); }

const value* find(const object& o, std::string_view key) { return o.if_contains(key); }

std::optional<std::string> get_string(const object& o, std::string_view key) {
  const value* v = o.if_contains(key);
  if (v == nullptr || !v->is_string()) return std::nullopt;
  return std::string(v->get_string());
}

std::string text_of(const object& o, std::string_view key) { return get_string(o, key).value_or(""); }

std::optional<std::int64_t> get_int(const object& o, std::string_view key) {
  const value* v = o.if_contains(key);
  if (v == nullptr) return std::nullopt;
  if (v->is_int64()) return v->get_int64();
  if (v->is_uint64() && v->get_uint64() <= INT64_MAX) return static_cast<std::int64_t>(v->get_uint64());
  return std::nullopt;
}

bool get_flag(const object& o, std::string_view key) {
  const value* v = find(o, key);
  return v != nullptr && v->is_bool() && v->get_bool();
}

const object* get_object(const object& o, std::string_view key) {
  const value* v = o.if_contains(key);
  return v != nullptr && v->is_object() ? &v->get_object() : nullptr;
}

std::string id_of(const value& v) {
  if (v.is_string()) return std::string(v.get_string());
  if (v.is_object()) return get_string(v.get_object(), "id").value_or("");
  return {};
}

std::string id_of(const object& o, std::string_view key) {
  const value* v = o.if_contains(key);
  return v == nullptr ? std::string() : id_of(*v);
}

}  // namespace tagring::json
