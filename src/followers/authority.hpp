// "Scheme and authority" of FEP-8fcf: the server that an id falls under.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tagring::followers {

// Two ids fall under the same authority if scheme, host and port are the same. Schemes and hosts are compared
// in lower case, and a default port is no port; that concerns the comparison only, an id itself is hashed as
// its origin publishes it. An id without a path (https://example.org) counts, and https://foo.org.evil.com is
// not under https://foo.org.
class Authority {
 public:
  // Of an id, an inbox or any other URL. Nothing unless it is an http(s) URL with a host, without user info,
  // of at most 2048 bytes.
  static std::optional<Authority> of(std::string_view url);

  // False for what is no such URL.
  [[nodiscard]] bool covers(std::string_view id) const { return of(id) == *this; }
  // "https://example.org" or "https://example.org:8443"
  [[nodiscard]] const std::string& text() const { return text_; }

  friend auto operator<=>(const Authority&, const Authority&) = default;

 private:
  explicit Authority(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace tagring::followers
