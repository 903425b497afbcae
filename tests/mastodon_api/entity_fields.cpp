#include "mastodon_api/entity_fields.hpp"

#include <fmt/format.h>

#include "base/time.hpp"
#include "http/url.hpp"

namespace tagring::mastodon_api {
namespace {

const json::value* at_path(const json::object& o, std::string_view path) {
  const json::object* here = &o;
  for (;;) {
    const std::size_t dot = path.find('.');
    const json::value* v = json::find(*here, path.substr(0, dot));
    if (v == nullptr || dot == std::string_view::npos) return v;
    if (!v->is_object()) return nullptr;
    here = &v->get_object();
    path.remove_prefix(dot + 1);
  }
}

bool fits(const json::value& v, std::string_view type) {
  if (v.is_null()) return type.ends_with('?');
  switch (type.front()) {
    case 's':
      return v.is_string();
    case 'b':
      return v.is_bool();
    case 'i':
      return v.is_int64() || v.is_uint64();
    case 'o':
      return v.is_object();
    case 'a':
      return v.is_array();
    case 'd':
      return v.is_string() && from_rfc3339(v.get_string()) && v.get_string().size() == 24;
    case 'u':
      return v.is_string() && Url::parse(v.get_string());
    default:
      return false;
  }
}

}  // namespace

std::string wrong_fields(std::string_view entity, const json::object& o) {
  std::string wrong;
  for (const Field& field : kFields) {
    if (field.entity != entity) continue;
    const json::value* v = at_path(o, field.name);
    if (v == nullptr) {
      wrong += fmt::format("{}.{} is missing\n", entity, field.name);
    } else if (!fits(*v, field.type)) {
      wrong += fmt::format("{}.{} is {}, not {}\n", entity, field.name, json::serialize(*v), field.type);
    }
  }
  return wrong;
}

}  // namespace tagring::mastodon_api
