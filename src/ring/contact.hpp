// Who a vserver is, and how anyone can check it (paper §5.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/ring_id.hpp"
#include "http/ip.hpp"

namespace tagring::ring {

// How node IDs are made.
enum class IdScheme : std::uint8_t {
  kPaper,   // hn of §5.2: the /64 alone decides where on the ring, so a hoster's nodes stand on one point
  kSpread,  // one hash over /48, domain and vserver: nodes of one hoster stand apart, and a /48 is one place
};
std::string_view name_of(IdScheme scheme);  // "paper", "spread"
std::optional<IdScheme> id_scheme_from(std::string_view name);

// Which IDs there are in a network: a parameter of it, like the protocol version. The defaults are what
// docs/evaluation.md recommends.
struct IdRules {
  IdScheme scheme = IdScheme::kSpread;
  unsigned kappa = 48;  // κ of §6.2: vservers of a node on each ring, numbered from 0. At most 256
};

// The domain that counts for an ID: the registrable domain by the public suffix list, in Punycode and lower
// case ("Tags.Example.CO.UK" → "example.co.uk"). kInvalid for addresses, bare public suffixes and invalid
// names.
Result<std::string> registrable_domain(std::string_view host);
// Whose share a host has of what is limited by domain: the same, also of names that no node may have and some
// resolvers look up ("s_1.evil.example"); the host itself if it has none.
std::string domain_of(std::string_view host);

json::object to_json(const IdRules& rules);

// hn(prefix, domain, vserver) of §5.2. `domain` is a registrable domain.
RingId make_node_id(IdScheme scheme, const Prefix64& prefix, std::string_view domain, std::uint8_t vserver);

// One vserver of a node, complete enough to reach it and to check its ID.
struct Contact {
  RingId id;
  std::string host;  // full host name of the node, lower case Punycode: what TLS checks
  std::uint16_t port = 443;
  IpAddress address;  // the node's address whose /64 is in the ID
  std::uint8_t vserver = 0;
  std::uint64_t incarnation = 0;  // grows at each start of the node: a restarted vserver is a new member

  // Same vserver at the same place on the ring, whatever its incarnation.
  friend bool same_vserver(const Contact& a, const Contact& b) { return a.id == b.id; }
  friend bool operator==(const Contact&, const Contact&) = default;

  [[nodiscard]] std::string origin() const;  // "https://host[:port]"
};

// The part of verify_node_id that needs no network: host, address, vserver and ID fit each other. The other
// part is that the contact answers a TLS connection to its host, at an address in that /64, with a valid
// certificate: every call to a peer does that (Peers, ring/messages.hpp).
Result<void> check_node_id(const IdRules& rules, const Contact& contact);

json::object to_json(const Contact& contact);
// kInvalid with the field's name if one is missing or malformed. Does not check the ID.
Result<Contact> contact_from_json(const json::value& v);

}  // namespace tagring::ring
