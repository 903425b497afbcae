// JSON from strangers: bounded parsing, and getters that answer "absent" for anything of the wrong shape.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tagring::json {

using boost::json::array;
using boost::json::object;
using boost::json::value;

inline constexpr std::size_t kDepthMax = 32;

// kInvalid for anything but one well-formed UTF-8 JSON text with at most kDepthMax levels. The caller bounds
// the size.
Result<value> parse(std::string_view text);
// The same, and the text must hold an object.
Result<object> parse_object(std::string_view text);

std::string serialize(const value& v);

// The member if it is there and of that type.
const value* find(const object& o, std::string_view key);
std::optional<std::string> get_string(const object& o, std::string_view key);
// Empty where it is none: for texts of which that says the same.
std::string text_of(const object& o, std::string_view key);
std::optional<std::int64_t> get_int(const object& o, std::string_view key);
// It is there and true.
bool get_flag(const object& o, std::string_view key);
const object* get_object(const object& o, std::string_view key);
// ActivityStreams: a property may be one value or a list of them. Visits each (none if absent).
template <class F>
void for_each(const value* v, F visit) {
  if (v == nullptr || v->is_null()) return;
  if (v->is_array()) {
    for (const value& element : v->get_array()) visit(element);
  } else {
    visit(*v);
  }
}
// ActivityStreams: an object may be given whole or by its id. The id either way, or empty.
std::string id_of(const value& v);
std::string id_of(const object& o, std::string_view key);

}  // namespace tagring::json
