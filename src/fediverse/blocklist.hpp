// Lists of blocked domains as servers export them: Mastodon's CSV, the JSON of Mastodon's and GoToSocial's
// APIs, and plain text with one domain a line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tagring::fediverse {

struct BlockedDomain {
  std::string domain;  // lower case
  std::string reason;  // may be empty

  friend bool operator==(const BlockedDomain&, const BlockedDomain&) = default;
};

struct Blocklist {
  std::vector<BlockedDomain> domains;  // sorted, each once
  // Lines or items that were passed over, with the reason: other severities than "suspend", obfuscated names,
  // what is no domain.
  std::vector<std::string> skipped;
};

inline constexpr std::size_t kBlocklistMax = 20'000;  // as Mastodon

// The form is told by the content. A row without a severity counts as "suspend". kInvalid if nothing in it
// can be read, kTooLarge for more than kBlocklistMax entries.
Result<Blocklist> parse_blocklist(std::string_view text);

}  // namespace tagring::fediverse
