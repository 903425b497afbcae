// Actors of other servers, and their keys.
//
// Who owns a key is settled in two steps, because anybody can publish a key that claims any owner:
// parse_key_document() reads what the key id leads to, and the owner's own document must list that key
// (RemoteActor::lists). Where the key is part of the owner's document, one document serves for both steps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "crypto/key.hpp"
#include "fediverse/consent.hpp"

namespace tagring::fediverse {

// Given as PEM (the `publicKey` of everybody) or as multibase (the `assertionMethod` of FEP-521a); the other
// is empty. Neither has been looked into: see read_key.
struct KeyDocument {
  std::string id;
  std::string owner;  // actor id
  std::string pem;
  std::string multibase = {};
};

struct RemoteActor {
  std::string id;
  std::string type;  // Person, Service, Application, Group or Organization
  std::string inbox;
  std::string shared_inbox;          // empty if there is none on the actor's server
  std::string followers;             // empty if there is none on the actor's server
  std::string preferred_username;    // may be empty
  bool refuses = false;              // to be found, by a word in its profile (consent.hpp)
  bool is_node = false;              // a node of a hashtag network: it says so in its document
  std::optional<bool> indexable;     // FEP-5feb: absent means no
  bool suspended = false;            // by the moderators of its server (Mastodon)
  bool hides_from_web = false;       // posts are not for who is not logged in (GoToSocial, Misskey)
  std::vector<KeyDocument> keys;     // given whole
  std::vector<std::string> key_ids;  // given by their ids, in documents of their own
  Instant fetched = {};              // for who fetches it to note

  // True if this actor says that the key is its own.
  [[nodiscard]] bool lists(const KeyDocument& key) const;
  // Where deliveries go.
  [[nodiscard]] const std::string& delivery_inbox() const {
    return shared_inbox.empty() ? inbox : shared_inbox;
  }
};

// No to everything if a word in the profile says so, wherever people put such: the name, the summary in each
// language, the fields, names and values, and the hashtags. To be archived an author says `indexable`; absent
// means no. Nor to anything if the account is suspended, and no to the archive if its posts are hidden from
// the web. Only posts addressed to the public are ever asked about; see Visibility.
Wishes wishes_of(const RemoteActor& actor);

// Posts of that actor (its document) may be shown to anybody: it has none of these words, is not suspended,
// and does not hide its posts, or the old ones, from who is not logged in (GoToSocial, Misskey). A node
// fetches with its own signature, so it could read for others what they could not.
bool is_for_everybody(const json::object& actor);

// Slower than verifying a signature with the key.
Result<crypto::PublicKey> read_key(const KeyDocument& key);

// `url` is where the document came from, and must be its id. kInvalid also if the inbox or a key is on
// another server, or a key names another owner.
Result<RemoteActor> parse_actor(std::string_view body, std::string_view url);
// The same of an actor inside an activity that its own server signed.
Result<RemoteActor> parse_actor(const json::object& o, std::string_view url);

// The key `key_id` in the document that it leads to: a key by itself, or an actor (GoToSocial: part of one)
// with that key in it. A publicKey comes before a Multikey of the same id. Where `key_id` is the actor's own
// id, its only publicKey, under a name of its own.
Result<KeyDocument> parse_key_document(std::string_view body, std::string_view key_id);

}  // namespace tagring::fediverse
