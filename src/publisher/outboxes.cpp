#include "publisher/outboxes.hpp"

#include <algorithm>
#include <vector>

#include "fediverse/json_ld.hpp"
#include "fediverse/vocabulary.hpp"

namespace tagring::publisher {
namespace {

// A post that an outbox names, by its Create or by itself; empty if it is none that could be published.
std::string post_in(const json::value& item, WallTime not_before) {
  if (!item.is_object()) return {};
  const json::object& activity = item.get_object();
  const json::value* object =
      fediverse::has_type(activity, "Create") ? json::find(activity, "object") : &item;
  if (object == nullptr) return {};
  const json::object* note = object->is_object() ? &object->get_object() : nullptr;
  if (note != nullptr && !fediverse::is_post(*note)) return {};
  if (note != nullptr && json::find(*note, "tag") == nullptr) return {};
  const auto published = from_rfc3339(json::get_string(activity, "published").value_or(""));
  return published && *published < not_before ? std::string() : json::id_of(*object);
}

}  // namespace

Task<void> Outboxes::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<void> Outboxes::catch_up() {
  const Instant begin = clock_.now() + kAfterStart;
  co_await clock_.sleep_until(begin);
  std::vector<instances::OwnFollow> people = instances_.people();
  if (people.size() > kPeopleMax) people.resize(kPeopleMax);
  std::size_t found = 0;
  for (const instances::OwnFollow& follow : people) {
    const Result<std::size_t> posts = co_await read(follow);
    if (posts) found += *posts;
  }
  if (found > 0) log_.info("outboxes_read", {{"people", people.size()}, {"posts", found}});
}

Task<Result<json::object>> Outboxes::get(std::string url, std::string actor) {
  if (!fediverse::is_same_origin(url, actor)) co_return fail(ErrorCode::kInvalid, "the outbox is elsewhere");
  const Instant next = clock_.now() + kBetween;
  co_await clock_.sleep_until(next);
  CO_TRY(const std::string body, co_await client_.fetch_body(std::move(url)));
  co_return fediverse::parse_document(body);
}

// How many posts were published that had not come.
Task<Result<std::size_t>> Outboxes::read(instances::OwnFollow follow) {
  const std::string actor = follow.object;
  const WallTime not_before = std::max(follow.since, clock_.wall_now() - kBack);
  CO_TRY(const json::object profile, co_await get(actor, actor));
  CO_TRY(const json::object outbox, co_await get(json::id_of(profile, "outbox"), actor));
  json::object page = outbox;
  if (const json::value* first = json::find(outbox, "first")) {
    if (first->is_object()) {
      page = first->get_object();
    } else {
      CO_TRY(page, co_await get(json::id_of(*first), actor));
    }
  }
  std::vector<std::string> uris;
  json::for_each(json::find(page, "orderedItems"), [&](const json::value& item) {
    std::string uri = post_in(item, not_before);
    if (uris.size() < kItemsMax && !uri.empty()) uris.push_back(std::move(uri));
  });
  std::size_t found = 0;
  for (const std::string& uri : uris) {
    const Result<delivery::PublishedPost> known = co_await store_.find_post(uri);
    if (known || !fediverse::is_same_origin(uri, actor)) continue;
    const Instant next = clock_.now() + kBetween;
    co_await clock_.sleep_until(next);
    const auto taken = co_await fetched_.announced(uri, {.not_before = not_before, .by = actor});
    found += taken && taken->empty() ? 1 : 0;
  }
  co_return found;
}

}  // namespace tagring::publisher
