#include "administrators/logins.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "crypto/key.hpp"

namespace tagring::administrators {

std::string Logins::open(Administrator who) {
  constexpr std::size_t kBytes = 32;
  std::string secret = to_hex(crypto::random_bytes(kBytes));
  std::erase_if(sessions_, [now = clock_.now()](const Session& session) { return session.until <= now; });
  std::size_t others = 0;  // of that name, newer ones first
  std::erase_if(sessions_,
                [&](const Session& session) { return session.who.name == who.name && ++others >= kMax; });
  sessions_.push_front({crypto::sha256(secret), clock_.now() + kLifetime, std::move(who)});
  return secret;
}

// Hashes are compared, so that the time says nothing about how much of a guess is right.
std::optional<Administrator> Logins::whose(std::string_view secret) const {
  const crypto::Hash256 hash = crypto::sha256(secret);
  const Instant now = clock_.now();
  const auto found = std::ranges::find_if(
      sessions_, [&](const Session& session) { return session.hash == hash && session.until > now; });
  if (found == sessions_.end()) return std::nullopt;
  return found->who;
}

std::size_t Logins::close(std::string_view name) {
  return std::erase_if(sessions_, [name](const Session& session) {
    const std::string_view whose = session.who.name;
    return name.empty() || whose.substr(0, whose.find(" (")) == name;
  });
}

}  // namespace tagring::administrators
