// Mastodon's entities that are about this node and about hashtags: Instance, V1::Instance, Tag; and who
// answers the first two.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "hashtag/tag.hpp"
#include "mastodon_api/api.hpp"
#include "posts/account.hpp"
#include "storage/history.hpp"

namespace tagring::mastodon_api {

// What is said to be spoken, and what this is. Clients look at the number to see what a server can do.
inline constexpr std::string_view kMastodonVersion = "4.3.0";

struct InstanceFacts {
  posts::Site site;
  std::string version;  // of tagring
  std::uint64_t posts = 0;
  std::uint64_t domains = 0;
  std::string email;  // may be empty
};
json::object make_instance(const InstanceFacts& facts);     // GET /api/v2/instance
json::object make_instance_v1(const InstanceFacts& facts);  // GET /api/v1/instance

// Answers GET /api/v1/instance and /api/v2/instance.
class InstanceApi final : public ApiPart {
 public:
  struct Options {
    std::string email = {};
    // How many domains posts come from.
    std::function<std::uint64_t()> domains = [] { return std::uint64_t{0}; };
  };
  InstanceApi(Options options, posts::Site site, storage::HistoryStore& history)
      : options_(std::move(options)), site_(std::move(site)), history_(history) {}

  [[nodiscard]] Task<std::optional<HttpResponse>> answer(ApiRequest request) override;

 private:
  const Options options_;
  posts::Site site_;
  storage::HistoryStore& history_;
};

struct TagDay {
  std::chrono::sys_days day;
  std::uint64_t posts = 0;
  std::uint64_t authors = 0;
};
inline constexpr int kTagDays = 7;
// `days` in any order; of these the kTagDays up to `today` are shown, the latest first, and 0 for those that
// are missing.
json::object make_tag(const Tag& tag, const posts::Site& site, const std::vector<TagDay>& days,
                      std::chrono::sys_days today);

}  // namespace tagring::mastodon_api
