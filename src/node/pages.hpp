// The documents that a node shows the world: its actors, WebFinger, NodeInfo, and hashtags' outboxes.
#pragma once

#include "base/http.hpp"
#include "node/history_service.hpp"
#include "node/identity.hpp"
#include "relay/blocks.hpp"
#include "relay/followers.hpp"

namespace tagring::node {

class Pages {
 public:
  Pages(const Identity& identity, RingService& rings, HistoryService& history,
        const relay::Followers& followers, const relay::Blocks& blocks)
      : identity_(identity), rings_(rings), history_(history), followers_(followers), blocks_(blocks) {}

  // Answers a GET. 404 for unknown paths.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  HttpResponse webfinger(std::string_view query) const;
  Task<HttpResponse> tag_page(std::string rest, std::string query);
  Task<HttpResponse> outbox(Tag tag, std::string query);

  const Identity& identity_;
  RingService& rings_;
  HistoryService& history_;
  const relay::Followers& followers_;
  const relay::Blocks& blocks_;
};

}  // namespace tagring::node
