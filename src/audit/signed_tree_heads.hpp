// What this node, as a storage owner, says of the history of a hashtag in an hour, signed: a head, and where
// in it posts stand or do not (docs/audit.md). And what its administrator takes down, which shows there with
// the reason.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "audit/notary.hpp"
#include "budget/manager.hpp"
#include "crypto/hash.hpp"
#include "crypto/merkle.hpp"
#include "hashtag/tag.hpp"
#include "http/message.hpp"
#include "redundancy/partition.hpp"
#include "storage/history.hpp"
#include "storage/kept_partitions.hpp"
#include "storage/statements.hpp"

namespace tagring::audit {

class SignedTreeHeads {
 public:
  // `on_taken_down` is called for each post that the administrator has just taken down.
  SignedTreeHeads(storage::HistoryStore& history, const storage::KeptPartitions& redundancy, Notary& notary,
                  budget::Manager& budget, Workers& workers,
                  std::function<void(const storage::HistoryEntry&)> on_taken_down)
      : history_(history),
        redundancy_(redundancy),
        notary_(notary),
        budget_(budget),
        workers_(workers),
        on_taken_down_(std::move(on_taken_down)) {}

  static constexpr std::string_view kPath = "/tagring/v1/history/proof";
  static constexpr std::size_t kIdsMax = 16;

  // Answers GET kPath"?tag=…[&slot=…]&hour=…&id=…[,…]": the head of that partition
  // (redundancy/partition.hpp), a proof for each id, and the notices of those that were taken down. kNotOwner
  // or kBusy unless this node serves it, with these notices.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);
  // Shows the post under that hashtag to nobody any more, whoever else has it; auditors find the reason here.
  [[nodiscard]] Task<Result<storage::TakeDown>> take_down(Tag tag, std::string uri, std::string reason);
  // Shows it again. The heads from then on say that it is there: nothing more needs to be signed.
  [[nodiscard]] Task<Result<void>> undo_take_down(Tag tag, std::string uri);
  // What was taken down, once at the start.
  [[nodiscard]] Task<Result<void>> load();
  [[nodiscard]] bool is_taken_down(const Tag& tag, const std::string& uri) const {
    return taken_down_.contains({tag, uri});
  }
  // The latest first, at most kListMax: {"takedowns": [docs/audit.md]}.
  static constexpr std::size_t kListMax = 500;
  [[nodiscard]] Task<Result<json::object>> take_downs();

 private:
  struct Bucket {
    WallTime at;                 // before it was read
    storage::HourDigest digest;  // of the time when it was read
    WallTime kept_from;
    WallTime begun;
    std::size_t corrected = 0;  // posts that were there
    std::size_t heard = 0;      // removals that nobody answers for (storage::kBeforeAll), which are left out
    std::vector<storage::HeadLeaf> leaves;
    crypto::HashTree tree{{}};  // of their hashes
  };
  using BucketPtr = std::shared_ptr<const Bucket>;
  Task<Result<BucketPtr>> bucket(redundancy::Partition partition, std::int64_t hour);
  Task<Result<storage::HourDigest>> digest_of(redundancy::Partition partition, std::int64_t hour);
  Task<Result<BucketPtr>> read(redundancy::Partition partition, std::int64_t hour);
  Task<Result<json::object>> prove(redundancy::Partition partition, std::int64_t hour,
                                   std::vector<crypto::Hash256> ids);

  void forget_heads();
  Task<HttpResponse> refuse(Error error, std::string tag, std::vector<crypto::Hash256> ids);

  storage::HistoryStore& history_;
  const storage::KeptPartitions& redundancy_;
  Notary& notary_;
  budget::Manager& budget_;
  Workers& workers_;
  const std::function<void(const storage::HistoryEntry&)> on_taken_down_;
  std::map<std::pair<redundancy::Partition, std::int64_t>, BucketPtr> buckets_;  // by partition and hour
  std::size_t cached_ = 0;                                                       // leaves
  std::uint64_t forgotten_ = 0;                                                  // how often
  std::set<std::pair<Tag, std::string>> taken_down_;                             // tag and URI
};

}  // namespace tagring::audit
