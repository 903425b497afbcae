// What was promised of the posts of a hashtag: gathers the receipts that this node and the relays of the
// hashtag, of today and of former days, keep of its storage owners, and those of relays that this node has
// itself.
#pragma once

#include "audit/case.hpp"
#include "audit/notary.hpp"
#include "audit/receipts.hpp"
#include "base/time.hpp"
#include "hashtag/tag.hpp"
#include "http/message.hpp"
#include "storage/history_service.hpp"

namespace tagring::audit {

class ReceiptGatherer {
 public:
  ReceiptGatherer(Receipts& receipts, storage::HistoryService& history, const Notary& notary,
                  HttpClient& http, const Clock& clock)
      : receipts_(receipts), history_(history), notary_(notary), http_(http), clock_(clock) {}

  // Both outlive the task. Relays that do not answer are left out.
  [[nodiscard]] Task<void> gather(Tag tag, AuditedPosts* posts, Report* report);

 private:
  Task<Result<void>> gather_from(std::string relay, Tag tag, AuditedPosts* posts);

  Receipts& receipts_;
  storage::HistoryService& history_;
  const Notary& notary_;
  HttpClient& http_;
  const Clock& clock_;
};

}  // namespace tagring::audit
