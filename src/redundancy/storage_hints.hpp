// How many storage owners hashtags have: what owners said last, and what this node keeps itself as one of
// them (paper §7.2). An owner knows better, and says so in every answer; so this is a hint that may be wrong
// at any time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "hashtag/tag.hpp"
#include "redundancy/storage_place.hpp"

namespace tagring::redundancy {

// How many storage owners a hashtag has, where that ever was another number than at rest (paper §7.2;
// docs/protocol.md, "Storage sets").
struct StorageSet {
  Tag tag;
  std::uint64_t version = 0;  // larger after every change; 0: never changed
  unsigned replicas = 0;      // for new posts
  unsigned read_factor = 0;   // as many have to be asked for all posts; at least `replicas`
  WallTime at;                // of the change

  friend bool operator==(const StorageSet&, const StorageSet&) = default;
};
// `a` is what counts, of two that say something else.
bool supersedes(const StorageSet& a, const StorageSet& b);

// {"tag","version","replicas","reach","at"}
json::object to_json(const StorageSet& set);
json::array to_json(const std::vector<StorageSet>& sets);

class StorageHints {
 public:
  // `at_rest`: of every hashtag that is not known to have more.
  StorageHints(unsigned at_rest, Clock& clock) : at_rest_(at_rest), clock_(clock) {}

  [[nodiscard]] unsigned at_rest() const { return at_rest_; }
  [[nodiscard]] unsigned copies() const { return copies_in_storage(at_rest_); }

  // What this node keeps of the tag as storage owner; at rest if that is nothing.
  [[nodiscard]] StorageSet kept(const Tag& tag) const;
  void keep(StorageSet set);
  void keep_nothing(const Tag& tag) { kept_.erase(tag); }

  // The latest that this node has heard or keeps. A set counts when every owner at rest has it on disk; so of
  // three or more that have spoken lately, one is not believed against all others.
  [[nodiscard]] StorageSet known(const Tag& tag) const;
  // "stores" of the answer of the owner at that origin to something about these tags. Those that it does not
  // name have as many as at rest.
  void read_answer(const json::object& answer, const std::set<Tag>& tags, const std::string& owner);
  // An owner has refused what belongs there by what is known, and has not told better.
  void doubt(const Tag& tag);

  // A set of this network may have these numbers: powers of two up to 256, none below those at rest.
  [[nodiscard]] bool is_sound(std::int64_t replicas, std::int64_t read_factor) const;
  // kInvalid if something is malformed, or fewer than at rest.
  [[nodiscard]] Result<StorageSet> set_from(const json::object& object) const;
  [[nodiscard]] Result<std::vector<StorageSet>> sets_from(const json::value* list) const;

 private:
  struct Hint {
    StorageSet set;
    Instant told{};
  };
  using Said = std::map<std::string, Hint>;  // by the owner's origin
  [[nodiscard]] bool is_fresh(const Hint& hint) const;
  void learn(const std::string& owner, StorageSet set);

  unsigned at_rest_;
  Clock& clock_;
  std::map<Tag, StorageSet> kept_;
  std::map<Tag, Said> hints_;  // of which one has named other than at rest
};

}  // namespace tagring::redundancy
