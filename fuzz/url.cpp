// URLs: the parts put together are the same URL, and nobody can be made to read another host.
#include "http/url.hpp"

#include "base/bytes.hpp"
#include "fuzz/target.hpp"

namespace tagring::fuzzing {

void fuzz(std::string_view text) {
  const Result<Url> url = Url::parse(text);
  if (!url) return;
  TR_ASSERT(text.size() <= 2048);
  TR_ASSERT(url->scheme == "https" || url->scheme == "http");
  TR_ASSERT(url->port != 0 && !url->host.empty());
  TR_ASSERT(url->host == ascii_lower(url->host));
  TR_ASSERT(url->host.find_first_of("/@?#% \\") == std::string::npos);
  TR_ASSERT(url->target.starts_with('/'));
  TR_ASSERT(url->target.find('#') == std::string::npos);
  for (const unsigned char c : url->text()) TR_ASSERT(c > 0x20 && c < 0x7F);
  TR_ASSERT(std::string(url->path()) + (url->target.contains('?') ? "?" : "") + std::string(url->query()) ==
            url->target);
  TR_ASSERT(host_of(text) == url->host);
  // The host is all that stands before the path, but for a port.
  std::string authority = ascii_lower(text.substr(text.find("://") + 3));
  authority.resize(std::min(authority.find_first_of("/?#"), authority.size()));
  TR_ASSERT(authority.starts_with(url->host));
  const std::string rest = authority.substr(url->host.size());
  TR_ASSERT(rest.empty() || (rest[0] == ':' && rest.find_first_not_of("0123456789", 1) == std::string::npos));
  TR_ASSERT(rest.size() < 2 || std::stoul(rest.substr(1)) == url->port);
  // Escaped, it may be longer than a URL may be.
  const Result<Url> again = Url::parse(url->text());
  TR_ASSERT(again || url->text().size() > 2048);
  if (again) TR_ASSERT(*again == *url);
}

}  // namespace tagring::fuzzing
