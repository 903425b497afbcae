// The history of tags, read from the storage ring (paper §5.5): what this node's storage role answers, and
// what any node puts together from the replicas.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "belief/origin_checker.hpp"
#include "hashtag/tag.hpp"
#include "http/message.hpp"
#include "overlay/ring_service.hpp"
#include "redundancy/partition.hpp"
#include "ring/contact.hpp"
#include "storage/cross_check.hpp"
#include "storage/entries_json.hpp"
#include "storage/history.hpp"
#include "storage/kept_partitions.hpp"
#include "storage/observer.hpp"

namespace tagring::storage {

class HistoryService {
 public:
  HistoryService(unsigned relay_replicas, overlay::RingService& rings, KeptPartitions& kept,
                 belief::OriginChecker& origins, const Observer& observer, Clock& clock)
      : relay_replicas_(relay_replicas),
        rings_(rings),
        kept_(kept),
        origins_(origins),
        observer_(observer),
        clock_(clock) {}
  static constexpr std::string_view kPath = "/tagring/v1/history";
  static constexpr std::size_t kLimitMax = 200;

  // A page of the tag's history, newest first, merged from every replica that answers of every part that it
  // is divided into. Of posts about which these differ their own servers are asked (cross_check.hpp).
  // kUnavailable if of one of the parts none answers.
  [[nodiscard]] Task<Result<HistoryPage>> query(Tag tag, std::optional<HistoryCursor> cursor,
                                                std::size_t limit);
  // The posts next to `cursor` on its newer side, newest first; `next` leads on to newer ones.
  [[nodiscard]] Task<Result<HistoryPage>> query_newer(Tag tag, HistoryCursor cursor, std::size_t limit);
  // How much the tag was used on each day from the first up to, not including, the second; days without posts
  // are absent. What is blocked here counts, since owners do not know of it.
  [[nodiscard]] Task<Result<std::vector<HistoryDay>>> query_days(Tag tag, std::chrono::sys_days from,
                                                                 std::chrono::sys_days to);
  // Answers GET kDaysPath?tag=…&from=…&to=… (days, "2026-11-21") in the same way as the next.
  static constexpr std::string_view kDaysPath = "/tagring/v1/history/days";
  static constexpr std::chrono::days kDaysMax{3660};
  [[nodiscard]] Task<HttpResponse> answer_days(HttpRequest request);
  // Answers GET kPath"?tag=…&limit=…[&slot=…][&before=cursor|&after=cursor]" from this node's own replica, of
  // one partition (redundancy/partition.hpp), 0 if it is not named. 421 if it owns none of that.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);
  // What readers of this node see, of all that is there.
  [[nodiscard]] bool is_shown(const HistoryEntry& entry) const { return observer_.is_shown(entry); }
  // One contact of each node that owns a replica at rest of the tag on that ring; those that are not found,
  // or are blocked, are left out.
  [[nodiscard]] Task<std::vector<ring::Contact>> owners(Ring ring, Tag tag);
  // The same of a partition.
  [[nodiscard]] Task<std::vector<ring::Contact>> owners_of_partition(redundancy::Partition partition);
  // Has the next look-ups ask the ring, for who must not take former owners for those of today.
  void forget_owners(const Tag& tag);
  // Of each of the last pages that were read here one post, the latest last.
  [[nodiscard]] const std::deque<HistoryEntry>& lately_read() const { return lately_read_; }
  // How many replicas of a tag the network keeps on a ring at rest.
  [[nodiscard]] unsigned replicas(Ring ring) const {
    return ring == Ring::kRelay ? relay_replicas_ : kept_.at_rest();
  }

 private:
  using Page = Result<HistoryPage>;
  using Wish = PageWish;
  Task<std::vector<ring::Contact>> owners_of(Ring ring, std::vector<RingId> positions);
  Task<Page> read_here(redundancy::Partition partition, Wish wish);
  Task<Page> ask(ring::Contact owner, redundancy::Partition partition, Wish wish);
  using Days = Result<std::vector<HistoryDay>>;
  Task<Days> ask_days(ring::Contact owner, redundancy::Partition partition, std::chrono::sys_days from,
                      std::chrono::sys_days to);
  [[nodiscard]] bool is_at_rest(unsigned number) const;  // a part that every hashtag has
  // Asks one owner; of a part what its owners answer, and of a tag, part by part, what they answer of all its
  // parts: kUnavailable if of one nobody does.
  template <class T>
  using Ask = std::function<Task<Result<T>>(ring::Contact owner, redundancy::Partition partition)>;
  template <class T>
  Task<Result<T>> ask_copy(RingId position, ring::Contact owner, redundancy::Partition partition, Ask<T> ask);
  template <class T>
  Task<Result<std::vector<T>>> ask_part(Tag tag, unsigned number, Ask<T> ask);
  template <class T>
  Task<Result<std::vector<std::vector<T>>>> ask_parts(Tag tag, Ask<T> ask);
  Task<Result<std::vector<HistoryPage>>> ask_all(Tag tag, Wish wish);
  // What an owner answered, by its origin.
  struct Answered {
    std::string owner;
    HistoryPage page;
  };
  struct Looked {
    std::string uri;
    Verdict verdict;
  };
  Task<Result<Answered>> ask_by_name(ring::Contact owner, redundancy::Partition partition, Wish wish);
  Task<std::vector<HistoryPage>> cross_check(Tag tag, Wish wish, std::vector<Answered> answers);
  void leave_out_doubtful(std::vector<Answered>* answers) const;
  // `answers` have to be there, and stay as they are, until it completes.
  Task<std::vector<Looked>> look_at_all(Tag tag, const std::vector<Answered>& answers,
                                        std::vector<Disagreement> of_host, Instant end);
  Task<Looked> look(Tag tag, Disagreement disagreement, bool is_vouched);
  [[nodiscard]] bool is_vouched(const Disagreement& disagreement, const std::vector<Answered>& answers) const;
  [[nodiscard]] Verdict without_look(const Disagreement& disagreement, bool is_vouched) const;
  void note_who_is_right(const std::vector<Answered>& answers, const Looked& looked);
  void hide(HistoryPage& page) const;
  void note_read(const HistoryPage& page);

  unsigned relay_replicas_;
  overlay::RingService& rings_;
  KeptPartitions& kept_;
  belief::OriginChecker& origins_;
  const Observer& observer_;
  Clock& clock_;
  static constexpr std::size_t kLatelyReadMax = 64;
  std::deque<HistoryEntry> lately_read_;
  std::size_t pages_read_ = 0;
};

}  // namespace tagring::storage
