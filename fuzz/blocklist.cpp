// Lists of blocked domains: CSV, JSON and plain. What was read, written as CSV, is read as the same.
#include "fediverse/blocklist.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "fuzz/target.hpp"
#include "http/url.hpp"

namespace tagring::fuzzing {

void fuzz(std::string_view text) {
  using fediverse::BlockedDomain;
  const Result<fediverse::Blocklist> list = fediverse::parse_blocklist(text);
  if (!list) {
    TR_ASSERT(list.error().code == ErrorCode::kInvalid || list.error().code == ErrorCode::kTooLarge);
    return;
  }
  TR_ASSERT(!list->domains.empty() || !list->skipped.empty());
  TR_ASSERT(list->domains.size() + list->skipped.size() <= fediverse::kBlocklistMax);
  TR_ASSERT(std::ranges::is_sorted(list->domains, {}, &BlockedDomain::domain));
  TR_ASSERT(std::ranges::adjacent_find(list->domains, {}, &BlockedDomain::domain) == list->domains.end());
  for (const BlockedDomain& blocked : list->domains) {
    // Never more than was meant: a name with a dot in it, which is that of a host.
    TR_ASSERT(blocked.domain.contains('.') && blocked.domain == ascii_lower(blocked.domain));
    // Url refuses hosts that begin as an address does (193.0.2.118orse.example): whom that blocks, nobody is.
    const std::string host = host_of("https://" + blocked.domain + "/users/a");
    TR_ASSERT(host == blocked.domain || host.empty());
  }
}

}  // namespace tagring::fuzzing
