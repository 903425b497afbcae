// How many storage owners hashtags have, and this node as one of them (paper §7.2; docs/protocol.md, "Storage
// sets"; storage_place.hpp has where posts go).
//
// The owner of a hashtag's key, the *keeper*, changes the number: doubles it when an owner's part has become
// more than that owner can bear, and halves it when all can bear what they would take up. Every storage owner
// keeps the number, on disk, and refuses posts of parts that are not its own. `reach` is what readers and
// removals go by; it never shrinks before the posts that are found through it are elsewhere.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/http.hpp"
#include "base/log.hpp"
#include "base/runtime.hpp"
#include "federation/authenticator.hpp"
#include "federation/signed_client.hpp"
#include "hashtag/tag.hpp"
#include "overlay/loads.hpp"
#include "overlay/ring_service.hpp"
#include "redundancy/storage_hints.hpp"
#include "redundancy/storage_place.hpp"
#include "storage/history.hpp"
#include "storage/observer.hpp"

namespace tagring::storage {

class StorageRedundancy {
 public:
  struct Options {
    unsigned at_rest = 4;
    double bearable = 0;  // octets of one part of a hashtag; 0: any
    // Since the last change, before a set is doubled or halved.
    Duration settle = std::chrono::minutes(1);
    Duration cooldown = std::chrono::hours(24);
    Duration every = std::chrono::seconds(10);  // upkeep
  };
  // What nobody needs to bear of one hashtag: 2^21 posts. Larger pieces are hard to find room for
  // (docs/evaluation.md).
  static constexpr double kPartMax = (1U << 21U) * HistoryStore::kBytesOfEntry;
  static constexpr std::string_view kPath = "/tagring/v1/stores";

  StorageRedundancy(Options options, HistoryStore& history, redundancy::StorageHints& hints,
                    overlay::RingService& rings, federation::SignedClient& client,
                    federation::Authenticator& authenticator, Observer& observer, const Runtime& runtime);

  [[nodiscard]] Task<Result<void>> load();
  void start() { tasks_.spawn("storage_sets", upkeep()); }
  [[nodiscard]] Task<void> stop();

  [[nodiscard]] redundancy::StorageHints& hints() { return hints_; }
  [[nodiscard]] unsigned at_rest() const { return options_.at_rest; }
  [[nodiscard]] unsigned copies() const { return redundancy::copies_in_storage(options_.at_rest); }

  // --- as storage owner ---
  // What this node keeps of the tag; at rest if that is nothing.
  [[nodiscard]] redundancy::StorageSet of(const std::string& tag) const;
  // The shelves here on which the post, or its removal, is to be written. kNotOwner if there are none, kBusy
  // while their posts are being fetched.
  [[nodiscard]] Result<std::vector<unsigned>> slots_for(const Tag& tag, const std::string& uri,
                                                        bool removal) const;
  // kNotOwner or kBusy unless this node serves a part of the tag's history.
  [[nodiscard]] Result<void> check_serving(const Tag& tag) const;
  // The same of that shelf.
  [[nodiscard]] Result<void> check_slot(const Tag& tag, unsigned slot) const;
  // The shelf that "tag=…&slot=…" asks for, 0 if none is named: kNotOwner or kBusy unless this node has it.
  [[nodiscard]] Result<redundancy::Partition> shelf_of(std::string_view query) const;
  // Posts of the hashtag may be there; what was there is on another shelf otherwise.
  [[nodiscard]] bool is_in_reach(const redundancy::Partition& shelf) const;
  // Posts were written to these shelves.
  void note_written(const std::string& tag, unsigned slot) { written_.emplace(tag, slot); }
  // "stores" of an answer to the sender of posts of these tags; empty if there is nothing to say.
  [[nodiscard]] json::object news(const std::set<std::string>& tags) const;

  // --- between owners ---
  // Keeps the set, if it redundancy::supersedes what was kept. Durable when it completes.
  [[nodiscard]] Task<Result<void>> adopt(redundancy::StorageSet set);
  // Those that have a replica at one of the positions, by tag, after that one.
  [[nodiscard]] std::vector<redundancy::StorageSet> sets_at(const Segment& positions,
                                                            const std::string& after,
                                                            std::size_t limit) const;
  // Of what another owner gave, takes out what is on shelves that nobody asks for: it has been moved.
  void leave_out_moved(std::vector<HistoryEntry>* entries) const;
  // Another owner has fetched all of that shelf.
  void note_handed(const std::string& shelf) { handed_.insert(shelf); }
  // Answers kPath: GET to anybody, POST to other owners.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

  [[nodiscard]] json::array status() const;

 private:
  struct Kept {
    redundancy::StorageSet set;
    Instant since{};  // when this node heard of it
  };
  // What an owner says of itself.
  struct Report {
    redundancy::StorageSet set;
    std::map<unsigned, double> octets;  // by shelf
    double bearable = 0;
    std::uint64_t merged = 0;  // the version to which it has taken up what it must
  };
  enum class Change : std::uint8_t { kDouble, kHalve, kMerged };

  // --- changing, as keeper ---
  Task<Result<void>> change(Tag tag, Change change, std::uint64_t from_version);
  Task<bool> spread(Tag tag, unsigned widest);
  Task<void> tend(Tag tag);
  Task<void> try_to_halve(Tag tag);
  Task<void> finish_merge(Tag tag);
  Task<void> consider_doubling(Tag tag, unsigned slot, double octets, std::string origin);
  Task<Result<std::vector<Report>>> reports(Tag tag, unsigned replicas);
  [[nodiscard]] bool is_keeper(const Tag& tag) const;
  // --- as any owner ---
  Task<void> upkeep();
  Task<void> look_at(std::string tag, unsigned slot);
  Task<void> merge(Tag tag);
  Task<bool> take_up(Tag tag, unsigned slot, unsigned from, std::uint64_t version);
  Task<Result<void>> copy_here(redundancy::Partition from, redundancy::Partition to);
  Task<void> drop_handed(std::string tag);
  Task<void> drop(redundancy::Partition shelf);
  Task<void> sweep(Tag tag);
  Task<Result<double>> octets_of(Tag tag, unsigned slot);
  Task<Result<Report>> report(Tag tag);
  [[nodiscard]] double limit(double bearable, unsigned replicas) const;
  [[nodiscard]] const ring::Vserver* vserver_of(const Tag& tag, unsigned slot) const;
  [[nodiscard]] RingId position(const Tag& tag, unsigned slot, unsigned copy) const;
  // --- asking and answering ---
  Task<Result<Report>> ask(ring::Contact owner, Tag tag);
  Task<Result<redundancy::StorageSet>> call(std::string origin, Tag tag, json::object body);
  Task<Result<void>> check_owner(RingId position, std::string origin);
  Task<Result<json::object>> act(json::object request, std::string origin);
  [[nodiscard]] Result<redundancy::StorageSet> set_from(const json::object& object) const;
  [[nodiscard]] static json::object to_json(const redundancy::StorageSet& set);
  [[nodiscard]] static json::object to_json(const Report& report);

  Options options_;
  HistoryStore& history_;
  redundancy::StorageHints& hints_;
  Observer& observer_;
  overlay::RingService& rings_;
  federation::SignedClient& client_;
  federation::Authenticator& authenticator_;
  const federation::Identity& identity_;
  Clock& clock_;
  Log& log_;
  std::map<std::string, Kept> kept_;  // by tag
  std::set<std::pair<std::string, unsigned>> written_;
  std::map<std::string, std::pair<std::uint64_t, std::set<unsigned>>> merged_;  // by tag: version, shelves
  std::set<std::string> handed_;                                                // shelves
  std::map<std::string, std::uint64_t> swept_;  // by tag: the version for which that is done
  std::map<std::string, std::pair<std::uint64_t, Instant>> told_;  // by tag: which version all owners have
  std::set<std::string> busy_;                                     // tags that are being changed or merged
  TaskGroup tasks_;
};

}  // namespace tagring::storage
