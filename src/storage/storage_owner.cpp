#include "storage/storage_owner.hpp"

namespace tagring::storage {

Task<Result<std::vector<delivery::Refusal>>> StorageOwner::take(std::vector<delivery::TagEvent> events,
                                                                std::string sender,
                                                                redundancy::RelayClaims claims) {
  std::vector<delivery::Refusal> refusals;
  const auto refuse_unwanted = [&] {
    std::erase_if(events, [&](delivery::TagEvent& event) {
      const bool unwanted = event.op == delivery::Op::kAdd && !event.indexable;
      const Error error{ErrorCode::kDenied, "the author does not wish to be found (indexable)"};
      if (unwanted) refusals.push_back({event.uri, event.tag, error});
      return unwanted;
    });
  };
  refuse_unwanted();
  events =
      co_await checker_.believable(*this, std::move(events), std::move(sender), std::move(claims), &refusals);
  refuse_unwanted();  // the author may say otherwise than the sender
  std::vector<HistoryEntry> entries;
  for (const delivery::TagEvent& event : events) {
    for (HistoryEntry& entry : places(event)) {
      redundancy_.note_written(entry.partition);
      entries.push_back(std::move(entry));
    }
  }
  const std::size_t count = entries.size();
  if (count > 0) {
    disputes_.promise(entries);
    CO_TRY_VOID(co_await history_.put(std::move(entries)));
    archived_ += count;
  }
  co_return refusals;
}

std::vector<HistoryEntry> StorageOwner::places(const delivery::TagEvent& event) const {
  const bool removed = event.op == delivery::Op::kRemove;
  const auto partitions = kept_.partitions_for(event.tag, event.uri, removed);
  std::vector<HistoryEntry> entries;
  for (const unsigned number : partitions.value_or(std::vector<unsigned>()))
    entries.push_back(
        {{event.tag, number}, event.uri, event.author, event.published, removed, false, event.changed});
  return entries;
}

// What nodes owe to whoever follows them, others have brought mostly.
Task<std::set<const delivery::TagEvent*>> StorageOwner::known(std::vector<const delivery::TagEvent*> events) {
  std::vector<HistoryEntry> entries;
  std::vector<const delivery::TagEvent*> of;
  std::vector<std::pair<redundancy::Partition, std::string>> keys;
  for (const delivery::TagEvent* event : events) {
    for (HistoryEntry& entry : places(*event)) {
      keys.emplace_back(entry.partition, entry.uri);
      entries.push_back(std::move(entry));
      of.push_back(event);
    }
  }
  if (keys.empty()) co_return std::set<const delivery::TagEvent*>();
  const auto mine = co_await history_.find(std::move(keys));
  if (!mine) co_return std::set<const delivery::TagEvent*>();
  std::set<const delivery::TagEvent*> known(of.begin(), of.end());
  for (std::size_t i = 0; i < of.size(); ++i) {
    if ((*mine)[i] != entries[i] || disputes_.is_open(entries[i])) known.erase(of[i]);
  }
  co_return known;
}

Result<void> StorageOwner::check_place(const delivery::TagEvent& event) const {
  TRY_VOID(kept_.partitions_for(event.tag, event.uri, event.op == delivery::Op::kRemove));
  return {};
}

Task<redundancy::RelayHalves> StorageOwner::witness(Tag tag, std::string sender,
                                                    std::optional<redundancy::RelayClaim> claim) {
  return relays_.witness(std::move(tag), std::move(sender), claim);
}

}  // namespace tagring::storage
