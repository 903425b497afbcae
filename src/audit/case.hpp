// What an audit has in hand of one hashtag: what was promised of each post, what owners say of it, and what
// was found.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "audit/receipts.hpp"
#include "base/json.hpp"
#include "base/time.hpp"
#include "crypto/key.hpp"
#include "redundancy/storage_hints.hpp"
#include "ring/contact.hpp"
#include "storage/statements.hpp"

namespace tagring::audit {

inline constexpr Duration kAuditTimeout = std::chrono::seconds(10);  // for one answer
using Held = Receipts::Held;
using Part = std::pair<std::string, unsigned>;  // a storage owner's origin, and a partition's number

// What an owner signed of a part that the post may be in, of all the hours that it was asked for.
struct Seen {
  storage::PostState state = storage::PostState::kAbsent;
  WallTime at;               // of the head
  bool is_let_go = true;     // to make room, in every hour where it could be
  bool is_promised = false;  // it signed that it took the post for this part, and has it still to keep
};
struct AuditedPost {
  // Its date, if this node publishes it under the hashtag still, and has never had owners take it out.
  std::optional<WallTime> published_here;
  // It has: they do as they were told. An author who wishes to be kept no more takes back what is relayed on,
  // and a hashtag may come back after that.
  bool is_taken_out = false;
  std::vector<Held> of_relays;  // what this node has itself
  // The latest that each who shows some shows: none displaces what another one does.
  std::map<Part, std::map<std::string, Held>> of_storage;
  std::set<std::string> removed_by;  // owners that signed that its author removed it
  // By relay: owners whose receipts it shows, and which cannot be asked whether that is their signature.
  std::map<std::string, std::set<std::string>> unchecked;
  std::map<unsigned, std::size_t> asked;  // owners, by the number of the part
  std::map<Part, Seen> seen;              // where these answered

  // What that owner signed of the post for that part, of that hour.
  [[nodiscard]] std::vector<const Held*> promises(const Part& part, std::int64_t hour) const;
  // In which hours that owner is to have it, and the date in each: as it has signed; or as it is published
  // here; or by what the others of whom that is not known have signed.
  [[nodiscard]] std::map<std::int64_t, WallTime> dates(const Part& part) const;
  // All have answered that they do not have it.
  [[nodiscard]] bool is_nowhere() const;
};
using AuditedPosts = std::map<std::string, AuditedPost>;  // by URI

// A storage owner whose key is known.
struct AuditedOwner {
  ring::Contact contact;
  std::string key;  // PEM
  WallTime key_at;
  crypto::PublicKey public_key;
};
// What it signed of some posts: a state and a proof for each.
struct OwnerAnswer {
  storage::Head head;
  std::vector<storage::HeadProof> proofs = {};
  std::vector<storage::PostState> states = {};
  std::map<std::string, storage::TakeDown> notices = {};  // by URI
};

struct Report {
  static constexpr std::size_t kFindingsMax = 100;  // about one owner, or about nobody

  // Of what an owner keeps of the hashtag.
  struct Line {
    std::map<std::string, std::uint64_t> counts;  // by state, and by finding
    std::uint64_t asked = 0;
    std::string error;
  };
  json::array findings;
  std::map<std::string, std::size_t> found_of;  // how many of these are about whom
  std::string self;                             // this node's origin
  std::set<std::string> answered;               // relays that showed their receipts, all of them
  // Who is known to have been a storage owner of the hashtag, other than by what one relay shows.
  std::set<std::string> owners;
  std::size_t receipts = 0;
  std::size_t unchecked = 0;          // receipts of owners that cannot be asked
  std::map<std::string, Line> lines;  // by the owner's origin

  // Adds a finding, and returns it for more members; nothing beyond kFindingsMax. Where it is not known who
  // is at fault, `owner` is empty.
  json::object* find(const char* kind, const std::string& owner, const std::string& uri, std::string words);
  void find_taken_down(const std::string& owner, const storage::TakeDown& notice);
  [[nodiscard]] bool is_full(const std::string& owner) const {
    const auto found = found_of.find(owner);
    return found != found_of.end() && found->second >= kFindingsMax;
  }
};

// The partitions of the partitions on which the post may be, as far as is known.
std::vector<unsigned> partitions_of(const redundancy::StorageHints& hints, const Tag& tag,
                                    const std::string& uri);

}  // namespace tagring::audit
