// Which hashtags a server, or people on it, want: as Mastodon's API says it, and as diaspora and Friendica
// say it to relays. Reading only; hashtags come out in canonical form, those that are none are left out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tagring::fediverse {

// The answer to GET /api/v1/followed_tags: a list of objects with `name`. kInvalid if it is something else.
Result<std::vector<std::string>> parse_followed_tags(std::string_view body);

// /.well-known/x-social-relay: {"subscribe": true, "scope": "tags", "tags": ["…"]}.
struct SocialRelay {
  std::vector<std::string> tags;
  std::string ignored;  // why there are none, if the server wants something that is not served
};
Result<SocialRelay> parse_social_relay(std::string_view body);

}  // namespace tagring::fediverse
