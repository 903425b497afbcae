#include "storage/retention.hpp"

#include <algorithm>
#include <map>
#include <queue>

namespace tagring::storage {
namespace {

using Span = HistoryStore::Span;

constexpr std::size_t kPage = 1'000;
constexpr std::uint64_t kTurn = 16;     // posts of one hashtag, before it is the next one's turn
constexpr std::uint64_t kJobMax = 500;  // posts of one write
// Bytes of posts that are not let go because the disk is full, of whatever.
constexpr std::uint64_t kKeptOnFullDisk = 1'000'000'000;

struct Younger {
  bool operator()(const Span& a, const Span& b) const { return a.oldest > b.oldest; }
};
// What is here of one, in all partitions.
struct Hashtag {
  std::uint64_t posts = 0;
  std::vector<Span> spans;  // a heap, the oldest first

  void add(Span span) {
    posts += span.posts;
    spans.push_back(std::move(span));
    std::ranges::push_heap(spans, Younger());
  }
  Span take_oldest() {
    std::ranges::pop_heap(spans, Younger());
    Span span = std::move(spans.back());
    spans.pop_back();
    posts -= span.posts;
    return span;
  }
};
struct Smaller {
  bool operator()(const Hashtag& a, const Hashtag& b) const { return a.posts < b.posts; }
};

}  // namespace

Task<void> Retention::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<void> Retention::look_for_ever() {
  for (;;) {
    const Result<std::uint64_t> gone = co_await make_room();
    if (!gone) log_.warn("making_room_failed", {{"because", gone.error().message}});
    if (gone && *gone > 0) log_.info("let_go", {{"posts", std::to_string(*gone)}});
    const Instant next = clock_.now() + options_.every;
    co_await clock_.sleep_until(next);
  }
}

Task<Result<std::vector<Span>>> Retention::all_spans() {
  std::vector<Span> spans;
  for (std::optional<RingId> after;;) {
    CO_TRY(std::vector<Span> page, co_await history_.spans(after, kPage));
    for (Span& span : page) spans.push_back(std::move(span));
    if (page.size() < kPage) co_return spans;
    after = spans.back().key;
  }
}

std::uint64_t posts_max(const HistoryStore::Totals& totals, std::uint64_t bytes_max,
                        const std::optional<std::int64_t>& room) {
  const auto each = static_cast<std::int64_t>(totals.bytes_of_entry);
  const std::uint64_t most = bytes_max / totals.bytes_of_entry;
  if (!room) return most;
  // What was let go leaves its place in the file to what comes, not to the disk.
  const std::int64_t more = (*room + static_cast<std::int64_t>(totals.bytes_unused)) / each;
  const std::int64_t here = static_cast<std::int64_t>(totals.entries);
  return std::min(most, std::max(kKeptOnFullDisk / totals.bytes_of_entry,
                                 static_cast<std::uint64_t>(std::max<std::int64_t>(0, here + more))));
}

Task<Result<std::uint64_t>> Retention::make_room() {
  CO_TRY(const HistoryStore::Totals totals, co_await history_.totals());
  state_.posts = totals.entries;
  state_.bytes = totals.bytes_of_history();
  state_.database = totals.bytes;
  state_.at = clock_.now();
  state_.let_go = totals.let_go;
  const std::uint64_t most = posts_max(totals, options_.bytes_max, options_.room());
  if (options_.bytes_max == 0 || totals.entries <= most) co_return 0;
  const std::uint64_t excess = totals.entries - most + most / 100;
  CO_TRY(std::vector<Span> spans, co_await all_spans());
  CO_TRY(std::uint64_t gone,
         co_await let_go_oldest(std::move(spans), excess, clock_.wall_now() - options_.keep));
  if (gone < excess) {
    CO_TRY(spans, co_await all_spans());
    CO_TRY(const std::uint64_t early, co_await let_go_of_largest(std::move(spans), excess - gone));
    state_.too_early += early;
    gone += early;
  }
  state_.posts -= gone;
  state_.bytes = state_.posts * totals.bytes_of_entry;
  state_.let_go += gone;
  co_return gone;
}

// In the order of time, whatever the hashtag.
Task<Result<std::uint64_t>> Retention::let_go_oldest(std::vector<Span> spans, std::uint64_t excess,
                                                     WallTime before) {
  std::priority_queue<Span, std::vector<Span>, Younger> queue(Younger(), std::move(spans));
  std::uint64_t gone = 0;
  while (gone < excess && !queue.empty() && queue.top().oldest < before) {
    const Span span = queue.top();
    queue.pop();
    CO_TRY(Span left, co_await history_.let_go(span.partition, std::min(kTurn, excess - gone), before));
    gone += span.posts - std::min(left.posts, span.posts);
    if (left.posts > 0 && left.posts < span.posts) queue.push(std::move(left));
  }
  co_return gone;
}

// A hashtag counts as one, however many partitions of it are here: of those the one with the oldest posts is
// next.
Task<Result<std::uint64_t>> Retention::let_go_of_largest(std::vector<Span> spans, std::uint64_t excess) {
  std::map<Tag, Hashtag> hashtags;
  for (Span& span : spans) {
    Hashtag& hashtag = hashtags[span.partition.tag];
    hashtag.add(std::move(span));
  }
  std::priority_queue<Hashtag, std::vector<Hashtag>, Smaller> queue;
  for (auto& [tag, hashtag] : hashtags) queue.push(std::move(hashtag));
  std::uint64_t gone = 0;
  while (gone < excess && !queue.empty()) {
    Hashtag largest = queue.top();
    queue.pop();
    const std::uint64_t lead = queue.empty() ? kJobMax : largest.posts - queue.top().posts;
    const std::uint64_t most = largest.spans.size() > 1 ? kTurn : kJobMax;  // so that these keep step
    const std::uint64_t count = std::min({std::max(lead, kTurn), most, excess - gone});
    const Span span = largest.take_oldest();
    CO_TRY(Span left, co_await history_.let_go(span.partition, count, WallTime::max()));
    gone += span.posts - std::min(left.posts, span.posts);
    if (left.posts > 0 && left.posts < span.posts) largest.add(std::move(left));
    if (!largest.spans.empty()) queue.push(std::move(largest));
  }
  co_return gone;
}

}  // namespace tagring::storage
