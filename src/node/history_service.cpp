#include "node/history_service.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "node/results.hpp"

namespace tagring::node {
namespace {

constexpr Duration kTimeout = std::chrono::seconds(5);

}  // namespace

json::array to_json(const std::vector<storage::HistoryEntry>& entries, bool with_tag) {
  json::array list;
  for (const storage::HistoryEntry& entry : entries) {
    json::object item = {{"uri", entry.uri},
                         {"author", entry.author},
                         {"published", entry.published.time_since_epoch().count()}};
    if (entry.removed) item["removed"] = true;
    if (with_tag) item["tag"] = entry.tag;
    list.push_back(std::move(item));
  }
  return list;
}

Result<std::vector<storage::HistoryEntry>> entries_from_json(const json::value* list,
                                                             const std::string& tag) {
  if (list == nullptr || !list->is_array()) return fail(ErrorCode::kInvalid, "'entries' is no list");
  std::vector<storage::HistoryEntry> entries;
  for (const json::value& element : list->get_array()) {
    if (!element.is_object()) return fail(ErrorCode::kInvalid, "'entries' holds something else than objects");
    const json::object& item = element.get_object();
    storage::HistoryEntry entry;
    entry.tag = tag.empty() ? json::get_string(item, "tag").value_or("") : tag;
    entry.uri = json::get_string(item, "uri").value_or("");
    entry.author = json::get_string(item, "author").value_or("");
    const auto published = json::get_int(item, "published");
    const json::value* removed = json::find(item, "removed");
    entry.removed = removed != nullptr && removed->is_bool() && removed->get_bool();
    if (!Url::parse(entry.uri) || !published || entry.tag.empty()) {
      return fail(ErrorCode::kInvalid, "an entry lacks 'uri', 'published' or 'tag'");
    }
    entry.published = WallTime(Duration(*published));
    entries.push_back(std::move(entry));
  }
  return entries;
}

Task<std::vector<ring::Contact>> HistoryService::owners(Ring ring, Tag tag) {
  std::vector<ring::Contact> contacts;
  const unsigned count = replicas(ring);
  for (unsigned i = 0; i < count; ++i) {
    const Result<ring::Owner> owner = co_await rings_.of(ring).find_owner(replica_key(tag.key(), i, count));
    if (!owner || rings_.is_blocked(owner->contact.host)) continue;
    const bool known = std::ranges::any_of(
        contacts, [&](const ring::Contact& contact) { return contact.origin() == owner->contact.origin(); });
    if (!known) contacts.push_back(owner->contact);
  }
  co_return contacts;
}

Task<HistoryService::Page> HistoryService::ask(ring::Contact owner, Tag tag,
                                               std::optional<storage::HistoryCursor> cursor,
                                               std::size_t limit) {
  if (rings_.of(Ring::kStorage).find(owner.id) != nullptr) {
    co_return co_await store_.page(tag.canonical(), std::move(cursor), limit);
  }
  std::string target =
      fmt::format("{}{}?tag={}&limit={}", owner.origin(), kPath, percent_encode(tag.canonical()), limit);
  if (cursor) target += "&before=" + percent_encode(cursor->text());
  CO_TRY(Url url, Url::parse(target));
  HttpCall call("GET", std::move(url), clock_.now() + kTimeout);
  call.required_prefix = owner.address.prefix64();
  CO_TRY(const HttpResponse response, co_await http_.send(std::move(call)));
  if (response.status != 200) co_return std::unexpected(ring::decode_error(response.status, response.body));
  CO_TRY(const json::object body, json::parse_object(response.body));
  storage::HistoryPage page;
  CO_TRY(page.entries, entries_from_json(json::find(body, "entries"), tag.canonical()));
  if (page.entries.size() > limit || !std::ranges::is_sorted(page.entries, storage::newer)) {
    co_return fail(ErrorCode::kInvalid, "a replica's page is too long or out of order");
  }
  const json::value* more = json::find(body, "more");
  page.more = more != nullptr && more->is_bool() && more->get_bool();
  co_return page;
}

// Once more after a new look-up, if the owner has changed or does not answer.
Task<HistoryService::Page> HistoryService::ask_again(ring::Contact owner, Tag tag,
                                                     std::optional<storage::HistoryCursor> cursor,
                                                     std::size_t limit) {
  Page page = co_await ask(owner, tag, cursor, limit);
  if (page) co_return page;
  for (unsigned i = 0; i < replicas_; ++i) {
    const RingId key = replica_key(tag.key(), i, replicas_);
    const Result<ring::Owner> believed = co_await rings_.of(Ring::kStorage).find_owner(key);
    if (!believed || believed->contact.id != owner.id) continue;
    rings_.of(Ring::kStorage).forget_route(key);
    Result<ring::Owner> now = co_await rings_.of(Ring::kStorage).find_owner(key);
    if (now && now->contact != owner && !rings_.is_blocked(now->contact.host))
      co_return co_await ask(std::move(now->contact), tag, cursor, limit);
  }
  co_return page;
}

Task<Result<storage::HistoryPage>> HistoryService::query(Tag tag,
                                                         std::optional<storage::HistoryCursor> cursor,
                                                         std::size_t limit) {
  limit = std::clamp<std::size_t>(limit, 1, kLimitMax);
  const std::vector<ring::Contact> contacts = co_await owners(Ring::kStorage, tag);
  std::vector<Task<Page>> asked;
  for (const ring::Contact& contact : contacts) asked.push_back(ask_again(contact, tag, cursor, limit));
  std::vector<Page> answers = co_await all_of(std::move(asked));
  std::vector<storage::HistoryPage> pages;
  std::string failure = "no owner found";
  for (Page& answer : answers) {
    if (answer) {
      pages.push_back(std::move(*answer));
    } else {
      failure = answer.error().message;
    }
  }
  if (pages.empty()) co_return fail(ErrorCode::kUnavailable, "no replica of the tag answered: " + failure);
  storage::HistoryPage merged = storage::merge_pages(pages, limit, /*keep_removed=*/false);
  std::erase_if(merged.entries, [this](const storage::HistoryEntry& entry) { return !is_shown(entry); });
  co_return merged;
}

Task<HttpResponse> HistoryService::answer(HttpRequest request) {
  const std::size_t mark = request.target.find('?');
  const std::string query = mark == std::string::npos ? "" : request.target.substr(mark + 1);
  const Result<Tag> tag = Tag::parse(query_value(query, "tag"));
  if (!tag) co_return error_response(tag.error());
  std::optional<storage::HistoryCursor> cursor;
  if (const std::string text = query_value(query, "before"); !text.empty()) {
    Result<storage::HistoryCursor> parsed = storage::HistoryCursor::parse(text);
    if (!parsed) co_return error_response(parsed.error());
    cursor = std::move(*parsed);
  }
  std::size_t limit = 40;
  if (const std::string text = query_value(query, "limit"); !text.empty()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
    if (error != std::errc() || limit == 0)
      co_return error_response({ErrorCode::kInvalid, "'limit' must be a number"});
  }
  bool owned = false;
  bool serving = false;
  for (unsigned i = 0; i < replicas_; ++i) {
    const RingId key = replica_key(tag->key(), i, replicas_);
    owned = owned || rings_.of(Ring::kStorage).owning(key) != nullptr;
    serving = serving || rings_.of(Ring::kStorage).serving(key) != nullptr;
  }
  if (!owned) co_return error_response({ErrorCode::kNotOwner, "this node stores no replica of the tag"});
  if (!serving) co_return error_response({ErrorCode::kBusy, "this node is still fetching the tag's history"});
  const Result<storage::HistoryPage> page =
      co_await store_.page(tag->canonical(), std::move(cursor), std::min(limit, kLimitMax));
  if (!page) co_return error_response(page.error());
  HttpResponse response;
  response.headers.add("Content-Type", "application/json");
  response.body =
      json::serialize(json::object{{"entries", to_json(page->entries, false)}, {"more", page->more}});
  co_return response;
}

}  // namespace tagring::node
