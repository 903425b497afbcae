// What follows from what owners promised and what they say: the findings of an audit. What is proved by two
// signatures of one owner comes with its evidence; the rest is told as what it is, an observation of this
// node.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "audit/case.hpp"
#include "audit/evidence.hpp"
#include "audit/receipts.hpp"
#include "base/time.hpp"
#include "delivery/store.hpp"
#include "hashtag/tag.hpp"
#include "http/message.hpp"
#include "redundancy/storage_hints.hpp"
#include "storage/statements.hpp"

namespace tagring::audit {

class Judge {
 public:
  // What a relay took shorter ago may still be on its way to the storage owners.
  static constexpr Duration kGrace = std::chrono::minutes(10);

  Judge(const redundancy::StorageHints& hints, delivery::Store& store, Receipts& receipts, HttpClient& http,
        const Clock& clock)
      : hints_(hints), store_(store), receipts_(receipts), http_(http), clock_(clock) {}

  // What one owner says of one post, at `index` of its answer. Owner and answer outlive the task.
  struct Statement {
    const AuditedOwner* owner;
    unsigned partition;
    Tag tag;
    std::string uri;
    WallTime date;  // under which it was asked for
    const OwnerAnswer* answer;
    std::size_t index;
  };
  // Notes in `post` what bears on judge_all(). Both outlive the task.
  [[nodiscard]] Task<void> judge(Statement statement, AuditedPost* post, Report* report);
  // This node publishes one of these under that hashtag still, and has never had owners take it out.
  [[nodiscard]] Task<bool> publishes_any(std::vector<std::string> uris, Tag tag);
  // When all owners were asked.
  [[nodiscard]] Task<void> judge_all(Tag tag, const AuditedPosts* posts, Report* report);

 private:
  Task<std::optional<WallTime>> stands(std::string uri, Tag tag);
  // What is shown of a post's way through a relay.
  struct Passed {
    bool by_it = false;             // to a storage owner
    bool by_any = false;            // and by any relay
    std::set<std::string> unclear;  // others, by what that relay shows
  };
  static Passed passed_on(const std::string& relay, const AuditedPost& post, const Report& report);
  static void find_omitted(const Evidence& evidence, Report* report);
  void judge_absence(const Statement& statement, AuditedPost* post, Report* report) const;
  void judge_missing(const Tag& tag, const std::string& uri, const AuditedPost& post, Report* report) const;
  Task<void> judge_handed(Tag tag, std::string uri, const AuditedPost* post, Report* report);
  Task<std::optional<storage::TakeDown>> explained(const Held* held);
  void judge_relays(const std::string& uri, const AuditedPost& post, Report* report) const;

  const redundancy::StorageHints& hints_;
  delivery::Store& store_;
  Receipts& receipts_;
  HttpClient& http_;
  const Clock& clock_;
};

}  // namespace tagring::audit
