// Where a hashtag is on the rings, for servers that leave the rings to this node: what remains of the
// application proxy (paper §5.5) beside its inbox (docs/protocol.md §9.7).
#pragma once

#include "budget/manager.hpp"
#include "federation/blocks.hpp"
#include "federation/identity.hpp"
#include "http/message.hpp"
#include "storage/history_service.hpp"

namespace tagring::activitypub {

class Resolver {
 public:
  Resolver(const federation::Identity& identity, storage::HistoryService& history,
           const federation::Blocks& blocks, budget::Manager& budget)
      : identity_(identity), history_(history), blocks_(blocks), budget_(budget) {}
  static constexpr std::string_view kPath = "/tagring/v1/resolve";

  // Answers GET kPath?uri=hashtag:…: the actors of the hashtag at its present owners, or, to who accepts
  // ActivityPub only, the way to the actor of this node.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  Task<Result<json::object>> resolve(Tag tag, IpAddress asker);

  const federation::Identity& identity_;
  storage::HistoryService& history_;
  const federation::Blocks& blocks_;
  budget::Manager& budget_;
};

}  // namespace tagring::activitypub
