// Sees to it that what this node took as an owner reaches whoever owns it now (paper §5.3, §5.6): its feed,
// and what the new owner did not fetch of its history, except removals that it only heard and would be
// believed about. A new owner asks those whom it sees before and beside it, for a while only; where rings
// merge, the vserver that owned a key a moment ago need not be among them. So the old owner, who is the only
// one to know, owes it. What it owned and what it owes is written down before it takes a post there, so that
// a node that dies and comes back to a smaller place still knows.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "base/json.hpp"
#include "base/ring_id.hpp"
#include "base/runtime.hpp"
#include "base/task.hpp"
#include "delivery/owner_queue.hpp"
#include "handover/read_segments.hpp"
#include "overlay/ring_service.hpp"
#include "redundancy/partition.hpp"
#include "ring/vserver.hpp"
#include "storage/disputes.hpp"

namespace tagring::handover {

class ReassignQueue {
 public:
  struct Options {
    std::map<Ring, unsigned> replicas;                    // owners of each key
    std::string saved;                                    // what `save` was given last, or empty
    std::function<Task<Result<void>>(std::string)> save;  // none: nothing outlives the process
    std::size_t rows = 1'000;                             // read, and owed, at once
    std::string host = {};  // the node's own: of posts there, or above, others believe what it says
    // After which place the feed is owed; none: all of it.
    std::function<Task<Result<std::uint64_t>>()> feed_from = {};
  };

  ReassignQueue(delivery::Store& store, storage::Disputes& disputes, delivery::OwnerQueue& outbox,
                Options options, ReadSegments& reads, const Runtime& runtime);

  // Goes on with what was owed, and owes what the node owned at places that it has given up. Before the rings
  // start.
  void start(overlay::RingService& rings);

  // After each change of a vserver's segment, before the node serves what it has gained: the feed or the
  // history of what was lost, unless that history is fetched.
  void segment_changed(Ring ring, const ring::Vserver& vserver);
  // After the node has given up a vserver that owned these positions, to which nothing was written after
  // `since`: of history what nobody has read to its end since then is owed.
  void gave_up(Ring ring, const RingId& vserver, const Segment& positions, Instant since);
  // storage::Observer::owe_partition.
  [[nodiscard]] Task<bool> owe_partition(redundancy::Partition partition);
  // The node leaves, and another one has all that the vserver owned: nothing is owed.
  void handed_over(Ring ring, const RingId& vserver);
  [[nodiscard]] Task<void> stop();

 private:
  // False if the disk failed, and not all of it is owed.
  Task<bool> feed(Segment keys);
  // To the new owners of that copy, or to all.
  Task<bool> history(Segment keys, std::optional<unsigned> copy);
  void owe(Ring ring, const Segment& positions, Instant since);
  Task<void> pay(Ring ring, Segment positions, Instant since);
  void read(std::string_view saved);
  void save();
  [[nodiscard]] std::string text() const;
  Task<void> write(std::uint64_t version);
  Task<void> wait_for_outbox();

  delivery::Store& store_;
  storage::Disputes& disputes_;
  delivery::OwnerQueue& outbox_;
  const Options options_;
  ReadSegments& reads_;
  Clock& clock_;
  std::map<std::pair<Ring, RingId>, Segment> owned_;  // by vserver, as last known
  std::vector<std::pair<Ring, Segment>> owed_;        // positions
  std::uint64_t version_ = 0;                         // of both
  TaskGroup tasks_;
};

}  // namespace tagring::handover
