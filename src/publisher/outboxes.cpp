#include "publisher/outboxes.hpp"

#include <algorithm>
#include <initializer_list>

#include "fediverse/json_ld.hpp"
#include "fediverse/vocabulary.hpp"

namespace tagring::publisher {
namespace {

// What an activity is about, of which an outbox has only to say the id.
const json::value* object_of(const json::value& item, std::initializer_list<const char*> types) {
  const json::object* activity = item.is_object() ? &item.get_object() : nullptr;
  const bool fits = activity != nullptr && std::ranges::any_of(types, [&](const char* type) {
                      return fediverse::has_type(*activity, type);
                    });
  return fits ? json::find(*activity, "object") : &item;
}

// A post that an outbox names, by itself or by its Create, and of a relay or a group (FEP-1b12) by what is
// announced of it; empty if it is none that could be published.
std::string post_in(const json::value& item, bool of_person) {
  const json::value* object = of_person ? &item : object_of(item, {"Announce"});
  if (object == nullptr || (of_person && !item.is_object())) return {};
  object = object_of(*object, {"Create", "Update"});
  if (object == nullptr) return {};
  const json::object* note = object->is_object() ? &object->get_object() : nullptr;
  if (note != nullptr && !fediverse::is_post(*note)) return {};
  if (note != nullptr && json::find(*note, "tag") == nullptr) return {};
  return json::id_of(*object);
}

bool is_before(const json::value& item, WallTime time) {
  if (!item.is_object()) return false;
  const auto published = from_rfc3339(json::text_of(item.get_object(), "published"));
  return published && *published < time;
}

}  // namespace

Task<void> Outboxes::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<void> Outboxes::catch_up() {
  // What is newer may have come since, and others been missed before it.
  const Result<WallTime> newest = co_await store_.newest_post();
  if (newest) known_until_ = *newest;
  const Instant begin = clock_.now() + kAfterStart;
  co_await clock_.sleep_until(begin);
  std::vector<instances::Instances::Source> sources = instances_.sources();
  if (sources.size() > kSourcesMax) sources.resize(kSourcesMax);
  std::size_t found = 0;
  for (const instances::Instances::Source& source : sources) {
    const Result<std::size_t> posts = co_await read(source);
    if (posts) found += *posts;
  }
  if (found > 0) log_.info("outboxes_read", {{"outboxes", sources.size()}, {"posts", found}});
}

Task<Result<void>> Outboxes::wait() {
  if (++requests_ > kRequestsMax) co_return fail(ErrorCode::kBusy, "enough was asked for");
  const Instant next = clock_.now() + kBetween;
  co_await clock_.sleep_until(next);
  co_return Result<void>();
}

Task<Result<json::object>> Outboxes::get(std::string url, std::string actor) {
  if (!fediverse::is_same_origin(url, actor)) co_return fail(ErrorCode::kInvalid, "the outbox is elsewhere");
  CO_TRY_VOID(co_await wait());
  CO_TRY(const std::string body, co_await client_.fetch_body(std::move(url)));
  co_return fediverse::parse_document(body);
}

Outboxes::Page Outboxes::read_page(const json::object& page, bool of_person, WallTime not_before) const {
  Page read{.posts = {}, .is_old = false, .next = json::id_of(page, "next")};
  json::for_each(json::find(page, "orderedItems"), [&](const json::value& item) {
    if (is_before(item, not_before)) {
      read.is_old = true;
      return;
    }
    std::string uri = post_in(item, of_person);
    if (read.posts.size() < kItemsMax && !uri.empty()) read.posts.push_back(std::move(uri));
  });
  return read;
}

Task<Outboxes::Published> Outboxes::publish(std::vector<std::string> posts,
                                            instances::Instances::Source source, WallTime not_before) {
  const std::string& actor = source.follow.object;
  Published published;
  for (const std::string& uri : posts) {
    const Result<delivery::PublishedPost> known = co_await store_.find_post(uri);
    published.reached_known = published.reached_known || (known && known->published <= known_until_);
    if (known || (source.is_person && !fediverse::is_same_origin(uri, actor))) continue;
    const Result<void> may_ask = co_await wait();
    if (!may_ask) break;
    const auto taken = co_await fetched_.announced(
        uri, {.not_before = not_before, .by = source.is_person ? actor : std::string()});
    published.posts += taken && taken->empty() ? 1 : 0;
    published.reached_known = published.reached_known || (taken && *taken == FetchedPosts::kTooOld);
  }
  co_return published;
}

Task<Result<std::size_t>> Outboxes::read(instances::Instances::Source source) {
  const std::string actor = source.follow.object;
  const WallTime not_before = std::max(source.follow.since, clock_.wall_now() - kBack);
  CO_TRY(const json::object profile, co_await get(actor, actor));
  CO_TRY(json::object document, co_await get(json::id_of(profile, "outbox"), actor));
  if (const json::value* first = json::find(document, "first")) {
    const std::string id = json::id_of(*first);
    if (first->is_object()) {
      json::object inner = first->get_object();
      document = std::move(inner);
    } else {
      CO_TRY(document, co_await get(id, actor));
    }
  }
  std::size_t found = 0;
  for (std::size_t pages = 1;; ++pages) {
    Page page = read_page(document, source.is_person, not_before);
    const Published published = co_await publish(std::move(page.posts), source, not_before);
    found += published.posts;
    if (published.reached_known || page.is_old || page.next.empty() || pages == kPagesMax) break;
    Result<json::object> next = co_await get(std::move(page.next), actor);
    if (!next) break;
    document = *std::move(next);
  }
  co_return found;
}

}  // namespace tagring::publisher
