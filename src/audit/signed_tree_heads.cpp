#include "audit/signed_tree_heads.hpp"

#include <algorithm>
#include <charconv>
#include <ranges>

#include "base/counted.hpp"
#include "base/printable.hpp"
#include "delivery/results.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"

namespace tagring::audit {
namespace {

constexpr std::size_t kPage = 1'000;
constexpr unsigned kReadTries = 5;                       // of an hour
constexpr Duration kHeardFor = std::chrono::minutes(1);  // until an hour with heard removals is read again
constexpr std::size_t kCachedMax = 200'000;              // leaves of all hours that are remembered

storage::PostState state_of(const storage::HistoryEntry& entry) {
  if (entry.taken_down) return storage::PostState::kTakenDown;
  return entry.removed ? storage::PostState::kRemoved : storage::PostState::kLive;
}

}  // namespace

Task<HttpResponse> SignedTreeHeads::answer(HttpRequest request) {
  const std::string query(query_of(request.target));
  const std::string hour_text = query_value(query, "hour");
  std::int64_t hour = 0;
  const auto [end, error] = std::from_chars(hour_text.data(), hour_text.data() + hour_text.size(), hour);
  constexpr std::int64_t kHourMax = std::int64_t{1} << 32U;
  if (error != std::errc() || end != hour_text.data() + hour_text.size() || hour < 0 || hour > kHourMax)
    co_return error_response({ErrorCode::kInvalid, "'hour' must be a number of hours since 1970"});
  std::vector<crypto::Hash256> ids;
  const std::string list = query_value(query, "id");
  for (const auto part : std::views::split(list, ',')) {
    const auto id = storage::hash_from(std::string_view(part));
    if (!id || ids.size() == kIdsMax)
      co_return error_response(
          {ErrorCode::kInvalid, "'id' must be up to 16 hashes of URIs, with commas between"});
    ids.push_back(*id);
  }
  Result<redundancy::Partition> partition = redundancy_.asked_for(query);
  if (partition && !redundancy_.is_read(*partition))
    partition = fail(ErrorCode::kNotOwner, "that part of the hashtag is with the owners of another");
  if (!partition) {
    const std::string tag = query_value(query, "tag");
    co_return co_await refuse(partition.error(), tag, std::move(ids));
  }
  // Each may read an hour, and signs.
  const budget::Share share(&budget_, budget::Resource::kProofs, budget_.who(request.peer));
  if (!share.is_granted()) co_return error_response({ErrorCode::kBusy, "too many proofs at a time"});
  Result<json::object> proven = co_await prove(*partition, hour, std::move(ids));
  if (!proven) co_return error_response(proven.error());
  for (auto& [name, value] : redundancy_.news({partition->tag})) (*proven)[name] = std::move(value);
  co_return json_response(*proven);
}

// What was taken down was handed to nobody, so the reasons are given by who is no owner any more as well.
Task<HttpResponse> SignedTreeHeads::refuse(Error error, std::string tag, std::vector<crypto::Hash256> ids) {
  HttpResponse response = error_response(error);
  const Result<Tag> parsed = Tag::parse(tag);
  Result<json::object> body = json::parse_object(response.body);
  if (!parsed || !body) co_return response;
  json::array notices;
  for (const crypto::Hash256& id : ids) {
    const auto notice = co_await history_.take_down_of(*parsed, id);
    if (notice && *notice) notices.push_back(storage::to_json(**notice));
  }
  if (!notices.empty()) (*body)["taken_down"] = std::move(notices);
  response.body = json::serialize(*body);
  co_return response;
}

Task<Result<json::object>> SignedTreeHeads::prove(redundancy::Partition partition, std::int64_t hour,
                                                  std::vector<crypto::Hash256> ids) {
  const WallTime now = notary_.now();
  CO_TRY(const BucketPtr bucket, co_await this->bucket(partition, hour));
  const WallTime at = bucket->heard > 0 ? bucket->at : now;  // it may have been read before
  storage::Head head{
      notary_.network(),     notary_.actor(),     partition, hour,         bucket->kept_from, at,
      bucket->leaves.size(), bucket->tree.root(), {},        bucket->begun};
  head.signature = co_await notary_.sign(head.signed_text());
  const std::vector<storage::HeadProof> found = co_await workers_.run([bucket, ids] {
    std::vector<storage::HeadProof> proofs;
    for (const crypto::Hash256& id : ids) proofs.push_back(storage::prove(bucket->leaves, bucket->tree, id));
    return proofs;
  });
  json::array proofs;
  json::array notices;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    proofs.push_back(storage::to_json(found[i]));
    if (!found[i].here || found[i].here->state != storage::PostState::kTakenDown) continue;
    CO_TRY(const auto notice, co_await history_.take_down_of(partition.tag, ids[i]));
    if (notice) notices.push_back(storage::to_json(*notice));
  }
  json::object result = {{"head", storage::to_json(head)}, {"proofs", std::move(proofs)}};
  if (!notices.empty()) result["taken_down"] = std::move(notices);
  co_return result;
}

// As it is now. An hour that has not changed since it was asked for is not read again. If removals were only
// heard in it, it is as it was when it was read, and is read again a minute later: that one became final
// shows nowhere else, but anybody may have placed one there, and then each question would cost the whole
// hour.
Task<Result<SignedTreeHeads::BucketPtr>> SignedTreeHeads::bucket(redundancy::Partition partition,
                                                                 std::int64_t hour) {
  CO_TRY(const storage::HourDigest now, co_await digest_of(partition, hour));
  CO_TRY(const storage::HistoryStore::Bucket first,
         co_await history_.bucket(partition, hour, std::nullopt, 1));
  const std::pair name(partition, hour);
  const auto known = buckets_.find(name);
  if (known != buckets_.end() && known->second->digest == now &&
      known->second->kept_from == first.kept_from && known->second->begun == first.begun &&
      known->second->corrected == first.corrected.size() &&
      (known->second->heard == 0 || notary_.now() - known->second->at < kHeardFor))
    co_return known->second;
  const std::uint64_t forgotten = forgotten_;
  CO_TRY(BucketPtr fresh, co_await read(partition, hour));
  if (forgotten != forgotten_) co_return co_await bucket(std::move(partition), hour);
  while (!buckets_.empty() && cached_ + fresh->leaves.size() + 1 > kCachedMax) {
    drop_some(buckets_, [this](const auto& entry) {
      if (entry.second) cached_ -= entry.second->leaves.size() + 1;
    });
  }
  BucketPtr& kept = buckets_[name];
  if (kept) cached_ -= kept->leaves.size() + 1;
  cached_ += fresh->leaves.size() + 1;
  kept = fresh;
  co_return fresh;
}

Task<Result<storage::HourDigest>> SignedTreeHeads::digest_of(redundancy::Partition partition,
                                                             std::int64_t hour) {
  const storage::HourPlace place{partition.key(), hour};
  std::vector<storage::HourRange> range{{place, place}};
  CO_TRY(const std::vector<storage::HourDigest> digests, co_await history_.digests(std::move(range), hour));
  co_return digests.front();
}

// What is corrected or moved between two pages, after it had been promised to somebody, would be in none of
// them, and a head without it is evidence against this node: so nothing may have changed at the end. What was
// let go meanwhile is older than that says.
Task<Result<SignedTreeHeads::BucketPtr>> SignedTreeHeads::read(redundancy::Partition partition,
                                                               std::int64_t hour) {
  auto bucket = std::make_shared<Bucket>();
  std::vector<crypto::Hash256> corrected;
  for (unsigned tries = 0;; ++tries) {
    if (tries == kReadTries) co_return fail(ErrorCode::kBusy, "that hour is changing; ask again soon");
    bucket->at = notary_.now();
    CO_TRY(bucket->digest, co_await digest_of(partition, hour));
    bucket->leaves.clear();
    bucket->heard = 0;
    std::optional<storage::HistoryCursor> after;
    do {
      CO_TRY(const storage::HistoryStore::Bucket page,
             co_await history_.bucket(partition, hour, after, kPage));
      for (const storage::HistoryEntry& entry : page.entries) {
        // Or whoever told it would speak with this node's signature.
        if (entry.removed && entry.is_hearsay()) {
          ++bucket->heard;
          continue;
        }
        bucket->leaves.push_back({storage::post_id(entry.uri), state_of(entry)});
      }
      after.reset();
      if (page.entries.size() == kPage) after = storage::HistoryCursor::of(page.entries.back());
    } while (after);
    CO_TRY(storage::HistoryStore::Bucket last, co_await history_.bucket(partition, hour, std::nullopt, 1));
    CO_TRY(const storage::HourDigest now, co_await digest_of(partition, hour));
    bucket->kept_from = last.kept_from;
    bucket->begun = last.begun;
    corrected = std::move(last.corrected);
    bucket->corrected = corrected.size();
    // What was let go is counted on in its hour, and in the one before.
    const bool is_whole = hour > storage::hour_of(last.kept_from);
    if (now == bucket->digest && (!is_whole || bucket->leaves.size() + bucket->heard == now.posts)) break;
  }
  co_return co_await workers_.run([bucket, corrected = std::move(corrected)] {
    std::ranges::sort(bucket->leaves);
    // What has come back is there.
    std::vector<storage::HeadLeaf> gone;
    for (const crypto::Hash256& id : corrected) {
      if (!std::ranges::binary_search(bucket->leaves, id, {}, &storage::HeadLeaf::id))
        gone.push_back({id, storage::PostState::kCorrected});
    }
    bucket->leaves.insert(bucket->leaves.end(), gone.begin(), gone.end());
    std::ranges::sort(bucket->leaves);
    bucket->tree = crypto::HashTree(storage::leaf_hashes(bucket->leaves));
    return BucketPtr(bucket);
  });
}

Task<Result<storage::TakeDown>> SignedTreeHeads::take_down(Tag tag, std::string uri, std::string reason) {
  if (reason.empty() || reason.size() > storage::TakeDown::kReasonMax || printable(reason) != reason)
    co_return fail(
        ErrorCode::kInvalid,
        "a take-down needs a reason, of one line without control characters and at most 1000 bytes");
  const WallTime at = notary_.now();
  storage::TakeDown notice{
      notary_.network(), notary_.actor(), tag, std::move(uri), std::move(reason), at, {}};
  notice.signature = co_await notary_.sign(notice.signed_text());
  CO_TRY_VOID(co_await history_.take_down(notice));
  forget_heads();
  taken_down_.emplace(notice.tag, notice.uri);
  std::vector<std::pair<redundancy::Partition, std::string>> places;
  for (const unsigned partition :
       redundancy::partitions_of_set(redundancy_.copies(), redundancy_.of(notice.tag).read_factor))
    places.emplace_back(redundancy::Partition(notice.tag, partition), notice.uri);
  CO_TRY(auto found, co_await history_.find(std::move(places)));
  for (auto& entry : found) {
    if (!entry) continue;
    entry->partition = notice.tag;
    on_taken_down_(*entry);
    break;
  }
  co_return notice;
}

// Digests do not tell what is taken down from what is not.
void SignedTreeHeads::forget_heads() {
  buckets_.clear();
  cached_ = 0;
  ++forgotten_;
}

Task<Result<void>> SignedTreeHeads::undo_take_down(Tag tag, std::string uri) {
  CO_TRY_VOID(co_await history_.undo_take_down(tag, uri));
  forget_heads();
  taken_down_.erase({tag, uri});
  co_return Result<void>();
}

Task<Result<void>> SignedTreeHeads::load() {
  CO_TRY(const std::vector<storage::TakeDown> notices, co_await history_.take_downs());
  for (const storage::TakeDown& notice : notices) taken_down_.emplace(notice.tag, notice.uri);
  co_return Result<void>();
}

Task<Result<json::object>> SignedTreeHeads::take_downs() {
  CO_TRY(const std::vector<storage::TakeDown> notices, co_await history_.take_downs());
  json::array list;
  for (const storage::TakeDown& notice : notices | std::views::take(kListMax))
    list.push_back(storage::to_json(notice));
  co_return json::object{{"takedowns", std::move(list)}};
}

}  // namespace tagring::audit
