#include "fasp/fasp_history.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/json.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"

namespace tagring::fasp {
namespace {

constexpr std::size_t kPage = 40;
constexpr Duration kMinute = std::chrono::minutes(1);

std::size_t limit_in(const std::string& query) {
  const std::string text = query_value(query, "limit");
  std::size_t limit = kPage;
  std::from_chars(text.data(), text.data() + text.size(), limit);
  return std::clamp<std::size_t>(limit, 1, storage::HistoryService::kLimitMax);
}

}  // namespace

bool FaspHistory::may_read(const std::string& host) {
  std::deque<Instant>& asked = asked_[host];
  while (!asked.empty() && clock_.now() - asked.front() >= kMinute) asked.pop_front();
  if (asked.size() >= kAMinute) return false;
  asked.push_back(clock_.now());
  return true;
}

Task<HttpResponse> FaspHistory::answer(std::string host, Tag tag, std::string query) {
  if (!may_read(host)) co_return busy_response(std::chrono::minutes(1), "too many histories in one minute");
  std::optional<storage::HistoryCursor> cursor;
  if (const std::string text = query_value(query, "before"); !text.empty()) {
    Result<storage::HistoryCursor> parsed = storage::HistoryCursor::parse(text);
    if (!parsed) {
      HttpResponse response = error_response(parsed.error());
      response.status = 422;
      co_return response;
    }
    cursor = std::move(*parsed);
  }
  const Result<storage::HistoryPage> page = co_await history_.query(tag, std::move(cursor), limit_in(query));
  if (!page) co_return error_response(page.error());
  json::array objects;
  for (const storage::HistoryEntry& entry : page->entries) {
    const bool is_refused = blocks_.is_refused_by(entry.author, tag.canonical());
    if (is_refused || !blocks_.may_go(host_of(entry.uri), host)) continue;
    objects.push_back(json::object{{"uri", entry.uri}, {"published", to_rfc3339(entry.published)}});
  }
  json::object answer = {{"hashtag", tag.canonical()}, {"objects", std::move(objects)}};
  if (page->more && page->next) answer["next"] = page->next->text();
  co_return json_response(answer);
}

}  // namespace tagring::fasp
