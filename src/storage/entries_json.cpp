#include "storage/entries_json.hpp"

#include <algorithm>

namespace tagring::storage {

json::array to_json(const std::vector<HistoryEntry>& entries, bool with_tag) {
  json::array list;
  for (const HistoryEntry& entry : entries) {
    json::object item = {{"uri", entry.uri}, {"author", entry.author}, {"published", to_ms(entry.published)}};
    if (entry.removed) item["removed"] = true;
    if (entry.changed > WallTime()) item["updated"] = to_ms(entry.changed);
    if (entry.is_hearsay()) item["heard"] = true;
    if (with_tag) item["tag"] = entry.partition.name();
    list.push_back(std::move(item));
  }
  return list;
}

Result<std::vector<HistoryEntry>> entries_from_json(const json::value* list,
                                                    const std::optional<redundancy::Partition>& of) {
  if (list == nullptr || !list->is_array()) return fail(ErrorCode::kInvalid, "'entries' is no list");
  std::vector<HistoryEntry> entries;
  for (const json::value& element : list->get_array()) {
    if (!element.is_object()) return fail(ErrorCode::kInvalid, "'entries' holds something else than objects");
    const json::object& item = element.get_object();
    Result<redundancy::Partition> partition =
        of ? Result<redundancy::Partition>(*of) : redundancy::Partition::parse(json::text_of(item, "tag"));
    std::string uri = json::text_of(item, "uri");
    const auto published = json::get_int(item, "published");
    if (uri.empty() || !published || !partition)
      return fail(ErrorCode::kInvalid, "an entry lacks 'uri', 'published' or 'tag'");
    const bool removed = json::get_flag(item, "removed");
    const WallTime changed(Duration(std::max<Duration::rep>(0, json::get_int(item, "updated").value_or(0))));
    const bool is_heard = json::get_flag(item, "heard");
    entries.push_back({*std::move(partition), std::move(uri), json::text_of(item, "author"),
                       WallTime(Duration(*published)), removed, false, is_heard ? kBeforeAll : changed});
  }
  return entries;
}

}  // namespace tagring::storage
