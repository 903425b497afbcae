// Mastodon's entities that are about this node and about hashtags: Instance, V1::Instance, Tag.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "hashtag/tag.hpp"
#include "mastodon_api/account.hpp"

namespace tagring::mastodon_api {

// What is said to be spoken, and what this is. Clients look at the number to see what a server can do.
inline constexpr std::string_view kMastodonVersion = "4.3.0";

struct InstanceFacts {
  Site site;
  std::string version;  // of tagring
  std::uint64_t posts = 0;
  std::uint64_t domains = 0;
  std::string email;  // may be empty
};
json::object make_instance(const InstanceFacts& facts);     // GET /api/v2/instance
json::object make_instance_v1(const InstanceFacts& facts);  // GET /api/v1/instance

struct TagDay {
  std::chrono::sys_days day;
  std::uint64_t posts = 0;
  std::uint64_t authors = 0;
};
inline constexpr int kTagDays = 7;
// `days` in any order; of these the kTagDays up to `today` are shown, the latest first, and 0 for those that
// are missing.
json::object make_tag(const Tag& tag, const Site& site, const std::vector<TagDay>& days,
                      std::chrono::sys_days today);

}  // namespace tagring::mastodon_api
