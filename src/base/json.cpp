#include "base/json.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/bytes.hpp"

namespace tagring::json {

Result<value> parse(std::string_view text) {
  if (!is_utf8(text)) return fail(ErrorCode::kInvalid, "body is not UTF-8");
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

std::optional<std::int64_t> get_int(const object& o, std::string_view key) {
  const value* v = o.if_contains(key);
  if (v == nullptr) return std::nullopt;
  if (v->is_int64()) return v->get_int64();
  if (v->is_uint64() && v->get_uint64() <= INT64_MAX) return static_cast<std::int64_t>(v->get_uint64());
  return std::nullopt;
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
