// The audit of a hashtag (docs/audit.md, paper §3.4): holds what owners have signed that they took against
// what the storage owners of today sign that they have. What is proved by two signatures of one owner comes
// with its evidence; the rest is told as what it is, an observation of this node.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "audit/evidence.hpp"
#include "audit/receipts.hpp"
#include "audit/signed_tree_heads.hpp"
#include "storage/history_service.hpp"

namespace tagring::audit {

class Audit {
 public:
  Audit(Receipts& receipts, storage::HistoryService& history, redundancy::StorageHints& sets,
        relay::Store& store, federation::RemoteKeys& actors, overlay::RingService& rings, HttpClient& http,
        const Notary& notary, ReceiptStore& reports, Clock& clock)
      : receipts_(receipts),
        history_(history),
        sets_(sets),
        store_(store),
        actors_(actors),
        rings_(rings),
        http_(http),
        notary_(notary),
        reports_(reports),
        clock_(clock) {}

  // What a relay took shorter ago may still be on its way to the storage owners.
  static constexpr Duration kGrace = std::chrono::minutes(10);

  // {"tag", "at", "posts", "receipts", "owners": […], "findings": […]}; docs/audit.md has the members.
  [[nodiscard]] Task<Result<json::object>> of(Tag tag);
  // Reads the last reports, once at the start.
  [[nodiscard]] Task<Result<void>> load();
  // These, the latest first.
  static constexpr std::size_t kRememberedMax = 10;
  [[nodiscard]] const std::deque<json::object>& last() const { return last_; }

 private:
  using Held = Receipts::Held;
  using Part = std::pair<std::string, unsigned>;  // a storage owner's origin, and a shelf's slot
  // What an owner signed of a part that the post may be in.
  struct Seen {
    storage::PostState state = storage::PostState::kAbsent;
    WallTime at;               // of the head
    bool is_let_go = false;    // to make room
    bool is_promised = false;  // it signed that it took the post for this part, and has it still to keep
  };
  struct Post {
    WallTime published;
    std::vector<Held> of_relays;
    std::map<Part, Held> of_storage;
    std::set<std::string> holders;  // who showed a receipt of a storage owner
    std::size_t asked = 0;          // parts of owners
    std::map<Part, Seen> seen;      // where these answered
    bool removal = false;           // somebody took its removal
  };
  using Posts = std::map<std::string, Post>;  // by URI
  struct Answer {
    storage::Head head;
    std::vector<storage::HeadProof> proofs;
    std::vector<storage::PostState> states;
    std::map<std::string, storage::TakeDown> notices;  // by URI
  };
  struct Owner {
    ring::Contact contact;
    std::string key;  // PEM
    WallTime key_at;
    crypto::PublicKey public_key;
  };
  struct Report;

  Task<void> gather(Tag tag, Posts* posts, Report* report);
  Task<Result<void>> gather_from(ring::Contact relay, Tag tag, Posts* posts);
  Task<Result<Owner>> meet(ring::Contact contact);
  Task<void> question_all(Tag tag, Posts* posts, Report* report);
  Task<Result<void>> question(Owner owner, Tag tag, unsigned slot, std::vector<std::string> uris,
                              Posts* posts, Report* report);
  Task<Result<Answer>> ask(Owner owner, Tag tag, unsigned slot, std::int64_t hour,
                           std::vector<std::string> uris);
  Task<bool> publishes(std::string uri, std::string tag);
  Task<void> judge(const Owner* owner, unsigned slot, Tag tag, std::string uri, Post* post,
                   const Answer* answer, std::size_t index, Report* report);
  void judge_absence(const Owner& owner, const Part& part, const std::string& uri, Post* post,
                     const Answer& answer, std::size_t index, Report* report) const;
  void judge_missing(const Tag& tag, const std::string& uri, const Post& post, Report* report) const;
  Task<void> judge_handed(Tag tag, std::string uri, const Post* post, Report* report);
  Task<std::optional<storage::TakeDown>> explained(const Held* held);
  void judge_relays(const std::string& uri, const Post& post, Report* report) const;
  [[nodiscard]] std::vector<unsigned> slots_of(const std::string& tag, const std::string& uri) const;
  Task<Result<json::object>> fetch(ring::Contact contact, std::string target);

  Receipts& receipts_;
  storage::HistoryService& history_;
  redundancy::StorageHints& sets_;
  relay::Store& store_;
  federation::RemoteKeys& actors_;
  overlay::RingService& rings_;
  HttpClient& http_;
  const Notary& notary_;
  ReceiptStore& reports_;
  Clock& clock_;
  std::deque<json::object> last_;
};

}  // namespace tagring::audit
