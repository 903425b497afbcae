// Where owners of a history differ, the server of the post decides (paper §3.4; docs/protocol.md §5.2):
// neither what one of them shows, nor what it has hidden, becomes true by being passed on.
//
// What this node lacks it takes at once, since most of it is true, and looks at it a minute later, as much as
// it has room to look at; a new owner, which lacks everything, takes all, and looks ten minutes later, and
// only where not enough of its sources gave it. Of a host at which nothing was lately (belief::AskedHosts) an
// owner takes nothing before some of it was seen there, and a new owner keeps nothing that too few gave it,
// as far as there is room to look; what enough gave it counts once anything is there (liars may be more than
// half, and then a single look shows that they name a host which has nothing). What it took so stands, over
// restarts, as what is older than anything else that is said (kBeforeAll), until enough gave it, the post's
// server bears it out, or a relay brings it: so it is nobody's own word. A post stays if nobody can say; a
// removal is final for nobody's word whatever becomes of the look, and keeps nothing out that another one
// has. What this node has stays until the post's server has been asked: a few at a time, of
// a server one, once more when caches have let go of what is said to be removed, and ever more seldom about
// the same post. Where a server does not answer, everybody keeps what they have; so what it published
// outlives it.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/counted.hpp"
#include "base/runtime.hpp"
#include "belief/origin_checker.hpp"
#include "belief/tag_event.hpp"
#include "redundancy/partition.hpp"
#include "storage/history.hpp"

namespace tagring::storage {

class Disputes {
 public:
  // `most`: that are open, and as many that were settled and are remembered. What owners of one registered
  // domain say is looked at as long as there are fewer of it than places that are left.
  Disputes(HistoryStore& history, belief::OriginChecker& origins, const Runtime& runtime,
           std::size_t most = kMax);
  static constexpr std::size_t kMax = 50'000;
  static constexpr std::size_t kOfDoubtful = 256;  // posts of who was wrong lately, in one comparison
  // Goes on with what was only heard before a restart, as far as there is room: the rest stays heard. Errors
  // are those of the store.
  [[nodiscard]] Task<Result<void>> load();
  [[nodiscard]] Task<void> stop();
  [[nodiscard]] HistoryStore& history() const { return history_; }

  // What was heard of one owner in one comparison.
  struct Heard {
    std::size_t posts = 0;              // that were not known, or otherwise
    std::map<std::string, int> probes;  // by host
  };
  // What the owner at that origin has, in one comparison after the other. Entries are named by partition.
  // What is here already, and the same, costs nothing; of who was wrong lately (belief::Standing) little is
  // heard in one comparison, and then kTooLarge. Other errors are those of the store.
  [[nodiscard]] Task<Result<void>> hear(std::vector<HistoryEntry> entries, std::string from, Heard* heard);
  // The same where this node is a new owner: what so many sources give it is not looked at. What an owner has
  // only heard itself is from kNobody.
  [[nodiscard]] Task<Result<void>> adopt(std::vector<HistoryEntry> entries, std::string from,
                                         std::size_t enough, Duration wait = kHearsayWait);
  // A new owner has asked all the others by then; to one that has been there a relay may be telling it.
  static constexpr Duration kHearsayWait = std::chrono::minutes(10);
  static constexpr Duration kHeardWait = std::chrono::minutes(1);
  // More than half of those who may have it, since as many as half may lie together; and never a single one.
  [[nodiscard]] static std::size_t enough_of(std::size_t sources) {
    return std::max<std::size_t>(2, sources / 2 + 1);
  }
  static constexpr const char* kNobody = "";
  // It was wrong lately.
  [[nodiscard]] bool is_doubtful(const std::string& from) const {
    return origins_.standing().is_doubtful(from);
  }
  // This node is about to sign that it has these, whoever it has them from. Nothing that was heard before
  // undoes a removal among them.
  void promise(const std::vector<HistoryEntry>& entries);
  // As a new owner this node was given it by one who says so itself; it was not looked at yet.
  [[nodiscard]] bool is_given(const HistoryEntry& entry) const {
    const auto open = open_.find({entry.partition, entry.uri});
    return open != open_.end() && open->second.is_alone && open->second.from != kNobody;
  }

  // It waits to be looked at: this node has only heard of it, or somebody says otherwise.
  [[nodiscard]] bool is_open(const HistoryEntry& entry) const {
    return open_.contains({entry.partition, entry.uri}) || entry.is_hearsay();
  }

  struct Counters {
    std::uint64_t raised = 0;
    std::uint64_t corrected = 0;  // this node was wrong
    std::uint64_t upheld = 0;     // another one was
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] std::size_t open() const { return open_.size(); }

 private:
  using Key = std::pair<redundancy::Partition, std::string>;  // and URI
  // They say the same of the post.
  [[nodiscard]] static bool same(const HistoryEntry& mine, const HistoryEntry& theirs);
  [[nodiscard]] static std::string server_of(const std::string& uri);
  // Longer than other servers answer from their caches.
  static constexpr Duration kRemovalWait = std::chrono::minutes(5);
  static constexpr Duration kSaveAgain = std::chrono::minutes(1);       // what the disk did not take
  static constexpr Duration kBetween = std::chrono::milliseconds(200);  // two posts
  static constexpr std::size_t kServersAtOnce = 8;                      // of each one post
  static constexpr Duration kLookAround = std::chrono::seconds(10);
  static constexpr Duration kBudgetWait = std::chrono::minutes(1);  // until there is some again
  static constexpr Duration kAgain = std::chrono::minutes(10);      // and doubled each time
  static constexpr unsigned kDoublingsMax = 8;
  // Of a server that cannot be asked, at growing intervals: some two days.
  static constexpr unsigned kTriesMax = 9;
  static constexpr int kProbes = 2;  // of a host, in one comparison
  // What was said of a post. That it is deleted has no time: what has one may be later.
  struct Said {
    belief::Version latest = {};  // of what has a time
    bool deleted = false;
    void add(const HistoryEntry& entry) {
      add(entry.is_deletion() ? Said{{}, true} : Said{entry.version(), false});
    }
    void add(const Said& other) {
      latest = std::max(latest, other.latest);
      deleted = deleted || other.deleted;
    }
    [[nodiscard]] bool covers(const HistoryEntry& entry) const {
      return entry.is_deletion() ? deleted : entry.version() <= latest;
    }
  };
  struct Dispute {
    HistoryEntry entry;                    // as somebody has it; the earliest of those who agree
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
    Said said = {};                        // what differs besides `entry`
    belief::Version told = {};             // a removal that this node may have signed for since
    Instant due;
    unsigned tries = 0;
    std::string whose = {};  // place it has
  };
  class Examined;
  struct Settled {
    Instant at;
    unsigned times = 0;
    Said said;  // what is later than that is another matter
  };

  // `enough`: for a new owner; else 0, and `heard`.
  Task<Result<void>> take(std::vector<HistoryEntry> entries, std::string from, std::size_t enough,
                          Duration wait, Heard* heard);
  void leave_out_unsound(std::vector<HistoryEntry>* entries) const;
  Task<Result<std::vector<std::optional<HistoryEntry>>>> own(const std::vector<HistoryEntry>& entries);
  [[nodiscard]] bool was_settled(const Key& key, const HistoryEntry& entry) const;
  [[nodiscard]] bool is_enough(const std::string& from, Heard* heard) const;
  [[nodiscard]] bool is_probed(const HistoryEntry& entry, const std::string& from, Heard* heard);
  std::optional<HistoryEntry> agree(std::map<Key, Dispute>::iterator open, const HistoryEntry& entry,
                                    const std::string& from, std::size_t enough);
  // False if what is said is not looked at, or not so that anything is set right.
  bool raise(Dispute dispute);
  void differ(const HistoryEntry& mine, HistoryEntry theirs, std::string from);
  void drop(std::map<Key, Dispute>::iterator open) {
    places_.remove(open->second.whose);
    open_.erase(open);
  }
  void enqueue(const Key& key, Instant due);
  void put_off(const Key& key, Dispute& dispute, Duration wait);
  [[nodiscard]] Duration wait_for(const Key& key, const Dispute& dispute) const;
  void settle(const Key& key, const Said& said);
  Task<void> resolve();
  Task<void> resolve_at(std::string host, Key key);
  Task<void> resolve_one(Key key);
  Task<void> confirm(Key key, std::optional<HistoryEntry> mine);
  Task<void> decide(Key key, Said asked, Result<belief::Answer> answer);
  Task<Result<void>> give_up(Dispute dispute, std::optional<HistoryEntry> mine);
  void close(const Key& key, const Result<void>& done);
  Task<Result<void>> correct(Key key, std::optional<HistoryEntry> truth);
  Task<void> drop_others_from(std::string origin, Key decided);
  [[nodiscard]] WallTime left_at(const Dispute& dispute, ErrorCode why) const;
  Task<Result<void>> set_right(Dispute dispute, std::optional<HistoryEntry> mine,
                               Result<belief::Answer> answer);

  HistoryStore& history_;
  belief::OriginChecker& origins_;
  std::size_t most_;
  Clock& clock_;
  Log& log_;
  std::map<Key, Dispute> open_;
  DynamicThreshold places_{most_};     // of these, by registered domain of who said so
  std::multiset<Key> examined_;        // take() is looking whether they are here
  std::set<Key> promised_;             // meanwhile
  std::multimap<Instant, Key> queue_;  // by when they are due; of those that are gone nothing happens
  std::map<Key, Settled> settled_;
  std::set<std::string> asked_;  // registered domains, now
  Counters counters_;
  bool resolving_ = false;
  TaskGroup tasks_;
};

}  // namespace tagring::storage
