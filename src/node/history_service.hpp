// The history of tags, read from the storage ring (paper §5.5): what this node's storage role answers, and
// what any node puts together from the replicas.
#pragma once

#include <string>
#include <vector>

#include "base/http.hpp"
#include "hashtag/tag.hpp"
#include "node/ring_service.hpp"
#include "storage/history.hpp"

namespace tagring::node {

class HistoryService {
 public:
  HistoryService(storage::HistoryStore& store, RingService& rings, HttpClient& http, Clock& clock,
                 unsigned relay_replicas, unsigned storage_replicas)
      : store_(store),
        rings_(rings),
        http_(http),
        clock_(clock),
        relay_replicas_(relay_replicas),
        replicas_(storage_replicas) {}
  static constexpr std::string_view kPath = "/tagring/v1/history";
  static constexpr std::size_t kLimitMax = 200;

  // A page of the tag's history, newest first, merged from every replica that answers. kUnavailable if none
  // does.
  [[nodiscard]] Task<Result<storage::HistoryPage>> query(Tag tag,
                                                         std::optional<storage::HistoryCursor> cursor,
                                                         std::size_t limit);
  // The posts next to `cursor` on its newer side, newest first; `next` leads on to newer ones.
  [[nodiscard]] Task<Result<storage::HistoryPage>> query_newer(Tag tag, storage::HistoryCursor cursor,
                                                               std::size_t limit);
  // How much the tag was used on each day from the first up to, not including, the second; days without posts
  // are absent. What is blocked here counts, since owners do not know of it.
  [[nodiscard]] Task<Result<std::vector<storage::HistoryDay>>> query_days(Tag tag, std::chrono::sys_days from,
                                                                          std::chrono::sys_days to);
  // Answers GET kDaysPath?tag=…&from=…&to=… (days, "2026-11-21") in the same way as the next.
  static constexpr std::string_view kDaysPath = "/tagring/v1/history/days";
  static constexpr std::chrono::days kDaysMax{3660};
  [[nodiscard]] Task<HttpResponse> answer_days(HttpRequest request);
  // Answers GET kPath?tag=…&limit=…[&before=cursor|&after=cursor] from this node's own replica. 421 if it
  // owns none of the tag's.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);
  // What readers of this node see, of all that is there.
  std::function<bool(const storage::HistoryEntry&)> is_shown = [](const storage::HistoryEntry&) {
    return true;
  };
  // One contact of each node that owns a replica of the tag on that ring; those that are not found, or are
  // blocked, are left out.
  [[nodiscard]] Task<std::vector<ring::Contact>> owners(Ring ring, Tag tag);
  // Has the next look-ups ask the ring, for who must not take former owners for those of today.
  void forget_owners(Ring ring, const Tag& tag);
  // How many replicas of a tag the network keeps on a ring.
  [[nodiscard]] unsigned replicas(Ring ring) const {
    return ring == Ring::kRelay ? relay_replicas_ : replicas_;
  }

 private:
  using Page = Result<storage::HistoryPage>;
  // What is asked of a replica.
  struct Wish {
    std::optional<storage::HistoryCursor> cursor;
    bool newer = false;  // on the newer side of the cursor
    std::size_t limit = 0;
  };
  Task<Page> read_here(Tag tag, Wish wish);
  Task<Page> ask(ring::Contact owner, Tag tag, Wish wish);
  Task<Page> ask_again(ring::Contact owner, Tag tag, Wish wish);
  // What the replicas answer; kUnavailable if none does.
  Task<Result<std::vector<storage::HistoryPage>>> ask_all(Tag tag, Wish wish);
  using Days = Result<std::vector<storage::HistoryDay>>;
  Task<Days> ask_days(ring::Contact owner, Tag tag, std::chrono::sys_days from, std::chrono::sys_days to);
  void hide(storage::HistoryPage& page) const;
  // kNotOwner or kBusy unless this node has the tag's history.
  [[nodiscard]] Result<void> check_serving(const Tag& tag) const;

  storage::HistoryStore& store_;
  RingService& rings_;
  HttpClient& http_;
  Clock& clock_;
  unsigned relay_replicas_;
  unsigned replicas_;
};

// JSON of entries between nodes: [{"uri","author","published" (ms),"removed"?,"tag"?}].
json::array to_json(const std::vector<storage::HistoryEntry>& entries, bool with_tag);
Result<std::vector<storage::HistoryEntry>> entries_from_json(const json::value* list, const std::string& tag);

}  // namespace tagring::node
