#include "subscriber/catch_up.hpp"

#include <utility>

#include "delivery/wire.hpp"

namespace tagring::subscriber {

Task<Result<void>> CatchUp::fetch(std::string owner, std::vector<Tag> tags, WallTime since) {
  json::array names;
  for (const Tag& tag : tags) names.emplace_back(tag.canonical());
  std::int64_t after = -1;
  for (;;) {
    json::object request = {{"since", to_ms(since)}, {"tags", names}};
    if (after >= 0) request["after"] = after;
    CO_TRY(const json::object page, co_await client_.ask(owner + std::string(kPath), std::move(request)));
    CO_TRY(const std::vector<delivery::FeedEntry> entries,
           delivery::feed_from_json(json::find(page, "items")));
    std::vector<delivery::TagEvent> events;
    for (const delivery::FeedEntry& entry : entries) {
      if (entry.event.is_sound()) events.push_back(entry.event);
    }
    CO_TRY_VOID(co_await observer_.receive_missed(std::move(events), owner));
    const std::optional<std::int64_t> next = json::get_int(page, "after");
    if (!next) co_return Result<void>();
    if (*next <= after) co_return fail(ErrorCode::kInvalid, "a page of missed posts does not move on");
    after = *next;
  }
}

}  // namespace tagring::subscriber
