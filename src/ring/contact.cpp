#include "ring/contact.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "crypto/hash.hpp"
#include "ring/public_suffix.hpp"

namespace tagring::ring {
namespace {

constexpr std::uint16_t kHttpsPort = 443;

crypto::Hash128 hash_with_vserver(std::string input, std::uint8_t vserver) {
  input.push_back(static_cast<char>(vserver));
  return crypto::shake128_128(input);
}

RingId spread_id(const Prefix64& prefix, std::string_view domain, std::uint8_t vserver) {
  std::string input(prefix.begin(), prefix.begin() + 6);  // the /48
  input.push_back(static_cast<char>(vserver));
  return RingId::from_bytes(crypto::sha3_256(input.append(domain)));
}

std::unexpected<Error> refuse(std::string_view field) {
  return fail(ErrorCode::kInvalid, "contact has no valid \"" + std::string(field) + "\"");
}

// An integer of JSON, not a fraction, in [min, max].
Result<std::uint64_t> get_unsigned(const json::object& o, std::string_view field, std::uint64_t min,
                                   std::uint64_t max) {
  const json::value* v = json::find(o, field);
  if (v == nullptr) return refuse(field);
  std::uint64_t number = 0;
  if (v->is_uint64()) {
    number = v->get_uint64();
  } else if (v->is_int64() && v->get_int64() >= 0) {
    number = static_cast<std::uint64_t>(v->get_int64());
  } else {
    return refuse(field);
  }
  if (number < min || number > max) return refuse(field);
  return number;
}

}  // namespace

Result<std::string> registrable_domain(std::string_view host) {
  TRY(const std::string ascii, ascii_host(host));
  return registered_domain(ascii);
}

std::string domain_of(std::string_view host) {
  if (Result<std::string> domain = registrable_domain(host)) return *std::move(domain);
  std::string name = ascii_lower(host);
  if (IpAddress::parse(name)) return name;
  return registered_domain(name).value_or(name);
}

std::string_view name_of(IdScheme scheme) { return scheme == IdScheme::kPaper ? "paper" : "spread"; }

std::optional<IdScheme> id_scheme_from(std::string_view name) {
  for (const IdScheme scheme : {IdScheme::kPaper, IdScheme::kSpread})
    if (name == name_of(scheme)) return scheme;
  return std::nullopt;
}

RingId make_node_id(IdScheme scheme, const Prefix64& prefix, std::string_view domain, std::uint8_t vserver) {
  if (scheme == IdScheme::kSpread) return spread_id(prefix, domain, vserver);
  const crypto::Hash128 subnet_hash = hash_with_vserver(std::string(prefix.begin(), prefix.end()), vserver);
  const crypto::Hash128 domain_hash = hash_with_vserver(std::string(domain), vserver);
  std::array<std::uint8_t, 32> id;
  std::copy_n(subnet_hash.begin(), 8, id.begin());
  std::ranges::copy(domain_hash, id.begin() + 8);
  std::copy_n(subnet_hash.begin() + 8, 8, id.begin() + 24);
  return RingId::from_bytes(id);
}

std::string Contact::origin() const {
  return "https://" + host + (port == kHttpsPort ? "" : ":" + std::to_string(port));
}

json::object to_json(const IdRules& rules) {
  return {{"scheme", name_of(rules.scheme)}, {"kappa", rules.kappa}};
}

Result<void> check_node_id(const IdRules& rules, const Contact& contact) {
  if (contact.vserver >= rules.kappa) {
    return fail(ErrorCode::kInvalid, fmt::format("vserver {} of {}: this network numbers them from 0 to {}",
                                                 contact.vserver, contact.host, rules.kappa - 1));
  }
  TRY(const std::string domain, registrable_domain(contact.host));
  if (make_node_id(rules.scheme, contact.address.prefix64(), domain, contact.vserver) != contact.id) {
    return fail(ErrorCode::kInvalid,
                fmt::format("node ID of {} does not follow from its address, domain and vserver by the "
                            "scheme of this network, \"{}\"",
                            contact.host, name_of(rules.scheme)));
  }
  return {};
}

json::object to_json(const Contact& contact) {
  return {{"id", contact.id.hex()},     {"host", contact.host},
          {"port", contact.port},       {"address", contact.address.text()},
          {"vserver", contact.vserver}, {"incarnation", contact.incarnation}};
}

Result<Contact> contact_from_json(const json::value& v) {
  if (!v.is_object()) return fail(ErrorCode::kInvalid, "contact is not an object");
  const json::object& o = v.get_object();
  const auto id = RingId::from_hex(json::text_of(o, "id"));
  if (!id) return refuse("id");
  const std::string host = json::text_of(o, "host");
  // Only the one spelling, so that equal contacts are equal.
  if (const auto ascii = ascii_host(host); !ascii || *ascii != host) return refuse("host");
  TRY(const std::uint64_t port, get_unsigned(o, "port", 1, std::numeric_limits<std::uint16_t>::max()));
  const std::string address_text = json::text_of(o, "address");
  const auto address = IpAddress::parse(address_text);
  if (!address || address->text() != address_text) return refuse("address");
  TRY(const std::uint64_t vserver, get_unsigned(o, "vserver", 0, std::numeric_limits<std::uint8_t>::max()));
  TRY(const std::uint64_t incarnation,
      get_unsigned(o, "incarnation", 0, std::numeric_limits<std::int64_t>::max()));
  return Contact{.id = *id,
                 .host = host,
                 .port = static_cast<std::uint16_t>(port),
                 .address = *address,
                 .vserver = static_cast<std::uint8_t>(vserver),
                 .incarnation = incarnation};
}

}  // namespace tagring::ring
