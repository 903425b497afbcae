#include "audit/samples.hpp"

#include <utility>

#include "audit/case.hpp"
#include "audit/judge.hpp"
#include "audit/signed_tree_heads.hpp"

namespace tagring::audit {

Task<std::optional<Sample>> Samples::draw() {
  std::optional<Sample> sample;
  if (rng_.chance(kOfRead)) sample = of_read();
  if (!sample) sample = co_await of_own();
  if (!sample) sample = of_read();
  co_return sample;
}

Task<std::optional<Sample>> Samples::of_own() {
  const auto batch = co_await receipts_.at(rng_.below(ReceiptStore::kPlaces));
  if (!batch || !*batch || (*batch)->items.empty()) co_return std::nullopt;
  const std::vector<storage::TakenItem>& items = (*batch)->items;
  // What was taken shorter ago may still be on its way.
  if (clock_.wall_now() - (*batch)->receipt.at < Judge::kGrace) co_return std::nullopt;
  const storage::TakenItem& first = items[rng_.below(items.size())];
  Sample sample{first.partition.tag,
                storage::hour_of(first.published),
                {},
                partitions_of(hints_, first.partition.tag, first.uri),
                /*own=*/true};
  for (const storage::TakenItem& item : items) {
    const bool fits = !item.removal && item.indexable && item.partition.tag == first.partition.tag &&
                      storage::hour_of(item.published) == sample.hour &&
                      partitions_of(hints_, item.partition.tag, item.uri) == sample.partitions;
    if (fits && sample.uris.size() < SignedTreeHeads::kIdsMax) sample.uris.push_back(item.uri);
  }
  if (sample.uris.empty()) co_return std::nullopt;
  co_return sample;
}

std::optional<Sample> Samples::of_read() {
  const auto& read = history_.lately_read();
  if (read.empty()) return std::nullopt;
  const storage::HistoryEntry& entry = read[rng_.below(read.size())];
  if (clock_.wall_now() - entry.published < Judge::kGrace) return std::nullopt;
  return Sample{entry.partition.tag,
                storage::hour_of(entry.published),
                {entry.uri},
                partitions_of(hints_, entry.partition.tag, entry.uri)};
}

}  // namespace tagring::audit
