// Hashtags themselves: how much each is used, and which are used most (docs/client-api.md).
//
//   GET /api/v1/tags/…
//   GET /api/v1/trends/tags, /api/v1/trends
//   GET /api/tagring/tags/…/days
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "federation/blocks.hpp"
#include "hashtag/tag.hpp"
#include "mastodon_api/api.hpp"
#include "mastodon_api/instance.hpp"
#include "mastodon_api/trends.hpp"
#include "posts/account.hpp"
#include "storage/history_service.hpp"

namespace tagring::mastodon_api {

class TagApi final : public ApiPart {
 public:
  static constexpr Duration kDaysFresh = std::chrono::seconds(60);  // how long posts per day are remembered
  static constexpr std::size_t kDaysMax = 500;                      // of so many hashtags
  static constexpr std::size_t kFoundMax = 20;                      // hashtags in one answer

  TagApi(posts::Site site, storage::HistoryService& history, Trends& trends, const federation::Blocks& blocks,
         const Clock& clock)
      : site_(std::move(site)), history_(history), trends_(trends), blocks_(blocks), clock_(clock) {}

  [[nodiscard]] Task<std::optional<HttpResponse>> answer(ApiRequest request) override;

  // The entity Tag.
  [[nodiscard]] Task<json::object> describe(Tag tag);
  // The hashtag itself, which there need not have been any post under, then those that begin so.
  [[nodiscard]] Task<json::array> find(std::string text, std::size_t limit);

 private:
  Task<HttpResponse> tag(ApiRequest request, std::string name);
  Task<HttpResponse> trending(std::string query);
  Task<HttpResponse> days(std::string name, std::string query);
  Task<Result<std::vector<storage::HistoryDay>>> days_of(Tag tag, std::chrono::sys_days from,
                                                         std::chrono::sys_days to);
  // Those of the entity Tag.
  Task<Result<std::vector<storage::HistoryDay>>> last_days(Tag tag);

  posts::Site site_;
  storage::HistoryService& history_;
  Trends& trends_;
  const federation::Blocks& blocks_;
  const Clock& clock_;
  struct KnownDays {
    Instant since;
    std::vector<storage::HistoryDay> days;
  };
  std::map<std::tuple<std::string, std::chrono::sys_days, std::chrono::sys_days>, KnownDays> known_days_;
};

}  // namespace tagring::mastodon_api
