// Cursors, and pages of replicas merged: whoever reads page after page sees everything once, newest first,
// and nothing that any replica knows to be removed.
#include "storage/history.hpp"

#include <algorithm>
#include <set>

#include "fuzz/target.hpp"

namespace tagring::fuzzing {
namespace {

using namespace storage;

constexpr std::size_t kSteps = 64;

void check_cursor(std::string_view text) {
  const Result<HistoryCursor> cursor = HistoryCursor::parse(text);
  if (!cursor) return;
  const Result<HistoryCursor> again = HistoryCursor::parse(cursor->text());
  // Escapes make a text longer, perhaps too long; that of a real URI never is.
  TR_ASSERT(again || cursor->uri.size() > 2048);
  if (again) TR_ASSERT(again->published == cursor->published && again->uri == cursor->uri);
}

// Each byte puts one of 16 posts on one of 4 replicas, or its tombstone.
std::vector<std::vector<HistoryEntry>> read_replicas(std::string_view bytes) {
  std::vector<std::vector<HistoryEntry>> replicas(4);
  for (const char c : bytes.substr(0, 64)) {
    const auto byte = static_cast<std::uint8_t>(c);
    std::vector<HistoryEntry>& replica = replicas[byte >> 6U];
    HistoryEntry entry{Tag::from_canonical("tag"), std::string(1, static_cast<char>('a' + byte % 4)),
                       "author", WallTime(Duration(byte / 4 % 4)), (byte & 0x10U) != 0};
    const auto same = [&](const HistoryEntry& e) {
      return e.uri == entry.uri && e.published == entry.published;
    };
    const auto known = std::ranges::find_if(replica, same);
    if (known == replica.end()) {
      replica.push_back(std::move(entry));
    } else {
      known->removed = known->removed || entry.removed;
    }
  }
  for (auto& replica : replicas) std::ranges::sort(replica, newer);
  return replicas;
}

HistoryPage page_of(const std::vector<HistoryEntry>& replica, const std::optional<HistoryCursor>& after,
                    std::size_t limit) {
  HistoryPage page;
  for (const HistoryEntry& entry : replica) {
    if (after && !after->before(entry)) continue;
    page.more = page.entries.size() == limit;
    if (page.more) break;
    page.entries.push_back(entry);
  }
  return page;
}

void check_reading(const std::vector<std::vector<HistoryEntry>>& replicas, std::size_t limit,
                   bool keep_removed) {
  std::set<std::pair<WallTime, std::string>> expected;
  for (const auto& replica : replicas) {
    for (const HistoryEntry& entry : replica) expected.emplace(entry.published, entry.uri);
  }
  for (const auto& replica : replicas) {
    for (const HistoryEntry& entry : replica) {
      if (entry.removed && !keep_removed) expected.erase({entry.published, entry.uri});
    }
  }
  std::vector<HistoryEntry> seen;
  std::optional<HistoryCursor> cursor;
  for (std::size_t step = 0; step < kSteps; ++step) {
    std::vector<HistoryPage> pages;
    pages.reserve(replicas.size());
    for (const auto& replica : replicas) pages.push_back(page_of(replica, cursor, limit));
    const HistoryPage page = merge_pages(pages, limit, keep_removed);
    TR_ASSERT(page.entries.size() <= limit);
    seen.insert(seen.end(), page.entries.begin(), page.entries.end());
    if (!page.more) break;
    TR_ASSERT(page.next);
    TR_ASSERT(!cursor ||
              cursor->before({Tag::from_canonical("tag"), page.next->uri, "", page.next->published, false}));
    cursor = page.next;
  }
  TR_ASSERT(seen.size() == expected.size());
  TR_ASSERT(std::ranges::is_sorted(seen, newer));
  for (const HistoryEntry& entry : seen) TR_ASSERT(expected.contains({entry.published, entry.uri}));
}

}  // namespace

void fuzz(std::string_view text) {
  check_cursor(text);
  if (text.size() < 2) return;
  check_reading(read_replicas(text.substr(1)), 1U + static_cast<std::uint8_t>(text[0]) % 8U,
                (text[0] & 0x40) != 0);
}

}  // namespace tagring::fuzzing
