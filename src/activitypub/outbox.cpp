#include "activitypub/outbox.hpp"

#include "base/bytes.hpp"
#include "base/counted.hpp"
#include "fediverse/documents.hpp"
#include "fediverse/vocabulary.hpp"
#include "http/http_error.hpp"

namespace tagring::activitypub {
namespace {

constexpr std::size_t kPageSize = 40;

HttpResponse shown(const json::object& object) {
  HttpResponse response;
  response.headers.add("Content-Type", std::string(fediverse::kActivityJson));
  response.body = json::serialize(object);
  return response;
}

}  // namespace

// Of the whole history; nothing if its owners do not say.
Task<std::optional<std::uint64_t>> Outbox::count_posts(Tag tag) {
  const auto known = counts_.find(tag.canonical());
  if (known != counts_.end() && clock_.now() - known->second.since < kCountFresh)
    co_return known->second.posts;
  const auto tomorrow = std::chrono::floor<std::chrono::days>(clock_.wall_now()) + std::chrono::days(1);
  const auto days = co_await history_.query_days(tag, tomorrow - storage::HistoryService::kDaysMax, tomorrow);
  if (!days) co_return std::nullopt;
  std::uint64_t posts = 0;
  for (const storage::HistoryDay& day : *days) posts += day.posts;
  make_room(counts_, kCountsMax);
  counts_.insert_or_assign(tag.canonical(), Count{clock_.now(), posts});
  co_return posts;
}

Task<HttpResponse> Outbox::answer(Tag tag, std::string query) {
  const std::string id = identity_.tag_actor(tag) + "/outbox";
  const std::string page = query_value(query, "page");
  if (page.empty()) {
    json::object collection = {{"@context", fediverse::kContext},
                               {"id", id},
                               {"type", "OrderedCollection"},
                               {"first", id + "?page=true"}};
    const std::optional<std::uint64_t> posts = co_await count_posts(std::move(tag));
    if (posts) collection["totalItems"] = *posts;
    co_return shown(collection);
  }
  std::optional<storage::HistoryCursor> cursor;
  if (page != "true") {
    Result<storage::HistoryCursor> parsed = storage::HistoryCursor::parse(page);
    if (!parsed) co_return error_response(parsed.error());
    cursor = std::move(*parsed);
  }
  const Result<storage::HistoryPage> history = co_await history_.query(tag, std::move(cursor), kPageSize);
  if (!history) co_return error_response(history.error());
  const Result<std::vector<std::string>> ids = co_await announced_.show(tag, history->entries);
  if (!ids) co_return error_response(ids.error());
  json::array items;
  for (std::size_t i = 0; i < history->entries.size(); ++i) {
    const storage::HistoryEntry& entry = history->entries[i];
    items.push_back(json::object{{"id", (*ids)[i]},
                                 {"type", "Announce"},
                                 {"actor", identity_.tag_actor(tag)},
                                 {"published", to_rfc3339(entry.published)},
                                 {"object", entry.uri}});
  }
  std::string next;
  if (history->more && history->next) {
    next = id + "?page=" + percent_encode(history->next->text());
  }
  co_return shown(
      fediverse::make_collection_page(id + "?page=" + percent_encode(page), id, std::move(items), next));
}

}  // namespace tagring::activitypub
