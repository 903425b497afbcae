// Audits that nobody asked for (docs/audit.md, "Without being asked"; paper §3.4). Every ten minutes or so a
// node asks the storage owners of one hashtag, in one request each, for the head of one hour, and in it for
// posts of its own, or sometimes for one that was read here. If all of them show these, that was it; else the
// whole of it is audited.
#pragma once

#include <map>
#include <set>
#include <string>

#include "audit/audit.hpp"
#include "audit/judge.hpp"
#include "audit/owner_questions.hpp"
#include "audit/samples.hpp"
#include "base/runtime.hpp"
#include "storage/history_service.hpp"

namespace tagring::audit {

class Watch {
 public:
  Watch(Samples& samples, storage::HistoryService& history, OwnerQuestions& questions, Judge& judge,
        Audit& audit, const Runtime& runtime)
      : samples_(samples),
        history_(history),
        questions_(questions),
        judge_(judge),
        audit_(audit),
        clock_(runtime.clock),
        rng_(runtime.rng.fork("watch")),
        tasks_(runtime.executor) {}
  void start() { tasks_.spawn("watch", look_for_ever()); }
  [[nodiscard]] Task<void> stop();

  struct Counters {
    std::uint64_t looks = 0;   // at posts of an hour, at all their owners
    std::uint64_t amiss = 0;   // where these did not all show them
    std::uint64_t audits = 0;  // made for that
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

  // Whether one of the owners that say this of a post did not do as it should. Who was told of a removal
  // names it; who has only heard of it, or of the post, has nothing. Both obey, as long as nobody shows the
  // post.
  [[nodiscard]] static bool is_contradiction(std::set<storage::PostState> said);

 private:
  static constexpr Duration kEvery = std::chrono::minutes(10);  // on average
  static constexpr Duration kAuditedFor = std::chrono::hours(1);
  static constexpr std::size_t kAuditedMax = 1'000;  // hashtags
  Task<void> look_for_ever();
  Task<void> look();
  Task<bool> is_amiss(Sample sample);

  Samples& samples_;
  storage::HistoryService& history_;
  OwnerQuestions& questions_;
  Judge& judge_;
  Audit& audit_;
  Clock& clock_;
  Rng rng_;
  std::map<Tag, Instant> audited_;
  Counters counters_;
  TaskGroup tasks_;
};

}  // namespace tagring::audit
