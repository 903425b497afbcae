#include "belief/node_actors.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "fediverse/actor.hpp"
#include "fediverse/vocabulary.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"

namespace tagring::belief {

Task<std::vector<bool>> NodeActors::are_nodes(
    std::vector<std::pair<std::string, std::string>> actors_and_inboxes) {
  std::map<std::pair<std::string, std::string>, bool> verdicts;
  for (const auto& pair : actors_and_inboxes) verdicts.emplace(pair, false);
  for (auto next = verdicts.begin(); next != verdicts.end();) {
    const auto first = next;
    std::vector<Task<bool>> looks;
    for (; next != verdicts.end() && looks.size() < kAtOnce; ++next)
      looks.push_back(look(next->first.first, next->first.second));
    const std::vector<bool> seen = co_await all_of(std::move(looks));
    std::size_t i = 0;
    for (auto verdict = first; verdict != next; ++verdict) verdict->second = seen[i++];
  }
  std::vector<bool> result;
  for (const auto& pair : actors_and_inboxes) result.push_back(verdicts.at(pair));
  co_return result;
}

Task<bool> NodeActors::look(std::string actor, std::string inbox) {
  if (std::max(actor.size(), inbox.size()) > fediverse::kSharedIdSizeMax) co_return false;
  auto known = known_.find(actor);
  if (known == known_.end() || clock_.now() >= known->second.until) {
    const budget::Spender spender = budget_.who(host_of(actor));
    if (budget_.take(budget::Resource::kChecks, spender) != Duration::zero()) co_return false;
    std::uint64_t requests = 1;
    bool refused = false;
    const auto may_ask_more = [&] {
      refused = budget_.take(budget::Resource::kChecks, spender) != Duration::zero();
      if (!refused) ++requests;
      return !refused;
    };
    const Result<std::string> body = co_await client_.fetch_body(actor, may_ask_more);
    if (refused) co_return false;
    const auto document = body ? fediverse::parse_actor(*body, actor) : std::unexpected(body.error());
    const bool is_node = document && document->is_node;
    if (is_node) budget_.give_back(budget::Resource::kChecks, spender, requests);
    Known found{{}, clock_.now() + (is_node ? kRemembered : kNoneRemembered)};
    known = known_.find(actor);
    if (is_node) {
      found.inboxes = {document->inbox, document->delivery_inbox()};
    } else if (!body && is_unanswered(body.error()) && known != known_.end()) {
      found.inboxes = known->second.inboxes;
    }
    if (known == known_.end()) make_room(known_, kRememberedMax);
    known = known_.insert_or_assign(actor, std::move(found)).first;
  }
  co_return std::ranges::find(known->second.inboxes, inbox) != known->second.inboxes.end();
}

}  // namespace tagring::belief
