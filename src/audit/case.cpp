#include "audit/case.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "redundancy/partition.hpp"
#include "storage/history.hpp"

namespace tagring::audit {

std::vector<const Held*> AuditedPost::promises(const Part& part, std::int64_t hour) const {
  std::vector<const Held*> found;
  const auto of_part = of_storage.find(part);
  if (of_part == of_storage.end()) return found;
  for (const auto& [holder, held] : of_part->second) {
    if (storage::hour_of(held.receipt.item.published) == hour) found.push_back(&held);
  }
  return found;
}

std::map<std::int64_t, WallTime> AuditedPost::dates(const Part& part) const {
  std::map<std::int64_t, WallTime> found;
  const auto add = [&](const std::map<std::string, Held>& shown) {
    for (const auto& [holder, held] : shown)
      found.emplace(storage::hour_of(held.receipt.item.published), held.receipt.item.published);
  };
  if (const auto own = of_storage.find(part); own != of_storage.end()) add(own->second);
  if (!found.empty()) return found;
  if (published_here) return {{storage::hour_of(*published_here), *published_here}};
  for (const auto& [other, shown] : of_storage) add(shown);
  return found;
}

bool AuditedPost::is_nowhere() const {
  std::size_t all = 0;
  for (const auto& [part, owners] : asked) all += owners;
  return all > 0 && seen.size() == all && std::ranges::all_of(seen, [](const auto& entry) {
           return entry.second.state == storage::PostState::kAbsent;
         });
}

json::object* Report::find(const char* kind, const std::string& owner, const std::string& uri,
                           std::string words) {
  const auto line = lines.find(owner);
  // A post that was taken down is counted as a state.
  if (line != lines.end() && kind != storage::to_string(storage::PostState::kTakenDown))
    ++line->second.counts[kind];
  if (is_full(owner)) return nullptr;
  ++found_of[owner];
  findings.push_back(
      json::object{{"kind", kind}, {"owner", owner}, {"uri", uri}, {"words", std::move(words)}});
  return &findings.back().get_object();
}

void Report::find_taken_down(const std::string& owner, const storage::TakeDown& notice) {
  json::object* finding = find("taken_down", owner, notice.uri,
                               fmt::format("{} took {} down from #{} at {}: {}", owner, notice.uri,
                                           notice.tag.canonical(), to_rfc3339(notice.at), notice.reason));
  if (finding != nullptr) (*finding)["notice"] = storage::to_json(notice);
}

std::vector<unsigned> partitions_of(const redundancy::StorageHints& hints, const Tag& tag,
                                    const std::string& uri) {
  return redundancy::partitions_of_post(uri, hints.copies(), hints.at_rest(), hints.known(tag).read_factor);
}

}  // namespace tagring::audit
