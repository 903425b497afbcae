// What an audit has in hand of one hashtag: what was promised of each post, what owners say of it, and what
// was found.
#pragma once

#include <map>
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

// What an owner signed of a part that the post may be in.
struct Seen {
  storage::PostState state = storage::PostState::kAbsent;
  WallTime at;               // of the head
  bool is_let_go = false;    // to make room
  bool is_promised = false;  // it signed that it took the post for this part, and has it still to keep
};
struct AuditedPost {
  WallTime published;
  std::vector<Held> of_relays;
  std::map<Part, Held> of_storage;
  std::set<std::string> holders;  // who showed a receipt of a storage owner
  std::size_t asked = 0;          // parts of owners
  std::map<Part, Seen> seen;      // where these answered
  bool removal = false;           // somebody took its removal
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
  static constexpr std::size_t kFindingsMax = 200;

  // Of what an owner keeps of the hashtag.
  struct Line {
    std::map<std::string, std::uint64_t> counts;  // by state, and by finding
    std::uint64_t asked = 0;
    std::string error;
  };
  json::array findings;
  std::set<std::string> answered;  // relays that showed their receipts
  std::size_t receipts = 0;
  std::map<std::string, Line> lines;  // by the owner's origin

  // Adds a finding, and returns it for more members; nothing beyond kFindingsMax.
  json::object* find(const char* kind, const std::string& owner, const std::string& uri, std::string words);
  void find_taken_down(const std::string& owner, const storage::TakeDown& notice);
  [[nodiscard]] bool is_full() const { return findings.size() >= kFindingsMax; }
};

// The partitions of the partitions on which the post may be, as far as is known.
std::vector<unsigned> partitions_of(const redundancy::StorageHints& hints, const Tag& tag,
                                    const std::string& uri);

}  // namespace tagring::audit
