// Host names have one spelling and one registered domain, on which all nodes agree. Text: address, newline,
// host.
#include "fuzz/target.hpp"
#include "http/url.hpp"
#include "ring/contact.hpp"
#include "ring/public_suffix.hpp"

namespace tagring::fuzzing {
namespace {

void check_contact(const std::string& host, const IpAddress& address, const std::string& domain) {
  ring::Contact contact;
  contact.host = host;
  contact.address = address;
  contact.vserver = static_cast<std::uint8_t>(host.size());
  const ring::IdRules rules{.scheme = host.size() % 2 == 0 ? ring::IdScheme::kSpread : ring::IdScheme::kPaper,
                            .kappa = 256};
  contact.id = ring::make_node_id(rules.scheme, address.prefix64(), domain, contact.vserver);
  TR_ASSERT(ring::check_node_id(rules, contact));
  const Result<ring::Contact> read = ring::contact_from_json(ring::to_json(contact));
  TR_ASSERT(read);
  TR_ASSERT(*read == contact);
  ++contact.vserver;
  TR_ASSERT(!ring::check_node_id(rules, contact));
}

}  // namespace

void fuzz(std::string_view text) {
  const std::optional<IpAddress> address = IpAddress::parse(take_until(text, '\n'));
  const Result<std::string> host = ring::ascii_host(text);
  if (!host) return;
  TR_ASSERT(host->size() <= 253);
  const Result<std::string> again = ring::ascii_host(*host);
  TR_ASSERT(again);
  TR_ASSERT(*again == *host);
  const Result<Url> url = Url::parse("https://" + *host);
  TR_ASSERT(!url || url->host == *host);
  const Result<std::string> domain = ring::registered_domain(*host);
  if (!domain) return;
  TR_ASSERT(is_same_or_below(*host, *domain));
  TR_ASSERT(*ring::registrable_domain(*domain) == *domain);
  TR_ASSERT(*ring::registrable_domain("www." + *domain) == *domain || domain->size() > 249);
  check_contact(*host, address.value_or(IpAddress{}), *domain);
}

}  // namespace tagring::fuzzing
