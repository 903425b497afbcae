#include "fediverse/actor.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/json.hpp"
#include "fediverse/documents.hpp"
#include "fediverse/json_ld.hpp"
#include "fediverse/vocabulary.hpp"
#include "http/url.hpp"

namespace tagring::fediverse {
namespace {

constexpr std::array<std::string_view, 5> kActorTypes = {"Person", "Service", "Application", "Group",
                                                         "Organization"};
constexpr std::size_t kKeysMax = 10;
constexpr std::size_t kUsernameSizeMax = 255;

bool is_same_url(std::string_view a, std::string_view b) {
  const Result<Url> x = Url::parse(a);
  const Result<Url> y = Url::parse(b);
  return x && y && *x == *y;
}

std::optional<bool> get_bool(const json::object& o, std::string_view key) {
  const json::value* v = json::find(o, key);
  if (v == nullptr || !v->is_bool()) return std::nullopt;
  return v->get_bool();
}

// An id that only helps: empty if it is missing, broken or on another server.
std::string optional_id(const json::object& o, std::string_view key, std::string_view actor) {
  const Result<std::string> id = parse_id(json::find(o, key), key);
  return id && is_same_origin(*id, actor) ? *id : std::string();
}

// Where a key stands in an actor, of the two ways in use, and what is read of it.
struct KeySyntax {
  std::string_view property;  // of the actor
  std::string_view owner;
  std::string_view material;
  std::string KeyDocument::* field;  // where the material goes
  std::size_t size_max;
  bool strict;  // one that is not in order spoils the actor
};
constexpr KeySyntax kPublicKey = {"publicKey", "owner", "publicKeyPem", &KeyDocument::pem, 8192, true};
constexpr KeySyntax kMultikey = {"assertionMethod",       "controller", "publicKeyMultibase",
                                 &KeyDocument::multibase, 2048,         false};

// `owner` stands in where the key does not say whose it is.
Result<KeyDocument> parse_key(const json::object& o, std::string_view owner, const KeySyntax& syntax) {
  KeyDocument key;
  TRY(key.id, parse_id(json::find(o, "id"), "id of a public key"));
  key.owner = json::id_of(o, syntax.owner);
  if (key.owner.empty()) key.owner = owner;
  if (key.owner.empty()) return fail(ErrorCode::kInvalid, "public key names no owner");
  if (!is_same_origin(key.id, key.owner)) {
    return fail(ErrorCode::kInvalid, "public key is on another server than its owner");
  }
  std::string material = json::text_of(o, syntax.material);
  if (material.empty() || material.size() > syntax.size_max) {
    return fail(ErrorCode::kInvalid, fmt::format("public key has no {} of ordinary size", syntax.material));
  }
  key.*syntax.field = std::move(material);
  return key;
}

Result<void> parse_keys(const json::object& o, const KeySyntax& syntax, RemoteActor& actor) {
  std::optional<Error> error;
  json::for_each(json::find(o, syntax.property), [&](const json::value& v) {
    if (error || actor.keys.size() + actor.key_ids.size() >= kKeysMax) return;
    if (v.is_object()) {
      Result<KeyDocument> key = parse_key(v.get_object(), actor.id, syntax);
      if (key && key->owner != actor.id)
        key = fail(ErrorCode::kInvalid, "public key belongs to another actor");
      if (key) {
        actor.keys.push_back(*std::move(key));
      } else if (syntax.strict) {
        error = key.error();
      }
    } else if (is_same_origin(json::id_of(v), actor.id)) {
      actor.key_ids.push_back(json::id_of(v));
    }
  });
  if (error) return std::unexpected(*std::move(error));
  return {};
}

// Where people put wishes such as #nobot, joined. HTML, and as long as they like.
std::string words_of(const json::object& actor) {
  std::string words;
  const auto add = [&](std::string_view text) { words.append(text).push_back('\n'); };
  for (const std::string_view key : {"name", "summary"}) add(json::text_of(actor, key));
  for (const std::string_view key : {"nameMap", "summaryMap"}) {
    const json::object* by_language = json::get_object(actor, key);
    if (by_language == nullptr) continue;
    for (const auto& [language, text] : *by_language)
      if (text.is_string()) add(text.get_string());
  }
  json::for_each(json::find(actor, "attachment"), [&](const json::value& v) {
    if (!v.is_object()) return;
    for (const std::string_view key : {"name", "value"}) add(json::text_of(v.get_object(), key));
  });
  json::for_each(json::find(actor, "tag"), [&](const json::value& v) {
    if (!v.is_object() || !has_type(v.get_object(), "Hashtag")) return;
    const std::string name = json::text_of(v.get_object(), "name");
    add(name.starts_with('#') ? name : "#" + name);
  });
  return words;
}

// GoToSocial and Misskey have a flag for it. Misskey also hides posts before a time, or from some age on, or
// leaves them to followers: all of an account is taken so, since a history is of what gets old.
bool hides_from_web(const json::object& actor) {
  const auto has_number = [&](std::string_view key) {
    const json::value* v = json::find(actor, key);
    return v != nullptr && v->is_number();
  };
  return json::get_flag(actor, "hidesToPublicFromUnauthedWeb") ||
         json::get_flag(actor, "_misskey_requireSigninToViewContents") ||
         has_number("_misskey_makeNotesFollowersOnlyBefore") || has_number("_misskey_makeNotesHiddenBefore");
}

}  // namespace

Wishes wishes_of(const RemoteActor& actor) {
  const bool no = actor.suspended || actor.refuses;
  return {.relay = !no, .archive = !no && !actor.hides_from_web && actor.indexable.value_or(false)};
}

bool is_for_everybody(const json::object& actor) {
  return !json::get_flag(actor, "suspended") && !hides_from_web(actor) && !refuses(words_of(actor));
}

bool RemoteActor::lists(const KeyDocument& key) const {
  if (key.owner != id) return false;
  return std::ranges::find(key_ids, key.id) != key_ids.end() ||
         std::ranges::any_of(keys, [&](const KeyDocument& k) {
           return k.id == key.id && k.pem == key.pem && k.multibase == key.multibase;
         });
}

Result<RemoteActor> parse_actor(std::string_view body, std::string_view url) {
  TRY(const json::object o, parse_document(body));
  return parse_actor(o, url);
}

Result<RemoteActor> parse_actor(const json::object& o, std::string_view url) {
  RemoteActor actor;
  TRY(actor.id, parse_id(json::find(o, "id"), "id"));
  if (!is_same_url(actor.id, url)) return fail(ErrorCode::kInvalid, "id is not where the document came from");
  for (const std::string_view type : kActorTypes) {
    if (actor.type.empty() && has_type(o, type)) actor.type = type;
  }
  if (actor.type.empty()) return fail(ErrorCode::kInvalid, "type is not that of an actor");
  TRY(actor.inbox, parse_id(json::find(o, "inbox"), "inbox"));
  // Else anyone could have this node send its deliveries to a stranger.
  if (!is_same_origin(actor.inbox, actor.id)) return fail(ErrorCode::kInvalid, "inbox is on another server");
  if (const json::object* endpoints = json::get_object(o, "endpoints")) {
    actor.shared_inbox = optional_id(*endpoints, "sharedInbox", actor.id);
  }
  actor.followers = optional_id(o, "followers", actor.id);
  actor.preferred_username = json::text_of(o, "preferredUsername");
  if (actor.preferred_username.size() > kUsernameSizeMax) actor.preferred_username.clear();
  actor.refuses = refuses(words_of(o));
  actor.is_node = json::get_int(o, kNodeMark) == 1;
  actor.indexable = get_bool(o, "indexable");
  actor.suspended = get_bool(o, "suspended").value_or(false);
  actor.hides_from_web = hides_from_web(o);
  TRY_VOID(parse_keys(o, kPublicKey, actor));
  TRY_VOID(parse_keys(o, kMultikey, actor));
  return actor;
}

Result<KeyDocument> parse_key_document(std::string_view body, std::string_view key_id) {
  TRY(const json::object o, parse_document(body));
  const std::string id = json::id_of(o);
  for (const KeySyntax* syntax : {&kPublicKey, &kMultikey}) {
    if (id == key_id && json::find(o, syntax->material) != nullptr) return parse_key(o, "", *syntax);
    const json::object* found = nullptr;
    json::for_each(json::find(o, syntax->property), [&](const json::value& v) {
      if (found == nullptr && v.is_object() && json::id_of(v) == key_id) found = &v.get_object();
    });
    if (found != nullptr) return parse_key(*found, id, *syntax);
  }
  if (id != key_id) return fail(ErrorCode::kNotFound, "the document has no such public key");
  // PeerTube before 7.1, and bots, name the actor instead of its key.
  std::vector<const json::object*> keys;
  json::for_each(json::find(o, kPublicKey.property), [&](const json::value& v) {
    if (v.is_object()) keys.push_back(&v.get_object());
  });
  if (keys.size() != 1 || !is_same_origin(json::id_of(*keys.front()), id))
    return fail(ErrorCode::kNotFound, "the document has no such public key, nor only one");
  return parse_key(*keys.front(), id, kPublicKey);
}

Result<crypto::PublicKey> read_key(const KeyDocument& key) {
  return key.multibase.empty() ? crypto::PublicKey::from_pem(key.pem)
                               : crypto::PublicKey::from_multibase(key.multibase);
}

}  // namespace tagring::fediverse
