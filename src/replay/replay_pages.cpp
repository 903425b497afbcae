#include "replay/replay_pages.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace tagring::replay {
namespace {

using storage::HistoryCursor;
using storage::HistoryEntry;

// What a page may have grown to by posts that came late, before they are too many to hold.
constexpr std::size_t kGrownMax = 20'000;

// `next` is older than `cursor`: whoever pages on gets to an end.
bool leads_on(const HistoryCursor& cursor, const HistoryCursor& next) {
  return next.published < cursor.published || (next.published == cursor.published && next.uri < cursor.uri);
}

}  // namespace

Task<Result<ReplayPages::Found>> ReplayPages::find(Replay replay) {
  const Tag tag = Tag::from_canonical(replay.tag);
  Found found;
  HistoryCursor cursor{replay.started, ""};
  bool more = true;
  while (more) {
    CO_TRY(const storage::HistoryPage page,
           co_await history_.query(tag, cursor, storage::HistoryService::kLimitMax));
    more = page.more && page.next;
    for (const HistoryEntry& entry : page.entries) {
      if (!cursor.before(entry)) continue;
      if (entry.published < replay.not_before || found.posts == replay.posts_max) {
        more = false;
        break;
      }
      if (found.posts % kSize == 0) {
        const std::string after =
            found.pages.empty() ? HistoryCursor{replay.started, ""}.text() : found.pages.back().last;
        found.pages.push_back({after, ""});
      }
      found.pages.back().last = HistoryCursor::of(entry).text();
      ++found.posts;
    }
    if (!more) break;
    if (!leads_on(cursor, *page.next)) co_return fail(ErrorCode::kUnavailable, "the history does not end");
    cursor = *page.next;
  }
  co_return found;
}

// Newest first. Posts that came late may have made it longer than a page, and any number of removed ones may
// stand between: an end before `last` would lose the others silently.
Task<Result<std::vector<HistoryEntry>>> ReplayPages::read_stretch(Tag tag, HistoryCursor after,
                                                                  HistoryCursor last) {
  std::vector<HistoryEntry> entries;
  for (;;) {
    CO_TRY(storage::HistoryPage page,
           co_await history_.query(tag, after, storage::HistoryService::kLimitMax));
    for (HistoryEntry& entry : page.entries) {
      if (last.before(entry)) co_return entries;
      if (after.before(entry)) entries.push_back(std::move(entry));
    }
    if (!page.more || !page.next || !leads_on(*page.next, last)) co_return entries;
    if (!leads_on(after, *page.next)) co_return fail(ErrorCode::kUnavailable, "the history does not end");
    if (entries.size() > kGrownMax)
      co_return fail(ErrorCode::kTooLarge, "too many posts came late for this page");
    after = *page.next;
  }
}

Task<Result<std::vector<ReplayPages::Post>>> ReplayPages::read(Replay replay) {
  const Tag tag = Tag::from_canonical(replay.tag);
  const std::uint64_t number = replay.newest_first ? replay.pages_done : replay.pages - 1 - replay.pages_done;
  CO_TRY(const ReplayPage page, co_await store_.page(replay.host, replay.tag, number));
  CO_TRY(HistoryCursor after, HistoryCursor::parse(page.after));
  CO_TRY(HistoryCursor last, HistoryCursor::parse(page.last));
  CO_TRY(std::vector<HistoryEntry> entries, co_await read_stretch(tag, std::move(after), std::move(last)));
  if (replay.newest_first) std::ranges::reverse(entries);
  if (!replay.at.empty()) {
    CO_TRY(const HistoryCursor at, HistoryCursor::parse(replay.at));
    std::erase_if(entries, [&](const HistoryEntry& entry) {
      const bool is_at = entry.published == at.published && entry.uri == at.uri;
      return is_at || at.before(entry) != replay.newest_first;
    });
  }
  std::vector<std::string> uris;
  for (const HistoryEntry& entry : entries) uris.push_back(entry.uri);
  CO_TRY(const std::set<std::string> sent, co_await store_.sent(replay.host, std::move(uris)));
  std::vector<Post> posts;
  for (HistoryEntry& entry : entries) {
    const bool skip = sent.contains(entry.uri);
    posts.push_back({std::move(entry), skip});
  }
  co_return posts;
}

}  // namespace tagring::replay
