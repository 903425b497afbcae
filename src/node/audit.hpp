// The audit of a hashtag (docs/audit.md, paper §3.4): holds what owners have signed that they took against
// what the storage owners of today sign that they have. What is proved by two signatures of one owner comes
// with its evidence; the rest is told as what it is, an observation of this node.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "node/heads.hpp"
#include "node/history_service.hpp"
#include "node/receipts.hpp"
#include "storage/evidence.hpp"

namespace tagring::node {

class Audit {
 public:
  Audit(Receipts& receipts, HistoryService& history, relay::Store& store, Actors& actors, HttpClient& http,
        const Notary& notary, Clock& clock)
      : receipts_(receipts),
        history_(history),
        store_(store),
        actors_(actors),
        http_(http),
        notary_(notary),
        clock_(clock) {}

  // What a relay took shorter ago may still be on its way to the storage owners.
  static constexpr Duration kGrace = std::chrono::minutes(10);

  // {"tag", "at", "posts", "receipts", "owners": […], "findings": […]}; docs/audit.md has the members.
  [[nodiscard]] Task<Result<json::object>> of(Tag tag);
  // The last reports since the start, the latest first.
  static constexpr std::size_t kRememberedMax = 10;
  [[nodiscard]] const std::deque<json::object>& last() const { return last_; }

 private:
  using Held = Receipts::Held;
  struct Post {
    WallTime published;
    std::vector<Held> of_relays;
    std::map<std::string, Held> of_storage;            // by origin of the owner
    std::set<std::string> holders;                     // who showed a receipt of a storage owner
    std::map<std::string, storage::PostState> states;  // at storage owners that answered
    bool removal = false;                              // somebody took its removal
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
  Task<Result<void>> question(Owner owner, Tag tag, Posts* posts, Report* report, json::object* line);
  Task<Result<Answer>> ask(Owner owner, Tag tag, std::int64_t hour, std::vector<std::string> uris);
  Task<bool> publishes(std::string uri, std::string tag);
  Task<void> judge(const Owner* owner, Tag tag, std::string uri, const Post* post, const Answer* answer,
                   std::size_t index, Report* report);
  void judge_relays(const std::string& uri, const Post& post, std::size_t asked, Report* report) const;
  Task<Result<json::object>> fetch(ring::Contact contact, std::string target);

  Receipts& receipts_;
  HistoryService& history_;
  relay::Store& store_;
  Actors& actors_;
  HttpClient& http_;
  const Notary& notary_;
  Clock& clock_;
  std::deque<json::object> last_;
};

}  // namespace tagring::node
