// What was promised of the posts of a hashtag: gathers the receipts that this node and the relays of the
// hashtag, of today and of former days, keep of its storage owners, and those of relays that this node has
// itself. A relay's word is nothing: what it shows counts if the owner's own server shows the key that it is
// signed with.
#pragma once

#include <map>
#include <string>

#include "audit/case.hpp"
#include "audit/notary.hpp"
#include "audit/receipts.hpp"
#include "base/time.hpp"
#include "delivery/store.hpp"
#include "hashtag/tag.hpp"
#include "http/message.hpp"
#include "storage/history_service.hpp"

namespace tagring::audit {

class ReceiptGatherer {
 public:
  ReceiptGatherer(Receipts& receipts, delivery::Store& store, storage::HistoryService& history,
                  const Notary& notary, HttpClient& http, const Clock& clock)
      : receipts_(receipts), store_(store), history_(history), notary_(notary), http_(http), clock_(clock) {}

  // Both outlive the task. Relays that do not answer are left out.
  [[nodiscard]] Task<void> gather(Tag tag, AuditedPosts* posts, Report* report);

 private:
  Task<std::map<std::string, WallTime>> gather_own(Tag tag, Receipts::KnownKeys* known, AuditedPosts* posts);
  Task<Result<void>> gather_from(std::string relay, Tag tag, const Receipts::KnownKeys* known,
                                 AuditedPosts* posts, Report* report);
  Task<void> note_taken_out(Tag tag, AuditedPosts* posts);

  Receipts& receipts_;
  delivery::Store& store_;
  storage::HistoryService& history_;
  const Notary& notary_;
  HttpClient& http_;
  const Clock& clock_;
};

}  // namespace tagring::audit
