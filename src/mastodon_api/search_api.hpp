// Search (docs/client-api.md): hashtags by how they begin, and a post by its URI.
//
//   GET /api/v2/search
#pragma once

#include <string>

#include "base/ip.hpp"
#include "federation/blocks.hpp"
#include "federation/rate_limit.hpp"
#include "mastodon_api/api.hpp"
#include "mastodon_api/post_cache.hpp"
#include "mastodon_api/tag_api.hpp"
#include "storage/history_service.hpp"

namespace tagring::mastodon_api {

class SearchApi final : public ApiPart {
 public:
  // `rate` is of fetching what somebody names by its URI.
  SearchApi(federation::RateLimit::Options rate, TagApi& tags, PostCache& posts,
            storage::HistoryService& history, const federation::Blocks& blocks, Clock& clock)
      : tags_(tags), posts_(posts), history_(history), blocks_(blocks), rate_(rate, clock) {}

  static constexpr federation::RateLimit::Options kRate{.requests = 30};

  [[nodiscard]] Task<std::optional<HttpResponse>> answer(ApiRequest request) override;

 private:
  Task<HttpResponse> search(ApiRequest request);
  Task<bool> is_in_history(Tag tag, std::string uri, WallTime published);
  Task<json::array> find_post(std::string uri, IpAddress peer);

  TagApi& tags_;
  PostCache& posts_;
  storage::HistoryService& history_;
  const federation::Blocks& blocks_;
  federation::RateLimit rate_;
};

}  // namespace tagring::mastodon_api
