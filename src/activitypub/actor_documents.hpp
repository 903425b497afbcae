// The documents that a node shows the world: its actors, WebFinger, NodeInfo, and hashtags' outboxes.
#pragma once

#include "base/http.hpp"
#include "base/task.hpp"
#include "federation/blocks.hpp"
#include "federation/identity.hpp"
#include "hashtag/tag.hpp"
#include "overlay/ring_service.hpp"
#include "relay/followers.hpp"
#include "storage/history_service.hpp"

namespace tagring::activitypub {

class ActorDocuments {
 public:
  ActorDocuments(const federation::Identity& identity, overlay::RingService& rings,
                 storage::HistoryService& history, const relay::Followers& followers,
                 const federation::Blocks& blocks)
      : identity_(identity), rings_(rings), history_(history), followers_(followers), blocks_(blocks) {}

  // Answers a GET. 404 for unknown paths.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  HttpResponse webfinger(std::string_view query) const;
  Task<HttpResponse> tag_page(HttpRequest request, std::string rest, std::string query);
  Task<HttpResponse> outbox(Tag tag, std::string query);

  const federation::Identity& identity_;
  overlay::RingService& rings_;
  storage::HistoryService& history_;
  const relay::Followers& followers_;
  const federation::Blocks& blocks_;
};

}  // namespace tagring::activitypub
