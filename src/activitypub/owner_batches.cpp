#include "activitypub/owner_batches.hpp"

#include <set>

#include "delivery/results.hpp"
#include "http/http_error.hpp"

namespace tagring::activitypub {
namespace {

std::set<Tag> tags_of(const std::vector<delivery::TagEvent>& events) {
  std::set<Tag> tags;
  for (const delivery::TagEvent& event : events) tags.insert(event.tag);
  return tags;
}

}  // namespace

Task<HttpResponse> OwnerBatches::take_as_relay(std::vector<delivery::TagEvent> events, std::string sender,
                                               delivery::RelayNews news) {
  const std::size_t asked = events.size();
  const std::set<Tag> tags = tags_of(events);
  std::erase_if(news.tokens,
                [&](const redundancy::OverloadToken& token) { return !tags.contains(token.tag); });
  const auto refusals = co_await relay_.take(events, std::move(sender), std::move(news.tokens));
  if (!refusals) co_return error_response(refusals.error());
  json::object receipt = co_await receipts_.issue(Ring::kRelay, std::move(events), *refusals);
  json::object more = relays_.news(tags, *refusals);
  if (!receipt.empty()) more["receipt"] = std::move(receipt);
  co_return delivery::results_response(asked, *refusals, std::move(more));
}

Task<HttpResponse> OwnerBatches::take_as_storage(std::vector<delivery::TagEvent> events, std::string sender,
                                                 redundancy::RelayClaims claims) {
  const std::size_t asked = events.size();
  const std::set<Tag> tags = tags_of(events);
  const auto refusals = co_await storage_.take(events, std::move(sender), std::move(claims));
  if (!refusals) co_return error_response(refusals.error());
  json::object receipt = co_await receipts_.issue(Ring::kStorage, std::move(events), *refusals);
  json::object more = stores_.news(tags);
  if (!receipt.empty()) more["receipt"] = std::move(receipt);
  co_return delivery::results_response(asked, *refusals, std::move(more));
}

}  // namespace tagring::activitypub
