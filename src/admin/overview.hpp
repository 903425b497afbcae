// What the administrator's page shows and the numbers of /status do not: lists, longest or worst first, each
// with its head only.
//
//   GET /subscriptions   {"hours", "complete", "hashtags": [{"tag", "posts", "latest"?, "owners"}]}
//   GET /followers       {"followers", "hashtags": [{"tag", "boosts", "nodes", "relays", "fasps"}]}
//   GET /queues          {"queues": [{"kind", "destination", "waiting", "failures", "reason"?,
//                        "failing_since"?}]}; kinds are "owner", "announcements", "letters", "look-ups" of
//                        owners (the destination is a number), "fetches" of what FASP servers tell of
//   GET /storage         {"hashtags", "entries", "octets", "history": {"octets", "octets_max", "keep_days",
//                        "let_go"}, "receipts": {"batches", "octets"}}; "octets" are those of the database
//   GET /receipts        {"receipts": [{"at", "owner", "ring", "op", "tag", "uri", "batch"}]}, the latest
//                        first; "batch" is of how many posts
//   GET /settings        {"settings": [admin/settings.hpp]}
#pragma once

#include "audit/receipt_store.hpp"
#include "base/http.hpp"
#include "config/config.hpp"
#include "fasp/fasp_sharing.hpp"
#include "federation/activity_queue.hpp"
#include "relay/announcer.hpp"
#include "relay/owner_queue.hpp"
#include "relay/subscriptions.hpp"
#include "storage/history.hpp"

namespace tagring::admin {

class Overview {
 public:
  Overview(const config::Config& config, relay::Store& store, storage::HistoryStore& history,
           audit::ReceiptStore& receipts, const relay::Followers& followers,
           const relay::Subscriptions& subscriber, const relay::OwnerQueue& outbox,
           const relay::Announcer& announcer, const federation::ActivityQueue& mailbox,
           const fasp::FaspSharing& fasp_sharing, Clock& clock)
      : config_(config),
        store_(store),
        history_(history),
        receipts_(receipts),
        followers_(followers),
        subscriber_(subscriber),
        outbox_(outbox),
        announcer_(announcer),
        mailbox_(mailbox),
        fasp_sharing_(fasp_sharing),
        clock_(clock) {}

  static constexpr std::size_t kListMax = 500;
  // Posts are counted over that long, as far as so many entries of the feed reach.
  static constexpr std::chrono::hours kCounted{24};
  static constexpr std::size_t kCountedMax = 50'000;

  // Nothing if it is none of the paths above.
  [[nodiscard]] Task<std::optional<Result<json::object>>> answer(std::string path);

 private:
  Task<Result<json::object>> subscriptions();
  Task<Result<json::object>> storage();
  Task<Result<json::object>> receipts();
  [[nodiscard]] json::object followers() const;
  [[nodiscard]] json::object queues() const;

  const config::Config& config_;
  relay::Store& store_;
  storage::HistoryStore& history_;
  audit::ReceiptStore& receipts_;
  const relay::Followers& followers_;
  const relay::Subscriptions& subscriber_;
  const relay::OwnerQueue& outbox_;
  const relay::Announcer& announcer_;
  const federation::ActivityQueue& mailbox_;
  const fasp::FaspSharing& fasp_sharing_;
  Clock& clock_;
};

}  // namespace tagring::admin
