// A configuration that is accepted is one that a node can run with.
#include "config/config.hpp"

#include <bit>

#include "fuzz/target.hpp"
#include "http/url.hpp"
#include "ring/contact.hpp"

namespace tagring::fuzzing {

void fuzz(std::string_view text) {
  const Result<config::Config> config = config::Config::parse(text, "/etc/tagring");
  if (!config) {
    TR_ASSERT(!config.error().message.empty());
    return;
  }
  TR_ASSERT(config->port > 0 && config->listen_port > 0);
  TR_ASSERT(config->vservers >= 1 && config->vservers <= 64);
  TR_ASSERT(std::has_single_bit(config->relay_replicas) && config->relay_replicas <= 16);
  TR_ASSERT(std::has_single_bit(config->storage_replicas) && config->storage_replicas <= 16);
  TR_ASSERT(config->create || !config->bootstrap.empty() || !config->bootstrap_srv.empty());
  for (const std::string& origin : config->bootstrap) TR_ASSERT(Url::parse(origin));
  TR_ASSERT(!config->instances.empty());
  TR_ASSERT(config->port == 443 || config->allow_private_addresses);
  TR_ASSERT(config->data.is_absolute());
  // Behind a proxy, which has the certificate, a node needs none.
  TR_ASSERT(config->certificate.empty() == config->key.empty());
  TR_ASSERT(config->is_plain() ? !config->listen_socket.empty() || !config->trusted_proxies.empty()
                               : config->certificate.is_absolute() && config->key.is_absolute());

  // Others can reach the node at its origin, and take its contacts.
  const Result<Url> origin = Url::parse(config->origin());
  TR_ASSERT(origin);
  TR_ASSERT(origin->origin() == config->origin());
  ring::Contact contact;
  contact.host = config->host;
  contact.port = config->port;
  contact.address = config->address;
  contact.id = ring::make_node_id(config->ids.scheme, config->address.prefix64(),
                                  *ring::registrable_domain(config->host), 0);
  const Result<ring::Contact> read = ring::contact_from_json(ring::to_json(contact));
  TR_ASSERT(read);
  TR_ASSERT(ring::check_node_id(config->ids, *read));
}

}  // namespace tagring::fuzzing
