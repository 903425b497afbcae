#include "mastodon_api/timeline.hpp"

#include <algorithm>
#include <set>

namespace tagring::mastodon_api {
namespace {

// Beyond this many posts of one millisecond their order is not kept over the end of a page.
constexpr std::size_t kGroupMax = 2000;
// Greater than any URI.
constexpr const char* kAfterAllUris = "~";
constexpr std::size_t kFilteredBatch = 20;

}  // namespace

// The history of one hashtag, in the direction of reading. Ids order posts of one millisecond by a hash, and
// the history by their URIs: such a group is read whole before any of it is given out.
struct Timeline::Source {
  Tag tag;
  std::optional<storage::HistoryCursor> cursor;
  bool more = true;
  std::vector<Entry> held;   // the last group, which may go on
  std::vector<Entry> ready;  // the next one last

  void take(std::vector<Entry> entries, bool forwards) {
    std::ranges::move(entries, std::back_inserter(held));
    std::size_t keep = 0;
    const WallTime last = held.empty() ? WallTime() : held.back().entry.published;
    // Unless the history is past that moment already.
    if (more && held.size() < kGroupMax && !held.empty() && cursor->published == last) {
      const auto group =
          std::ranges::find_if(held, [&](const Entry& entry) { return entry.entry.published == last; });
      keep = static_cast<std::size_t>(held.end() - group);
    }
    const auto end = held.end() - static_cast<std::ptrdiff_t>(keep);
    ready.assign(std::make_move_iterator(held.begin()), std::make_move_iterator(end));
    held.erase(held.begin(), end);
    std::ranges::sort(ready,
                      [&](const Entry& a, const Entry& b) { return forwards ? a.id > b.id : a.id < b.id; });
  }
};

// One pass over the histories of all hashtags of a query, merged.
class Timeline::Scan {
 public:
  Scan(Timeline& timeline, const TimelineQuery& query, Instant deadline)
      : timeline_(timeline), forwards_(query.min_id.has_value()), deadline_(deadline) {
    if (query.max_id) below_ = *query.max_id;
    above_ = std::max(query.since_id.value_or(0), query.min_id.value_or(0));
    std::vector<Tag> tags = query.any;
    tags.push_back(query.tag);
    std::ranges::sort(tags);
    tags.erase(std::ranges::unique(tags).begin(), tags.end());
    for (Tag& tag : tags) {
      Source source{.tag = std::move(tag), .cursor = {}, .held = {}, .ready = {}};
      if (forwards_) {
        const posts::StatusId first = std::min(*query.min_id, UINT64_MAX - 1) + 1;
        source.cursor = {posts::time_of(first) - Duration(1), kAfterAllUris};
      } else if (query.max_id) {
        const posts::StatusId first = std::max<posts::StatusId>(*query.max_id, 1) - 1;
        source.cursor = {posts::time_of(first) + Duration(1), ""};
      }
      sources_.push_back(std::move(source));
    }
  }

  // The next ones, `count` or fewer at the end. More if posts share an id, which no page may end between.
  Task<Result<std::vector<Entry>>> next(std::size_t count) {
    std::vector<Entry> entries;
    while (!done_) {
      const auto shares_id = [&](const Source& source) {
        return !entries.empty() && !source.ready.empty() && source.ready.back().id == entries.back().id;
      };
      if (entries.size() >= count && std::ranges::none_of(sources_, shares_id)) break;
      if (!stuck_) {
        CO_TRY_VOID(co_await refill_all());
      }
      Source* const best = first();
      done_ = best == nullptr && !stuck_;
      // What the others have may be behind what was not reached.
      if (best == nullptr || (stuck_ && !shares_id(*best))) break;
      Entry entry = std::move(best->ready.back());
      best->ready.pop_back();
      if (forwards_ ? entry.id >= below_ : entry.id <= above_) {
        done_ = true;
      } else if (entry.id > above_ && entry.id < below_ && seen_.insert(entry.entry.uri).second) {
        entries.push_back(std::move(entry));
      }
    }
    co_return entries;
  }
  [[nodiscard]] bool is_done() const { return done_; }
  // There is more, but not for this page: of one hashtag so much is deleted or blocked that its next post was
  // not reached.
  [[nodiscard]] bool is_stuck() const { return stuck_ && !done_; }
  // How far all was given out, if it is further than the query began.
  [[nodiscard]] std::optional<posts::StatusId> reached() const {
    std::optional<posts::StatusId> reached;
    for (const Source& source : sources_) {
      const std::optional<posts::StatusId> id = reached_in(source);
      if (id && (!reached || (forwards_ ? *id < *reached : *id > *reached))) reached = id;
    }
    const bool is_further = reached && (forwards_ ? *reached > above_ : *reached < below_);
    return is_further ? reached : std::nullopt;
  }

 private:
  Task<Result<void>> refill_all() {
    const auto is_empty = [](const Source& source) { return source.ready.empty() && source.more; };
    std::vector<Task<Result<void>>> refills;
    for (Source& source : sources_) {
      if (is_empty(source)) refills.push_back(refill(&source));
    }
    for (const Result<void>& done : co_await all_of(std::move(refills))) {
      if (!done) co_return std::unexpected(done.error());
    }
    stuck_ = std::ranges::any_of(sources_, is_empty);
    co_return Result<void>();
  }

  Task<Result<void>> refill(Source* source) {
    for (std::size_t rounds = 0; source->ready.empty() && source->more; ++rounds) {
      // A group must be had whole before the rounds are over, or no page would get past it.
      const bool is_late = timeline_.clock_.now() >= deadline_ && source->held.empty();
      if (rounds == timeline_.options_.rounds_max || is_late) break;
      const std::size_t count =
          rounds == 0 ? timeline_.options_.page_entries : storage::HistoryService::kLimitMax;
      Result<storage::HistoryPage> page;
      if (forwards_) {
        page = co_await timeline_.history_.query_newer(source->tag, *source->cursor, count);
      } else {
        page = co_await timeline_.history_.query(source->tag, source->cursor, count);
      }
      if (!page) co_return std::unexpected(page.error());
      source->more = page->more && page->next && !is_past(*page->next);
      if (source->more) source->cursor = page->next;
      if (forwards_) std::ranges::reverse(page->entries);
      std::vector<Entry> entries;
      for (storage::HistoryEntry& entry : page->entries) {
        const posts::StatusId id = posts::status_id(entry.published, entry.uri);
        entries.push_back({id, std::move(entry)});
      }
      source->take(std::move(entries), forwards_);
    }
    co_return Result<void>();
  }

  // Nothing behind it was asked for.
  [[nodiscard]] bool is_past(const storage::HistoryCursor& cursor) const {
    return forwards_ ? cursor.published > posts::time_of(below_) : cursor.published < posts::time_of(above_);
  }

  // The one whose next post comes first; null if none has one ready.
  [[nodiscard]] Source* first() {
    Source* best = nullptr;
    for (Source& source : sources_) {
      if (!source.ready.empty() && (best == nullptr || comes_before(source, *best))) best = &source;
    }
    return best;
  }

  [[nodiscard]] bool comes_before(const Source& a, const Source& b) const {
    const posts::StatusId x = a.ready.back().id;
    const posts::StatusId y = b.ready.back().id;
    return forwards_ ? x < y : x > y;
  }

  // Nothing if all of it was given out.
  [[nodiscard]] std::optional<posts::StatusId> reached_in(const Source& source) const {
    if (!source.ready.empty()) return forwards_ ? source.ready.back().id - 1 : source.ready.back().id + 1;
    if (!source.more || !source.cursor) return std::nullopt;
    const WallTime last =
        source.held.empty() ? source.cursor->published : source.held.front().entry.published;
    return forwards_ ? posts::first_id_at(last) - 1 : posts::first_id_at(last + Duration(1));
  }

  Timeline& timeline_;
  bool forwards_;
  Instant deadline_;
  posts::StatusId below_ = UINT64_MAX;
  posts::StatusId above_ = 0;
  std::vector<Source> sources_;
  std::set<std::string> seen_;
  bool done_ = false;
  bool stuck_ = false;
};

bool Timeline::passes(const posts::Post& post, const TimelineQuery& query) const {
  const auto has = [&](const Tag& tag) { return post.has(tag); };
  if (!has(query.tag) && std::ranges::none_of(query.any, has)) return false;
  if (!std::ranges::all_of(query.all, has) || std::ranges::any_of(query.none, has)) return false;
  if (query.only_media && !post.has_media) return false;
  if (!query.local && !query.remote) return true;
  return options_.is_local(post.author) ? query.local : query.remote;
}

// For each entry what it says; nothing if it is not to be shown.
Task<Timeline::Contents> Timeline::contents(std::vector<Entry> entries, TimelineQuery query,
                                            Instant deadline) {
  std::vector<posts::PostCache::Wanted> wanted;
  for (const Entry& entry : entries) wanted.push_back({entry.entry.uri, entry.entry.author});
  Contents contents = co_await posts_.read(std::move(wanted), std::min(deadline, posts_.deadline()));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto is_shown = [&](const posts::Post& post) {
      return post.author == entries[i].entry.author && passes(post, query);
    };
    if (contents[i] && !is_shown(*contents[i]->post)) contents[i].reset();
  }
  co_return contents;
}

Task<Result<Timeline::Page>> Timeline::read(TimelineQuery query) {
  const Instant deadline = clock_.now() + options_.wait;
  const bool forwards = query.min_id.has_value();
  const bool is_filtered =
      query.only_media || query.local || query.remote || !query.all.empty() || !query.none.empty();
  Scan scan(*this, query, deadline);
  Page page;
  bool is_cut = false;  // full before the end of what was looked at
  std::size_t scanned = 0;
  std::size_t bytes = 0;
  const auto is_full = [&] { return page.statuses.size() >= query.limit || bytes > options_.bytes_max; };
  while (!is_full() && scanned < options_.scanned_max && clock_.now() < deadline && !scan.is_done() &&
         !scan.is_stuck()) {
    const std::size_t missing = query.limit - page.statuses.size();
    CO_TRY(std::vector<Entry> entries,
           co_await scan.next(is_filtered ? std::max(missing, kFilteredBatch) : missing));
    const Contents shown = co_await contents(entries, query, deadline);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const posts::StatusId id = entries[i].id;
      is_cut = is_full() && id != entries[i - 1].id;
      if (is_cut) break;
      page.oldest = std::min(page.oldest.value_or(id), id);
      page.newest = std::max(page.newest.value_or(id), id);
      ++scanned;
      if (!shown[i]) continue;
      page.statuses.push_back(posts_.show(*shown[i], id));
      bytes += json::serialize(page.statuses.back()).size();
    }
  }
  if (scan.is_stuck() && !is_cut) {
    const std::optional<posts::StatusId> reached = scan.reached();
    if (reached && forwards) page.newest = std::max(page.newest.value_or(0), *reached);
    if (reached && !forwards) page.oldest = std::min(page.oldest.value_or(UINT64_MAX), *reached);
  }
  page.more = is_cut || !scan.is_done();
  if (forwards) std::ranges::reverse(page.statuses);
  co_return page;
}

}  // namespace tagring::mastodon_api
