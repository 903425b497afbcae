#include "audit/receipt_issuer.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "crypto/merkle.hpp"
#include "redundancy/partition.hpp"

namespace tagring::audit {
namespace {

using Items = std::vector<storage::TakenItem>;
using Place = std::pair<redundancy::Partition, std::string>;  // and URI

storage::TakenItem item_of(const delivery::TagEvent& event) {
  const bool removal = event.op == delivery::Op::kRemove;
  return {event.tag, event.uri, removal, event.published, event.indexable && !removal};
}

}  // namespace

std::vector<storage::TakenItem> taken_items(const std::vector<delivery::TagEvent>& events,
                                            const std::vector<delivery::Refusal>& refusals) {
  std::set<Place> refused;
  for (const delivery::Refusal& refusal : refusals) refused.emplace(refusal.tag, refusal.uri);
  std::map<Place, storage::TakenItem> items;
  for (const delivery::TagEvent& event : events) {
    if (!refused.contains({event.tag, event.uri})) items.try_emplace({event.tag, event.uri}, item_of(event));
  }
  std::vector<storage::TakenItem> sorted;
  for (auto& [place, item] : items) sorted.push_back(std::move(item));
  return sorted;
}

// The partitions on which it may be here, beginning with that on which it would be put now.
std::vector<unsigned> ReceiptIssuer::partitions_of(const storage::TakenItem& item) const {
  const redundancy::StorageSet set = redundancy_.of(item.partition.tag);
  std::vector<unsigned> partitions =
      redundancy::partitions_of_post(item.uri, redundancy_.copies(), redundancy_.at_rest(), set.read_factor);
  const unsigned now = redundancy::partition_of_post(item.uri, redundancy_.copies(), set.replicas);
  std::erase(partitions, now);
  partitions.insert(partitions.begin(), now);
  return partitions;
}

// Of a post that was known already the first date counts; one that is too old to be kept is not there, nor
// where its removal was only heard: no head names it.
Task<Result<Items>> ReceiptIssuer::as_kept(Items items, json::array* differs) {
  std::vector<Place> places;
  for (const storage::TakenItem& item : items) {
    for (const unsigned partition : partitions_of(item))
      places.emplace_back(redundancy::Partition(item.partition.tag, partition), item.uri);
  }
  CO_TRY(const auto stored, co_await history_.find(places));
  std::map<Place, storage::HistoryEntry> there;  // by partition and URI
  for (const auto& entry : stored) {
    if (entry && !(entry->removed && entry->is_hearsay()))
      there.emplace(Place(entry->partition, entry->uri), *entry);
  }
  Items kept;
  for (storage::TakenItem& item : items) {
    const storage::TakenItem sent = item;
    bool is_there = false;
    for (const unsigned partition : partitions_of(item)) {
      const auto entry = there.find({redundancy::Partition(item.partition.tag, partition), item.uri});
      is_there = entry != there.end();
      if (!is_there) continue;
      item.published = entry->second.published;
      if (!item.removal) item.partition.number = partition;
      break;
    }
    if (is_there && item == sent) {
      kept.push_back(std::move(item));
      continue;
    }
    json::object difference = {{"tag", item.partition.tag.canonical()}, {"uri", item.uri}};
    if (is_there) difference["published"] = to_ms(item.published);
    if (item.partition.number != 0) difference["slot"] = item.partition.number;
    differs->push_back(std::move(difference));
    if (is_there) kept.push_back(std::move(item));
  }
  co_return kept;
}

Task<json::object> ReceiptIssuer::issue(Ring ring, std::vector<delivery::TagEvent> events,
                                        std::vector<delivery::Refusal> refusals) {
  Items items = taken_items(events, refusals);
  json::array differs;
  if (ring == Ring::kStorage && !items.empty()) {
    Result<Items> kept = co_await as_kept(std::move(items), &differs);
    if (!kept) co_return json::object();
    items = std::move(*kept);
  }
  if (items.empty()) co_return json::object();
  const WallTime at = notary_.now();
  storage::Receipt receipt{notary_.network(), ring, notary_.actor(), at, items.size(), {}, {}};
  receipt.root = crypto::tree_root(leaves_of(items));
  receipt.signature = co_await notary_.sign(receipt.signed_text());
  ++issued_;
  json::object result = storage::to_json(receipt);
  if (!differs.empty()) result["differs"] = std::move(differs);
  co_return result;
}

}  // namespace tagring::audit
