#include "followers/documents.hpp"

#include <algorithm>

#include "base/json.hpp"

namespace tagring::followers {
namespace {

constexpr std::size_t kUrlBytesMax = 2048;
constexpr std::size_t kIdBytesMax = 2048;
// Everything in a document but the ids: four URLs at most, and the names around them.
constexpr std::size_t kFrameBytes = 4 * (kUrlBytesMax + 16) + 512;

std::size_t room(DocumentLimits limits) { return limits.bytes_max - std::min(limits.bytes_max, kFrameBytes); }

// With quotes and comma.
std::size_t weight(const std::string& id) { return json::serialize(json::value(id)).size() + 1; }

json::object make_document(std::string_view url, std::string_view type) {
  return {{"@context", "https://www.w3.org/ns/activitystreams"}, {"id", url}, {"type", type}};
}

json::array make_items(const std::vector<std::string>& ids) {
  json::array items;
  items.reserve(ids.size());
  for (const std::string& id : ids) items.emplace_back(id);
  return items;
}

std::string page_url(std::string_view url, std::size_t number) {
  return std::string(url) + '/' + std::to_string(number);
}

}  // namespace

bool documents_fit(std::uint64_t count, std::uint64_t bytes, DocumentLimits limits) {
  constexpr std::size_t kAround = 3;  // quotes and comma
  // An id that does not fit on a page leaves that much of it empty.
  constexpr std::size_t kWaste = kIdBytesMax + kAround;
  const std::uint64_t page = room(limits) - std::min(room(limits), kWaste);
  return bytes + kAround * count <= page * limits.pages_max;
}

std::optional<std::vector<std::vector<std::string>>> split_pages(std::vector<std::string> ids,
                                                                 DocumentLimits limits) {
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::vector<std::vector<std::string>> pages(1);
  std::size_t bytes = 0;
  for (std::string& id : ids) {
    const std::size_t needs = weight(id);
    if (bytes + needs > room(limits)) {
      if (pages.back().empty() || pages.size() == limits.pages_max) return std::nullopt;
      pages.emplace_back();
      bytes = 0;
    }
    bytes += needs;
    pages.back().push_back(std::move(id));
  }
  return pages;
}

std::optional<std::vector<Document>> make_documents(std::string_view url, std::vector<std::string> ids,
                                                    DocumentLimits limits) {
  const auto pages = split_pages(std::move(ids), limits);
  if (!pages) return std::nullopt;
  std::vector<Document> documents;
  json::object root = make_document(url, "OrderedCollection");
  if (pages->size() == 1) {
    // There even when it is empty: some receivers take its absence for an error.
    root["orderedItems"] = make_items(pages->front());
    documents.push_back({std::string(url), json::serialize(root)});
    return documents;
  }
  root["first"] = page_url(url, 1);
  documents.push_back({std::string(url), json::serialize(root)});
  for (std::size_t i = 0; i < pages->size(); ++i) {
    json::object page = make_document(page_url(url, i + 1), "OrderedCollectionPage");
    page["partOf"] = url;
    if (i + 1 < pages->size()) page["next"] = page_url(url, i + 2);
    page["orderedItems"] = make_items((*pages)[i]);
    documents.push_back({page_url(url, i + 1), json::serialize(page)});
  }
  return documents;
}

}  // namespace tagring::followers
