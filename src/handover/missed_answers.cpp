#include "handover/missed_answers.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "delivery/wire.hpp"
#include "http/http_error.hpp"
#include "subscriber/catch_up.hpp"

namespace tagring::handover {
namespace {
constexpr std::size_t kScannedOfItem =
    50;  // feed entries looked at for one page, of each item that it may have
}  // namespace

Task<HttpResponse> MissedAnswers::answer(HttpRequest request) {
  const Result<federation::Authentic> sender = co_await authenticator_.authenticate(request);
  if (!sender) co_return federation::not_authentic(sender.error());
  Result<json::object> body = json::parse_object(request.body);
  if (!body) co_return error_response(body.error());
  const Result<json::object> page = co_await page_of(std::move(*body), sender->actor.id);
  if (!page) co_return error_response(page.error());
  co_return json_response(*page);
}

Task<Result<json::object>> MissedAnswers::page_of(json::object request, std::string follower) {
  std::set<Tag> tags;
  bool follows_all = true;
  json::for_each(json::find(request, "tags"), [&](const json::value& element) {
    if (!element.is_string()) return;
    Result<Tag> tag = Tag::parse(element.get_string());
    follows_all = follows_all && tag && followers_.follows(*tag, follower);
    if (tag) tags.insert(std::move(*tag));
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
    const WallTime start =
        std::max(WallTime(Duration(*since)), clock_.wall_now() - subscriber::CatchUp::kWindow);
    CO_TRY(after, co_await store_.feed_start(start));
  }
  std::vector<delivery::FeedEntry> found;
  std::size_t scanned = 0;
  bool more = false;
  while (found.size() < page_size_ && scanned < kScannedOfItem * page_size_) {
    CO_TRY(const std::vector<delivery::FeedEntry> entries,
           co_await store_.feed(after, page_size_ - found.size()));
    more = !entries.empty();
    if (!more) break;
    scanned += entries.size();
    after = entries.back().seq;
    for (const delivery::FeedEntry& entry : entries) {
      if (tags.contains(entry.event.tag)) found.push_back(entry);
    }
  }
  json::object page = {{"items", delivery::to_json(found)}};
  if (more) page["after"] = after;
  co_return page;
}

}  // namespace tagring::handover
