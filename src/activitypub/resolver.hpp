// Where a hashtag is on the rings, for servers that leave the rings to this node: what remains of the
// application proxy (paper §5.5) beside its inbox (docs/protocol.md §9.7).
#pragma once

#include "federation/blocks.hpp"
#include "federation/identity.hpp"
#include "http/message.hpp"
#include "storage/history_service.hpp"

namespace tagring::activitypub {

class Resolver {
 public:
  Resolver(const federation::Identity& identity, storage::HistoryService& history,
           const federation::Blocks& blocks)
      : identity_(identity), history_(history), blocks_(blocks) {}
  static constexpr std::string_view kPath = "/tagring/v1/resolve";
  // Strangers make this node look up what they like: no more than that many at a time.
  static constexpr std::size_t kAtOnceMax = 32;

  // Answers GET kPath?uri=hashtag:…: the actors of the hashtag at its present owners, or, to who accepts
  // ActivityPub only, the way to the actor of this node.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  Task<Result<json::object>> resolve(Tag tag);

  const federation::Identity& identity_;
  storage::HistoryService& history_;
  const federation::Blocks& blocks_;
  std::size_t under_way_ = 0;
};

}  // namespace tagring::activitypub
