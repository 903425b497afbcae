// What readers name (docs/client-api.md): hashtags by how they begin or by their address here, a post by its
// URI or the address that a browser shows, and what was shown by its id.
//
//   GET /api/v2/search
//   GET /api/v1/statuses/:id, /api/v1/statuses/:id/context
//   GET /api/v1/accounts/:id, /api/v1/accounts/:id/statuses, /api/v1/accounts/lookup
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "budget/manager.hpp"
#include "federation/blocks.hpp"
#include "http/ip.hpp"
#include "mastodon_api/api.hpp"
#include "mastodon_api/tag_api.hpp"
#include "posts/post_cache.hpp"
#include "storage/history_service.hpp"

namespace tagring::mastodon_api {

class SearchApi final : public ApiPart {
 public:
  // `budget` is of fetching what somebody names by its URI.
  SearchApi(posts::Site site, budget::Manager& budget, TagApi& tags, posts::PostCache& posts,
            storage::HistoryService& history, const federation::Blocks& blocks)
      : site_(std::move(site)),
        budget_(budget),
        tags_(tags),
        posts_(posts),
        history_(history),
        blocks_(blocks) {}

  [[nodiscard]] Task<std::optional<HttpResponse>> answer(ApiRequest request) override;

 private:
  Task<HttpResponse> search(ApiRequest request);
  Task<std::optional<HttpResponse>> account(ApiRequest request);
  Task<std::shared_ptr<const json::object>> find_account(std::string name);
  Task<Result<bool>> is_in_history(std::shared_ptr<const posts::Post> post);
  struct Found {
    posts::PostCache::Content content;
    posts::StatusId id = 0;
  };
  // `named`: not one that was shown here before. kUnavailable: it may be one, but no history can be read now.
  Task<Result<Found>> find_post(std::string uri, bool named, Instant deadline);
  Task<std::expected<json::array, Duration>> find_by_address(std::string url, IpAddress peer);
  Task<json::object> context(std::shared_ptr<const posts::Post> post);

  posts::Site site_;
  budget::Manager& budget_;
  TagApi& tags_;
  posts::PostCache& posts_;
  storage::HistoryService& history_;
  const federation::Blocks& blocks_;
};

}  // namespace tagring::mastodon_api
