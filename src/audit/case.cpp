#include "audit/case.hpp"

#include <fmt/format.h>

#include "redundancy/partition.hpp"

namespace tagring::audit {

json::object* Report::find(const char* kind, const std::string& owner, const std::string& uri,
                           std::string words) {
  const auto line = lines.find(owner);
  // A post that was taken down is counted as a state.
  if (line != lines.end() && kind != storage::to_string(storage::PostState::kTakenDown))
    ++line->second.counts[kind];
  if (is_full()) return nullptr;
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
