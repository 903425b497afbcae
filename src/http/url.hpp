// HTTP(S) URLs, as far as the protocols here need them. Parsing is strict: what a browser would repair is an
// error, because two servers that repair differently disagree about who said what.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tagring {

struct Url {
  std::string scheme;      // "https" or "http"
  std::string host;        // lower case, ASCII (Punycode); IPv6 literals with their brackets
  std::uint16_t port = 0;  // always set: 443 or 80 if the text had none
  std::string target;      // path and query as written, at least "/"

  // kInvalid for other schemes, user info, a fragment that is not dropped, control characters, an empty or
  // non-ASCII host, a port out of range, or more than 2048 bytes. A fragment is removed.
  static Result<Url> parse(std::string_view text);

  // "host" or "host:port" when the port is not the scheme's default: what stands in Host.
  [[nodiscard]] std::string authority() const;
  // "https://host[:port]"
  [[nodiscard]] std::string origin() const;
  [[nodiscard]] std::string text() const { return origin() + target; }
  [[nodiscard]] std::string_view path() const;   // without the query
  [[nodiscard]] std::string_view query() const;  // without '?', empty if none

  friend bool operator==(const Url&, const Url&) = default;
};

// Host of an http(s) URL in lower case, or empty if the text is no such URL.
std::string host_of(std::string_view url);

// The origin in front of an actor id or any other URL of a host; empty if it is no URL.
std::string origin_of(std::string_view url);

// A name that may stand as a host in a URL and be asked of the DNS: lower case, ASCII (Punycode), no final
// dot; labels of 1 to 63 letters, digits, '-' and '_', with no hyphen at either end; at most 253 bytes. The
// last label begins with a letter, so no address is a name, nor what inet_aton takes for one ("127.1",
// "0x7f000001").
bool is_host_name(std::string_view text);

// `host` is `domain` or a name below it: tags.example.org is under example.org.
bool is_same_or_below(std::string_view host, std::string_view domain);

// The target of a request, as on the wire, up to its '?'; and what comes after, empty if nothing.
std::string_view path_of(std::string_view target);
std::string_view query_of(std::string_view target);

// Value of `name` in "a=1&b=2", percent-decoded with '+' as space; empty if absent or broken.
std::string query_value(std::string_view query, std::string_view name);

}  // namespace tagring
