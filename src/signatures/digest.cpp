#include "signatures/digest.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "crypto/hash.hpp"
#include "signatures/signature_rules.hpp"
#include "signatures/structured_fields.hpp"

namespace tagring::signatures {
namespace {

template <class Hash>
std::string_view bytes_of(const Hash& hash) {
  return std::string_view(reinterpret_cast<const char*>(hash.data()), hash.size());
}

}  // namespace

std::string make_digest(std::string_view body) {
  return "SHA-256=" + to_base64(bytes_of(crypto::sha256(body)));
}

std::string make_content_digest(std::string_view body) {
  return "sha-256=:" + to_base64(bytes_of(crypto::sha256(body))) + ":";
}

Result<void> check_digest(std::string_view header, std::string_view body) {
  const std::string expected = to_base64(bytes_of(crypto::sha256(body)));
  bool found = false;
  for (std::string_view rest = header; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view entry = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) return refuse("Digest is not a list of algorithm=value");
    if (!ascii_iequals(entry.substr(0, equals), "sha-256")) continue;
    const std::optional<std::string> value = from_base64(entry.substr(equals + 1));
    if (!value || value->size() != 32) return refuse("Digest has no base64 of 32 bytes for SHA-256");
    if (entry.substr(equals + 1) != expected) return refuse("Digest does not fit the body");
    found = true;
  }
  if (!found) return refuse("Digest has no SHA-256");
  return {};
}

Result<void> check_content_digest(std::string_view header, std::string_view body) {
  const Result<sf::Dictionary> dictionary = sf::parse_dictionary(header);
  if (!dictionary) return refuse("Content-Digest is no dictionary (RFC 8941): " + dictionary.error().message);
  bool found = false;
  for (const sf::Member& member : *dictionary) {
    const bool sha256 = member.key == "sha-256";
    if (!sha256 && member.key != "sha-512") continue;
    const std::string* value = sf::bytes_of(member);
    if (value == nullptr) return refuse("Content-Digest has a value that is no byte sequence");
    const bool fits =
        sha256 ? *value == bytes_of(crypto::sha256(body)) : *value == bytes_of(crypto::sha512(body));
    if (!fits) return refuse("Content-Digest does not fit the body");
    found = true;
  }
  if (!found) return refuse("Content-Digest has neither sha-256 nor sha-512");
  return {};
}

}  // namespace tagring::signatures
