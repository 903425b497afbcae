// Answers of name servers: what comes out may be connected to.
#include "net/srv.hpp"

#include "fuzz/target.hpp"
#include "http/url.hpp"

namespace tagring::fuzzing {

void fuzz(std::string_view text) {
  const auto hosts = net::parse_srv(text);
  if (!hosts) return;
  TR_ASSERT(!hosts->empty() && hosts->size() <= ServiceFinder::kHostsMax);
  for (const ServiceHost& found : *hosts) {
    TR_ASSERT(found.port != 0);
    TR_ASSERT(is_host_name(found.host));
    TR_ASSERT(Url::parse("https://" + found.host + "/")->host == found.host);
  }
}

}  // namespace tagring::fuzzing
