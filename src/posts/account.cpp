#include "posts/account.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "fediverse/actor.hpp"
#include "fediverse/json_ld.hpp"
#include "fediverse/vocabulary.hpp"
#include "posts/html.hpp"
#include "posts/ids.hpp"

namespace tagring::posts {
namespace {

constexpr std::size_t kFieldsMax = 16;
constexpr std::size_t kUsernameMax = 200;
// Bytes of HTML: a profile stands beside each of its posts.
constexpr std::size_t kFieldMax = 2048;
constexpr std::size_t kNoteMax = 8192;

json::array fields_of(const json::object& actor) {
  json::array fields;
  json::for_each(json::find(actor, "attachment"), [&](const json::value& v) {
    if (!v.is_object() || fields.size() >= kFieldsMax) return;
    const json::object& field = v.get_object();
    if (!fediverse::has_type(field, "PropertyValue")) return;
    fields.push_back(
        json::object{{"name", text_of_html(json::text_of(field, "name"), kNameMax)},
                     {"value", sanitize_html(json::text_of(field, "value"), {.output_max = kFieldMax})},
                     {"verified_at", nullptr}});
  });
  return fields;
}

std::string last_segment(std::string_view uri) {
  while (uri.ends_with('/')) uri.remove_suffix(1);
  std::string_view name = uri.substr(uri.rfind('/') + 1);
  if (name.starts_with('@')) name.remove_prefix(1);
  return percent_decode(name).value_or("");
}

json::value flag_or_null(const json::object& o, std::string_view key) {
  const json::value* v = json::find(o, key);
  return v != nullptr && v->is_bool() ? json::value(v->get_bool()) : json::value(nullptr);
}

// What a user name may not hold would let somebody pass for an account elsewhere: "alice@bank.example".
bool is_username(std::string_view name) {
  return !name.empty() && name.size() <= kUsernameMax && is_utf8(name) &&
         std::ranges::none_of(name, [](char c) {
           return static_cast<unsigned char>(c) <= 0x20 || c == '@' || c == '/' || c == 0x7f || c == '<';
         });
}

json::object make_account(const json::object& actor, const std::string& uri, const Site& site) {
  std::string username = json::text_of(actor, "preferredUsername");
  if (!is_username(username)) username = last_segment(uri);
  if (!is_username(username)) username = "unknown";
  std::string avatar = url_of(json::find(actor, "icon"));
  if (avatar.empty()) avatar = site.missing_image();
  std::string header = url_of(json::find(actor, "image"));
  if (header.empty()) header = site.missing_header();
  const auto created = from_rfc3339(json::text_of(actor, "published"));
  std::string name = text_of_html(json::text_of(actor, "name"), kNameMax);
  const bool indexable = json::get_flag(actor, "indexable");
  return {
      {"id", stable_id(uri)},
      {"username", username},
      {"acct", username + "@" + authority_of(uri)},
      {"url", page_of(actor, uri)},
      {"uri", uri},
      {"display_name", name},
      {"note", sanitize_html(json::text_of(actor, "summary"), {.output_max = kNoteMax})},
      {"avatar", avatar},
      {"avatar_static", avatar},
      {"avatar_description", ""},
      {"header", header},
      {"header_static", header},
      {"header_description", ""},
      {"locked", json::get_flag(actor, "manuallyApprovesFollowers")},
      {"fields", fields_of(actor)},
      {"emojis", emojis_of(actor)},
      {"bot", fediverse::has_type(actor, "Service") || fediverse::has_type(actor, "Application")},
      {"group", fediverse::has_type(actor, "Group")},
      {"discoverable", flag_or_null(actor, "discoverable")},
      {"indexable", indexable},
      {"noindex", !indexable},
      {"moved", nullptr},
      {"memorial", json::get_flag(actor, "memorial")},
      {"suspended", json::get_flag(actor, "suspended")},
      {"limited", false},
      {"created_at", datetime(created.value_or(WallTime()))},
      {"last_status_at", nullptr},
      {"statuses_count", 0},
      {"followers_count", 0},
      {"following_count", 0},
      {"hide_collections", nullptr},
      {"show_media", true},
      {"show_media_replies", true},
      {"show_featured", false},
      {"roles", json::array()},
      {"feature_approval",
       json::object{{"automatic", json::array()}, {"manual", json::array()}, {"current_user", "denied"}}}};
}

}  // namespace

std::string Site::tag_url(std::string_view canonical) const {
  return origin + "/tags/" + percent_encode(canonical);
}

std::string authority_of(const std::string& uri) {
  const Result<Url> url = Url::parse(uri);
  return url ? url->authority() : std::string();
}

std::int64_t count_of(const json::object& o, std::string_view key) {
  const json::object* collection = json::get_object(o, key);
  if (collection == nullptr) return 0;
  return std::clamp<std::int64_t>(json::get_int(*collection, "totalItems").value_or(0), 0, INT32_MAX);
}

std::string url_of(const json::value* v) {
  std::string found;
  const auto take = [&](const std::optional<std::string>& text) {
    if (found.empty() && text && Url::parse(*text)) found = *text;
  };
  json::for_each(v, [&](const json::value& element) {
    if (element.is_string()) take(std::string(element.get_string()));
    if (!element.is_object()) return;
    const json::object& o = element.get_object();
    take(json::get_string(o, "href"));
    const json::value* url = json::find(o, "url");
    if (url == nullptr) return;
    if (url->is_string()) take(std::string(url->get_string()));
    json::for_each(url, [&](const json::value& inner) {
      if (inner.is_object()) take(json::get_string(inner.get_object(), "href"));
    });
  });
  return found;
}

std::string page_of(const json::object& o, const std::string& id) {
  std::string url = url_of(json::find(o, "url"));
  const std::string host = host_of(url);
  const std::string own = host_of(id);
  return is_same_or_below(host, own) || is_same_or_below(own, host) ? url : id;
}

json::array emojis_of(const json::object& document) {
  json::array emojis;
  json::for_each(json::find(document, "tag"), [&](const json::value& v) {
    if (!v.is_object() || emojis.size() >= kEmojisMax) return;
    const json::object& tag = v.get_object();
    if (!fediverse::has_type(tag, "Emoji")) return;
    std::string name = json::text_of(tag, "name");
    std::erase(name, ':');
    const bool is_plain = !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
             c == '-';
    });
    const std::string url = url_of(json::find(tag, "icon"));
    if (!is_plain || url.empty()) return;
    emojis.push_back(json::object{{"shortcode", name},
                                  {"url", url},
                                  {"static_url", url},
                                  {"visible_in_picker", false},
                                  {"category", nullptr}});
  });
  return emojis;
}

Result<json::object> read_account(std::string_view body, const std::string& uri, const Site& site) {
  TRY(const json::object actor, fediverse::parse_document(body));
  if (json::id_of(actor) != uri) return fail(ErrorCode::kInvalid, "the document is not that actor's");
  if (!fediverse::is_for_everybody(actor))
    return fail(ErrorCode::kDenied, "the author's posts are not for everybody");
  return make_account(actor, uri, site);
}

}  // namespace tagring::posts
