// Who this node is: the URLs of its actors, and the key that all of them sign with.
#pragma once

#include <string>

#include "base/url.hpp"
#include "crypto/key.hpp"
#include "fediverse/documents.hpp"

namespace tagring::node {

struct Identity : fediverse::NodeUrls {
  Identity(std::string node_origin, crypto::PrivateKey node_key)
      : NodeUrls(std::move(node_origin)), key(std::move(node_key)) {}

  [[nodiscard]] std::string key_id() const { return fediverse::key_id_of(actor()); }

  crypto::PrivateKey key;
};

// The origin in front of an actor id or any other URL of a host; empty if it is no URL.
inline std::string origin_of(std::string_view url) {
  const Result<Url> parsed = Url::parse(url);
  return parsed ? parsed->origin() : std::string();
}

}  // namespace tagring::node
