#include "activitypub/tag_events.hpp"

#include <algorithm>
#include <set>

#include "activitypub/answers.hpp"
#include "delivery/results.hpp"
#include "delivery/wire.hpp"
#include "http/http_error.hpp"

namespace tagring::activitypub {
namespace {
constexpr std::size_t kAnnouncedShare = 10;  // so many cost as much as one
}

Result<void> TagEvents::check_budget(const std::string& sender, std::size_t events) {
  if (budget_.take(budget::Resource::kEvents, budget_.who(host_of(sender)), events) == Duration::zero())
    return {};
  return fail(ErrorCode::kUnavailable, "too many posts of " + host_of(sender) + " in this hour");
}

Task<HttpResponse> TagEvents::take(std::string target, Batch batch) {
  std::vector<delivery::TagEvent> events = delivery::events_of(batch.op, batch.posts, clock_.wall_now());
  const Result<void> within = check_budget(batch.sender, events.size());
  if (!within) co_return error_response(within.error());
  delivery::RelayNews news = delivery::news_of(batch.body);
  if (target == identity_.relay())
    co_return co_await owner_.take_as_relay(std::move(events), std::move(batch.sender), std::move(news));
  if (target == identity_.storage())
    co_return co_await owner_.take_as_storage(std::move(events), std::move(batch.sender),
                                              std::move(news.claims));
  co_return error_response({ErrorCode::kInvalid, "`target` is neither this node's relay nor its storage"});
}

Task<HttpResponse> TagEvents::take_announced(Batch batch) {
  std::vector<delivery::TagEvent> events = delivery::events_of(batch.op, batch.posts, clock_.wall_now());
  const bool has_tags = std::ranges::any_of(batch.posts, [](const auto& post) { return !post.tags.empty(); });
  if (events.empty() && has_tags) co_return delivery::results_response(0, {});
  if (events.empty()) co_return ignored("an Announce without hashtags");
  const std::size_t asked = events.size();
  // Of hashtags that are wanted here, which relays bring in bulk.
  const Result<void> within = check_budget(batch.sender, (asked + kAnnouncedShare - 1) / kAnnouncedShare);
  if (!within) co_return error_response(within.error());
  const redundancy::RelayClaims claims = delivery::news_of(batch.body).claims;
  std::set<Tag> taken;
  for (const delivery::TagEvent& event : events) taken.insert(event.tag);
  const auto refusals = co_await subscriber_.receive(std::move(events), std::move(batch.sender), claims);
  if (!refusals) co_return error_response(refusals.error());
  for (const delivery::Refusal& refusal : *refusals) taken.erase(refusal.tag);
  hints_.hear(claims, taken);
  co_return delivery::results_response(asked, *refusals);
}

}  // namespace tagring::activitypub
