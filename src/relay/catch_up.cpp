#include "relay/catch_up.hpp"

#include <set>
#include <utility>

#include "base/http_error.hpp"
#include "base/url.hpp"
#include "relay/results.hpp"
#include "relay/wire.hpp"
#include "ring/codec.hpp"

namespace tagring::relay {
namespace {
constexpr std::size_t kScanMax = 20'000;  // feed entries looked at for one page
constexpr unsigned kAttempts = 6;         // of posts that cannot be looked at
constexpr Duration kAgain = std::chrono::seconds(10);
}  // namespace

Task<Result<void>> CatchUp::fetch(std::string owner, std::vector<std::string> tags, WallTime since) {
  std::int64_t after = -1;
  for (;;) {
    json::object request = {{"since", since.time_since_epoch().count()},
                            {"tags", json::array(tags.begin(), tags.end())}};
    if (after >= 0) request["after"] = after;
    CO_TRY(const json::object page, co_await client_.ask(owner + std::string(kPath), std::move(request)));
    CO_TRY(const std::vector<FeedEntry> entries, feed_from_json(json::find(page, "items")));
    std::vector<TagEvent> events;
    for (const FeedEntry& entry : entries) events.push_back(entry.event);
    if (!events.empty()) {
      CO_TRY_VOID(co_await take(std::move(events), owner));
    }
    const std::optional<std::int64_t> next = json::get_int(page, "after");
    if (!next) co_return Result<void>();
    if (*next <= after) co_return fail(ErrorCode::kInvalid, "a page of missed posts does not move on");
    after = *next;
  }
}

// The subscription counts as made when all of it is here, or refused: what cannot be looked at now is lost
// otherwise.
Task<Result<void>> CatchUp::take(std::vector<TagEvent> events, std::string owner) {
  for (unsigned attempt = 1;; ++attempt) {
    CO_TRY(const std::vector<Refusal> refusals, co_await observer_.receive_missed(events, owner));
    std::set<std::pair<std::string, std::string>> later;
    for (const Refusal& refusal : refusals) {
      if (refusal.error.code == ErrorCode::kBusy) later.emplace(refusal.uri, refusal.tag);
    }
    std::erase_if(events, [&](const TagEvent& event) { return !later.contains({event.uri, event.tag}); });
    if (events.empty()) co_return Result<void>();
    if (attempt == kAttempts)
      co_return fail(ErrorCode::kBusy,
                     "servers of missed posts cannot be asked now: " + host_of(events.front().uri));
    const Instant next = clock_.now() + kAgain;
    co_await clock_.sleep_until(next);
  }
}

Task<HttpResponse> CatchUp::answer(HttpRequest request) {
  const Result<federation::Authentic> sender = co_await authenticator_.authenticate(request);
  if (!sender) co_return federation::not_authentic(sender.error());
  Result<json::object> body = json::parse_object(request.body);
  if (!body) co_return error_response(body.error());
  const Result<json::object> page = co_await page_of(std::move(*body), sender->actor.id);
  if (!page) co_return error_response(page.error());
  HttpResponse response;
  response.headers.add("Content-Type", "application/json");
  response.body = json::serialize(*page);
  co_return response;
}

Task<Result<json::object>> CatchUp::page_of(json::object request, std::string follower) {
  std::set<std::string> tags;
  bool follows_all = true;
  json::for_each(json::find(request, "tags"), [&](const json::value& element) {
    if (!element.is_string()) return;
    std::string tag(element.get_string());
    follows_all = follows_all && followers_.follows(tag, follower);
    tags.insert(std::move(tag));
  });
  // Silence would make them believe that they follow, and have missed nothing.
  if (!follows_all || tags.empty())
    co_return fail(ErrorCode::kConflict, "you do not follow all of these here any more: follow again");
  const auto since = json::get_int(request, "since");
  if (!since) co_return fail(ErrorCode::kInvalid, "'since' must be a number of milliseconds");
  std::uint64_t after = 0;
  if (const auto place = json::get_int(request, "after")) {
    after = static_cast<std::uint64_t>(*place);
  } else {
    const WallTime start = std::max(WallTime(Duration(*since)), clock_.wall_now() - kWindow);
    CO_TRY(after, co_await store_.feed_start(start));
  }
  std::vector<FeedEntry> found;
  std::size_t scanned = 0;
  bool more = false;
  while (found.size() < kPage && scanned < kScanMax) {
    CO_TRY(const std::vector<FeedEntry> entries, co_await store_.feed(after, kPage - found.size()));
    more = !entries.empty();
    if (!more) break;
    scanned += entries.size();
    after = entries.back().seq;
    for (const FeedEntry& entry : entries) {
      if (tags.contains(entry.event.tag)) found.push_back(entry);
    }
  }
  json::object page = {{"items", to_json(found)}};
  if (more) page["after"] = after;
  co_return page;
}

}  // namespace tagring::relay
