#include "activitypub/outbox.hpp"

#include <algorithm>

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

const Outbox::Extent* Outbox::fresh(const Tag& tag) const {
  const auto known = extents_.find(tag.canonical());
  const bool is_fresh = known != extents_.end() && clock_.now() - known->second.since < kExtentFresh;
  return is_fresh ? &known->second.extent : nullptr;
}

Duration Outbox::wait_for(const Tag& tag, const IpAddress& asker) {
  if (fresh(tag) != nullptr) return Duration::zero();
  return budget_.take(budget::Resource::kReads, budget_.who(asker));
}

Task<std::optional<Outbox::Extent>> Outbox::extent(Tag tag) {
  if (const Extent* known = fresh(tag)) co_return *known;
  const auto tomorrow = std::chrono::floor<std::chrono::days>(clock_.wall_now()) + std::chrono::days(1);
  const auto days = co_await history_.query_days(tag, tomorrow - storage::HistoryService::kDaysMax, tomorrow);
  if (!days) co_return std::nullopt;
  Extent extent;
  for (const storage::HistoryDay& day : *days) {
    extent.posts += day.posts;
    extent.first_day = std::min(extent.first_day.value_or(day.day), WallTime(day.day));
  }
  make_room(extents_, kExtentsMax);
  extents_.insert_or_assign(tag.canonical(), Known{clock_.now(), extent});
  co_return extent;
}

Task<HttpResponse> Outbox::answer(Tag tag, std::string query, IpAddress asker) {
  std::string page = query_value(query, "page");
  const Duration wait =
      page.empty() ? wait_for(tag, asker) : budget_.take(budget::Resource::kReads, budget_.who(asker));
  if (wait > Duration::zero()) co_return busy_response(wait, "too many outboxes asked for; later again");
  if (!page.empty()) co_return co_await this->page(std::move(tag), std::move(page));
  const std::string id = identity_.tag_actor(tag) + "/outbox";
  json::object collection = {{"@context", fediverse::kContext},
                             {"id", id},
                             {"type", "OrderedCollection"},
                             {"first", id + "?page=true"}};
  const std::optional<Extent> extent = co_await this->extent(std::move(tag));
  if (extent) collection["totalItems"] = extent->posts;
  co_return shown(collection);
}

Task<HttpResponse> Outbox::page(Tag tag, std::string page) {
  const std::string id = identity_.tag_actor(tag) + "/outbox";
  std::optional<storage::HistoryCursor> cursor;
  if (page != "true") {
    Result<storage::HistoryCursor> parsed = storage::HistoryCursor::parse(page);
    if (!parsed) co_return error_response(parsed.error());
    cursor = std::move(*parsed);
  }
  Result<storage::HistoryPage> history = co_await history_.query(tag, std::move(cursor), kPageSize);
  if (!history) co_return error_response(history.error());
  std::erase_if(history->entries, [&](const storage::HistoryEntry& entry) {
    return !announced_.is_offered(entry.author, tag);
  });
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
