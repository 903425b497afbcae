// The kinds of data that move when owners change: followers and feed on the relay ring; sets, history,
// partitions ("shelf") and comparisons ("hours") on the storage ring; and on both who leaves ("leaving").
//
// A kind says what is here, and some take what came from elsewhere. None looks at who asks, and none sends
// anything: handover/transfer.hpp asks, handover/transfer_answers.hpp answers.
#pragma once

#include <string>
#include <vector>

#include "belief/doubts.hpp"
#include "delivery/feed.hpp"
#include "handover/read_segments.hpp"
#include "handover/request.hpp"
#include "overlay/ring_service.hpp"
#include "relay/follower_lists.hpp"
#include "storage/disputes.hpp"
#include "storage/kept_partitions.hpp"
#include "storage/reconcile.hpp"

namespace tagring::handover {

// Items of one page, unless somebody wants less: it stays below the limit of a body. Of a partition, fewer
// than that mean that there are no more.
inline constexpr std::size_t kPage = 400;

// Those which the teller has only heard, which are not its word: who says the same may be whom it heard.
[[nodiscard]] std::vector<storage::HistoryEntry> take_heard(std::vector<storage::HistoryEntry>* entries);

// What can be asked for.
class Kind {
 public:
  // `replicas`: of a key, in the network. `page_size`: items of one page.
  Kind(std::string name, Ring ring, unsigned replicas, std::size_t page_size)
      : name_(std::move(name)), ring_(ring), replicas_(replicas), page_size_(page_size) {}
  virtual ~Kind() = default;
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Ring ring() const { return ring_; }

  // Who may ask: the owner of a replica of all keys in (from, key], of so many.
  struct Place {
    RingId key;
    unsigned replicas = 0;
    RingId from = {};
  };
  [[nodiscard]] virtual Result<Place> place(const Request& request) const {
    return Place{request.segment.to, replicas_, request.segment.from};
  }
  // Answers a request.
  [[nodiscard]] virtual Task<Result<json::object>> page(Request request) = 0;

 protected:
  [[nodiscard]] std::size_t page_size() const { return page_size_; }

 private:
  std::string name_;
  Ring ring_;
  unsigned replicas_;
  std::size_t page_size_;
};

// What a new owner fetches, page by page.
class FetchedKind : public Kind {
 public:
  using Kind::Kind;
  // Takes the items of a page of the node at `origin`, of which there is one at least, as far as it is to be
  // believed, and moves the request on to the next. kInvalid if they are malformed, or not all behind the
  // last page, in the order of the kind: such pages need never end.
  [[nodiscard]] virtual Task<Result<void>> absorb(Request* request, std::string origin,
                                                  json::array items) = 0;
};

// Who follows hashtags here: nodes only.
class FollowersKind final : public FetchedKind {
 public:
  FollowersKind(delivery::Store& store, relay::FollowerLists& lists, overlay::RingService& rings,
                unsigned replicas, std::size_t page_size = kPage)
      : FetchedKind("followers", Ring::kRelay, replicas, page_size),
        store_(store),
        lists_(lists),
        rings_(rings) {}
  [[nodiscard]] Task<Result<json::object>> page(Request request) override;
  [[nodiscard]] Task<Result<void>> absorb(Request* request, std::string origin, json::array items) override;

 private:
  delivery::Store& store_;
  relay::FollowerLists& lists_;
  overlay::RingService& rings_;
};

// What was taken lately as a relay, and may have to be delivered still.
class FeedKind final : public FetchedKind, private belief::Doubts::Taker {
 public:
  FeedKind(delivery::Store& store, delivery::Feed& feed, belief::Doubts& doubts, unsigned replicas,
           std::size_t page_size = kPage)
      : FetchedKind("feed", Ring::kRelay, replicas, page_size), store_(store), feed_(feed), doubts_(doubts) {}
  [[nodiscard]] Task<Result<json::object>> page(Request request) override;
  [[nodiscard]] Task<Result<void>> absorb(Request* request, std::string origin, json::array items) override;

 private:
  // Nothing of it is owed to the storage owners again.
  [[nodiscard]] Task<Result<void>> take_believed(std::vector<delivery::TagEvent> events) override;

  delivery::Store& store_;
  delivery::Feed& feed_;
  belief::Doubts& doubts_;
};

// Of how many owners hashtags have, asked for by position.
class SetsKind final : public FetchedKind {
 public:
  explicit SetsKind(storage::KeptPartitions& kept, std::size_t page_size = kPage)
      : FetchedKind("sets", Ring::kStorage, 1, page_size), kept_(kept) {}
  [[nodiscard]] Task<Result<json::object>> page(Request request) override;
  [[nodiscard]] Task<Result<void>> absorb(Request* request, std::string origin, json::array items) override;

 private:
  storage::KeptPartitions& kept_;
};

// Posts and tombstones.
class HistoryKind final : public FetchedKind {
 public:
  HistoryKind(storage::KeptPartitions& kept, storage::Disputes& disputes, ReadSegments& reads,
              std::size_t page_size = kPage)
      : FetchedKind("history", Ring::kStorage, kept.copies(), page_size),
        kept_(kept),
        disputes_(disputes),
        reads_(reads) {}
  [[nodiscard]] Task<Result<json::object>> page(Request request) override;
  [[nodiscard]] Task<Result<void>> absorb(Request* request, std::string origin, json::array items) override;

 private:
  storage::KeptPartitions& kept_;
  storage::Disputes& disputes_;
  ReadSegments& reads_;
};

// One partition of a hashtag: the business of all its owners. A page says for which version of the set it is
// complete.
class PartitionKind final : public Kind {
 public:
  PartitionKind(storage::HistoryStore& history, storage::KeptPartitions& kept, std::size_t page_size = kPage)
      : Kind("shelf", Ring::kStorage, kept.copies(), page_size), history_(history), kept_(kept) {}
  [[nodiscard]] Result<Place> place(const Request& request) const override;
  [[nodiscard]] Task<Result<json::object>> page(Request request) override;

 private:
  storage::HistoryStore& history_;
  storage::KeptPartitions& kept_;
};

// Whether a vserver of this node is leaving, and which segment it hands over: whoever was told so by anybody
// asks here.
class LeavingKind final : public Kind {
 public:
  LeavingKind(const overlay::RingService& rings, Ring ring) : Kind(kName, ring, 1, 1), rings_(rings) {}
  static constexpr const char* kName = "leaving";
  [[nodiscard]] Task<Result<json::object>> page(Request request) override;

 private:
  const overlay::RingService& rings_;
};

// What differs in two histories, hour by hour (handover/comparison.hpp).
class HoursKind final : public Kind {
 public:
  HoursKind(storage::HistoryStore& history, unsigned replicas, storage::CompareLimits limits = {})
      : Kind("hours", Ring::kStorage, replicas, limits.entries), history_(history), limits_(limits) {}
  [[nodiscard]] Task<Result<json::object>> page(Request request) override;

 private:
  storage::HistoryStore& history_;
  storage::CompareLimits limits_;
};

}  // namespace tagring::handover
