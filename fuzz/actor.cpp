// Actors, and key documents. Whoever controls one server gets no key, inbox or follower list on another.
#include "fediverse/actor.hpp"

#include "base/json.hpp"
#include "fuzz/checks.hpp"
#include "fuzz/target.hpp"
#include "http/url.hpp"

namespace tagring::fuzzing {
namespace {

void check_actor(std::string_view text, const std::string& url) {
  const Result<fediverse::RemoteActor> actor = fediverse::parse_actor(text, url);
  if (!actor) return;
  check_id(actor->id);
  TR_ASSERT(*Url::parse(actor->id) == *Url::parse(url));
  TR_ASSERT(fediverse::is_same_origin(actor->delivery_inbox(), actor->id));
  TR_ASSERT(actor->followers.empty() || fediverse::is_same_origin(actor->followers, actor->id));
  TR_ASSERT(actor->keys.size() + actor->key_ids.size() <= 10);
  for (const fediverse::KeyDocument& key : actor->keys) {
    TR_ASSERT(key.owner == actor->id);
    TR_ASSERT(fediverse::is_same_origin(key.id, actor->id));
    TR_ASSERT(actor->lists(key));
    // Asked for that key, the same document has one of that id and owner.
    const Result<fediverse::KeyDocument> found = fediverse::parse_key_document(text, key.id);
    TR_ASSERT(!found || (found->id == key.id && fediverse::is_same_origin(found->owner, key.id)));
  }
  for (const std::string& id : actor->key_ids) TR_ASSERT(fediverse::is_same_origin(id, actor->id));
}

void check_key(std::string_view text, const std::string& id) {
  const Result<fediverse::KeyDocument> key = fediverse::parse_key_document(text, id);
  if (!key) return;
  check_id(key->id);
  // Whoever names the actor means its only key.
  TR_ASSERT(key->id == id || key->id == fediverse::kPublic || fediverse::is_same_origin(key->id, id));
  TR_ASSERT(fediverse::is_same_origin(key->id, key->owner));
  TR_ASSERT(key->pem.empty() != key->multibase.empty());
  TR_ASSERT(key->pem.size() <= 8192 && key->multibase.size() <= 2048);
}

}  // namespace

void fuzz(std::string_view text) {
  const Result<json::object> object = json::parse_object(text);
  check_actor(text, object ? json::id_of(*object, "id") : "https://example.net/actor");
  if (!object) return;
  check_key(text, json::id_of(*object));
  for (const char* property : {"publicKey", "assertionMethod"}) {
    json::for_each(json::find(*object, property),
                   [&](const json::value& key) { check_key(text, json::id_of(key)); });
  }
}

}  // namespace tagring::fuzzing
