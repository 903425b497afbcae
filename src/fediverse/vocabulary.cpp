#include "fediverse/vocabulary.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "http/url.hpp"

namespace tagring::fediverse {
namespace {

// Splits at the first `separator` outside quotes; `rest` keeps what follows.
std::string_view take_until(std::string_view& rest, char separator) {
  bool quoted = false;
  std::size_t end = 0;
  while (end < rest.size() && (quoted || rest[end] != separator)) {
    if (rest[end] == '"') quoted = !quoted;
    ++end;
  }
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return trim(part);
}

}  // namespace

bool is_public(std::string_view id) { return id == kPublic || id == "as:Public" || id == "Public"; }

std::vector<std::string> types_of(const json::object& o) {
  std::vector<std::string> types;
  json::for_each(json::find(o, "type"), [&](const json::value& v) {
    if (!v.is_string()) return;
    std::string_view type(v.get_string());
    for (const std::string_view prefix :
         {std::string_view("https://www.w3.org/ns/activitystreams#"), std::string_view("as:")}) {
      if (type.starts_with(prefix)) type.remove_prefix(prefix.size());
    }
    types.emplace_back(type);
  });
  return types;
}

bool has_type(const json::object& o, std::string_view type) {
  const std::vector<std::string> types = types_of(o);
  return std::ranges::find(types, type) != types.end();
}

Result<std::string> parse_id(const json::value* v, std::string_view what) {
  std::string id = v == nullptr ? std::string() : json::id_of(*v);
  if (id.empty()) return fail(ErrorCode::kInvalid, fmt::format("{} is missing", what));
  if (id.size() > kIdSizeMax) return fail(ErrorCode::kTooLarge, fmt::format("{} is too long", what));
  if (is_public(id)) return std::string(kPublic);
  if (!Url::parse(id)) return fail(ErrorCode::kInvalid, fmt::format("{} is not an http(s) URL", what));
  return id;
}

Result<std::vector<std::string>> parse_ids(const json::value* v, std::string_view what,
                                           std::size_t items_max) {
  std::vector<std::string> ids;
  if (v != nullptr && v->is_array()) {
    if (v->get_array().size() > items_max) {
      return fail(ErrorCode::kTooLarge, fmt::format("{} has more than {} items", what, items_max));
    }
    for (const json::value& element : v->get_array()) {
      TRY(std::string id, parse_id(&element, what));
      ids.push_back(std::move(id));
    }
    if (ids.empty()) return fail(ErrorCode::kInvalid, fmt::format("{} is empty", what));
  } else {
    TRY(std::string id, parse_id(v, what));
    ids.push_back(std::move(id));
  }
  return ids;
}

bool is_same_origin(std::string_view a, std::string_view b) {
  const Result<Url> x = Url::parse(a);
  const Result<Url> y = Url::parse(b);
  return x && y && x->origin() == y->origin();
}

bool is_activity_json(std::string_view content_type) {
  std::string_view rest = content_type;
  const std::string_view type = take_until(rest, ';');
  if (ascii_iequals(type, kActivityJson)) return true;
  if (!ascii_iequals(type, "application/ld+json")) return false;
  while (!rest.empty()) {
    std::string_view value = take_until(rest, ';');
    const std::string_view name = take_until(value, '=');
    if (!ascii_iequals(name, "profile")) continue;
    value = trim(value);
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    while (!value.empty()) {  // a list of URIs (RFC 6906)
      if (take_until(value, ' ') == kContext) return true;
    }
  }
  return false;
}

}  // namespace tagring::fediverse
