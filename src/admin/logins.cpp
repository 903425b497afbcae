#include "admin/logins.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "crypto/key.hpp"

namespace tagring::admin {

std::string Logins::open() {
  constexpr std::size_t kOctets = 32;
  std::string secret = to_hex(crypto::random_bytes(kOctets));
  sessions_.push_front({crypto::sha256(secret), clock_.now() + kLifetime});
  if (sessions_.size() > kMax) sessions_.pop_back();
  return secret;
}

// Hashes are compared, so that the time says nothing about how much of a guess is right.
bool Logins::knows(std::string_view secret) const {
  const crypto::Hash256 hash = crypto::sha256(secret);
  const Instant now = clock_.now();
  return std::ranges::any_of(
      sessions_, [&](const Session& session) { return session.hash == hash && session.until > now; });
}

}  // namespace tagring::admin
