// Where owners of a history differ, the server of the post decides (paper §3.4; docs/protocol.md §5.2):
// neither what one of them shows, nor what it has hidden, becomes true by being passed on.
//
// What this node lacks it takes at once, since most of it is true, and looks at it a minute later; a new
// owner, which lacks everything, ten minutes later, and only where not enough of its sources gave it. Of a
// host at which nothing was lately (belief::AskedHosts) an owner takes nothing before some of it was seen
// there, and a new owner keeps nothing that too few gave it; what enough gave it counts once anything is
// there (liars may be more than half, and then a single look shows that they name a host which has nothing).
// A removal that it took so stands as what is older than anything else that is said (kBeforeAll), until
// enough gave it or the post's server bears it out: whatever becomes of the look, it is final for nobody's
// word. What this node has stays until the post's server has been asked: a few at a time, once more when
// caches have let go of what is said to be removed, and ever more seldom about the same post. Where a server
// does not answer, everybody keeps what they have; so what it published outlives it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "belief/origin_checker.hpp"
#include "redundancy/partition.hpp"
#include "storage/history.hpp"

namespace tagring::storage {

class Disputes {
 public:
  // `most`: that are open, and as many that were settled and are remembered.
  Disputes(HistoryStore& history, belief::OriginChecker& origins, const Runtime& runtime,
           std::size_t most = kMax);
  static constexpr std::size_t kMax = 50'000;
  [[nodiscard]] Task<void> stop();

  // What the owner at that origin has. Entries are named by partition. What is here already, and the same,
  // costs nothing; of who was wrong lately (belief::Standing) little is heard at a time. Errors are those of
  // the store.
  [[nodiscard]] Task<Result<void>> hear(std::vector<HistoryEntry> entries, std::string from);
  // The same where this node is a new owner: what so many sources give it is not looked at. What an owner has
  // only heard itself is from kNobody.
  [[nodiscard]] Task<Result<void>> adopt(std::vector<HistoryEntry> entries, std::string from,
                                         std::size_t enough = 2);
  static constexpr const char* kNobody = "";
  // This node is about to sign that it has these, whoever it has them from.
  void promise(const std::vector<HistoryEntry>& entries);
  // This node has it because somebody said so, and it was not looked at yet.
  [[nodiscard]] bool is_hearsay(const HistoryEntry& entry) const;

  struct Counters {
    std::uint64_t raised = 0;
    std::uint64_t corrected = 0;  // this node was wrong
    std::uint64_t upheld = 0;     // another one was
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] std::size_t open() const { return open_.size(); }

 private:
  using Key = std::pair<redundancy::Partition, std::string>;  // and URI
  // Longer than other servers answer from their caches.
  static constexpr Duration kRemovalWait = std::chrono::minutes(5);
  static constexpr Duration kSaveAgain = std::chrono::minutes(1);  // what the disk did not take
  // A new owner has asked all the others by then; to one that has been there a relay may be telling it.
  static constexpr Duration kHearsayWait = std::chrono::minutes(10);
  static constexpr Duration kHeardWait = std::chrono::minutes(1);
  static constexpr Duration kBetween = std::chrono::milliseconds(200);  // two posts
  static constexpr Duration kLookAround = std::chrono::seconds(10);
  static constexpr Duration kAgain = std::chrono::minutes(10);  // and doubled each time
  static constexpr unsigned kDoublingsMax = 8;
  // Of a server that cannot be asked, at growing intervals: some two days.
  static constexpr unsigned kTriesMax = 9;
  static constexpr std::size_t kOfDoubtful = 8;  // posts of who was wrong lately, in one comparison
  static constexpr int kProbes = 2;              // of a host, in one comparison
  struct Dispute {
    HistoryEntry entry;                    // as somebody has it
    std::string from;                      // who that is, or kNobody
    bool removed = false;                  // somebody says so
    bool was_there = false;                // though somebody says that it was removed
    bool is_hearsay = false;               // what this node has of it is what somebody said
    bool is_alone = false;                 // and of a new owner, what not enough others have said yet
    std::vector<std::string> others = {};  // those who have
    bool is_backed = false;                // enough did; but at its host nothing was seen lately
    bool is_promised = false;              // this node may have signed that it has it
    bool is_probe = false;                 // is anything there? Nothing is taken, whatever comes of it
    std::optional<WallTime> left = {};     // its server bears out that it was removed, then
    Instant due;
    unsigned tries = 0;
  };
  class Examined;
  struct Settled {
    Instant at;
    unsigned times = 0;
    WallTime changed;  // what is later than that is another matter
  };

  // `enough`: for a new owner; else 0.
  Task<Result<void>> take(std::vector<HistoryEntry> entries, std::string from, std::size_t enough);
  Task<Result<std::vector<std::optional<HistoryEntry>>>> own(const std::vector<HistoryEntry>& entries);
  [[nodiscard]] bool was_settled(const Key& key, const HistoryEntry& entry) const;
  [[nodiscard]] bool is_probed(const HistoryEntry& entry, const std::string& from,
                               std::map<std::string, int>* probes);
  [[nodiscard]] bool agree(std::map<Key, Dispute>::iterator open, const std::string& from,
                           std::size_t enough);
  void raise(Dispute dispute);
  void differ(const HistoryEntry& mine, HistoryEntry theirs, std::string from);
  void put_off(const Key& key, Dispute& dispute, Duration wait);
  void settle(const Key& key, WallTime changed);
  Task<void> resolve();
  Task<void> resolve_one(Key key);
  Task<void> confirm(Key key, std::optional<HistoryEntry> mine);
  Task<void> decide(Key key, Result<belief::Answer> answer);
  void close(const Key& key, const Result<void>& done);
  Task<Result<void>> correct(Key key, std::optional<HistoryEntry> truth);
  Task<void> drop_others_from(std::string origin, Key decided);
  Task<Result<void>> set_right(Dispute dispute, std::optional<HistoryEntry> mine,
                               Result<belief::Answer> answer);

  HistoryStore& history_;
  belief::OriginChecker& origins_;
  std::size_t most_;
  Clock& clock_;
  Log& log_;
  std::map<Key, Dispute> open_;
  std::multiset<Key> examined_;        // take() is looking whether they are here
  std::set<Key> promised_;             // meanwhile
  std::multimap<Instant, Key> queue_;  // by when they are due; of those that are gone nothing happens
  std::map<Key, Settled> settled_;
  Counters counters_;
  bool resolving_ = false;
  TaskGroup tasks_;
};

}  // namespace tagring::storage
