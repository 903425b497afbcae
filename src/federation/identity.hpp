// Who this node is: the URLs of its actors, the key that all of them sign with, and by what other names it
// goes.
#pragma once

#include <fmt/format.h>
#include <string>

#include "base/bytes.hpp"
#include "crypto/hash.hpp"
#include "crypto/key.hpp"
#include "fediverse/documents.hpp"
#include "http/url.hpp"

namespace tagring::federation {

struct Identity : fediverse::NodeUrls {
  Identity(std::string node_origin, crypto::PrivateKey node_key, std::string node_contact = {},
           std::string former_origin = {})
      : NodeUrls(std::move(node_origin)),
        key(std::move(node_key)),
        contact(std::move(node_contact)),
        moved_from(std::move(former_origin)) {}

  [[nodiscard]] std::string key_id() const { return fediverse::key_id_of(actor()); }
  // Of an activity that can be fetched, or is sent to nodes only: the same `kind` and `about`, the same id,
  // so that a repetition is known as such.
  [[nodiscard]] std::string activity_id(std::string_view kind, std::string_view about) const {
    return fmt::format("{}/{}/{}", origin(), kind, to_hex(crypto::sha256(about)).substr(0, 32));
  }
  // Of one that is said once and kept nowhere: below `actor`, as Mastodon does it, so that whoever fetches it
  // is shown the actor (ActivityPub, 3.1).
  [[nodiscard]] static std::string passing_id(std::string_view actor, std::string_view kind,
                                              std::string_view about) {
    return fmt::format("{}#{}/{}", actor, kind, to_hex(crypto::sha256(about)).substr(0, 32));
  }

  crypto::PrivateKey key;
  std::string contact;     // an e-mail address of who runs it, for everybody; may be empty
  std::string moved_from;  // the origin that it had before, as another node; may be empty
  std::string moved_to;    // the origin that it has from now on, likewise (instances/moving.hpp)
};

}  // namespace tagring::federation
