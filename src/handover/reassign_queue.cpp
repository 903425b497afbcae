#include "handover/reassign_queue.hpp"

#include <algorithm>

#include "redundancy/partition.hpp"

namespace tagring::handover {
namespace {

constexpr std::size_t kPage = 1'000;
constexpr std::size_t kOwedMax = 10 * kPage;  // a year of history is not owed all at once
// How long a new owner may take to fetch; two changes of a segment are seldom closer than that.
constexpr Duration kPatience = std::chrono::seconds(20);

bool covers(const Segment& whole, const Segment& part) {
  if (whole.from == whole.to) return true;
  if (part.from == part.to) return false;
  return part.from - whole.from <= part.to - whole.from && whole.contains(part.to);
}

}  // namespace

ReassignQueue::ReassignQueue(relay::Store& store, storage::HistoryStore& history, relay::OwnerQueue& outbox,
                             Replicas replicas, const Runtime& runtime)
    : store_(store),
      history_(history),
      outbox_(outbox),
      replicas_(std::move(replicas)),
      clock_(runtime.clock),
      tasks_(runtime.executor) {}

Task<void> ReassignQueue::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

void ReassignQueue::segment_changed(Ring ring, const ring::Vserver& vserver) {
  const std::optional<Segment> now = vserver.owned();
  if (!now) return;  // known again soon, and compared with what it was
  const auto [entry, is_new] = owned_.try_emplace({ring, vserver.self().id}, *now);
  const Segment before = std::exchange(entry->second, *now);
  const bool smaller = !is_new && now->from != before.from && now->from != now->to && covers(before, *now);
  if (smaller) tasks_.spawn("reassign_lost", lost(ring, {before.from, now->from}));
}

void ReassignQueue::gave_up(Ring ring, const RingId& vserver, const Segment& positions) {
  owned_.erase({ring, vserver});
  tasks_.spawn("reassign_lost", lost(ring, positions));
}

void ReassignQueue::fetched(Ring ring, const Segment& keys) {
  while (!fetched_.empty() && clock_.now() - fetched_.front().at > kPatience) fetched_.pop_front();
  fetched_.push_back({ring, keys, clock_.now()});
}

Task<void> ReassignQueue::lost(Ring ring, Segment positions) {
  const Instant since = clock_.now();
  const Instant later = since + kPatience;
  co_await clock_.sleep_until(later);
  for (const Segment& keys : key_segments(positions, replicas_.at(ring))) {
    const bool known = std::ranges::any_of(fetched_, [&](const Fetched& other) {
      return other.ring == ring && other.at >= since && covers(other.keys, keys);
    });
    if (!known) co_await (ring == Ring::kRelay ? feed(keys) : history(keys));
  }
}

Task<void> ReassignQueue::feed(Segment keys) {
  std::uint64_t after = 0;
  for (;;) {
    const auto page = co_await store_.feed_of_segment(keys, after, kPage);
    if (!page || page->empty()) co_return;
    after = page->back().seq;
    std::vector<relay::TagEvent> events;
    for (const relay::FeedEntry& entry : *page) events.push_back(entry.event);
    const Result<void> owed = co_await outbox_.reassign(Ring::kRelay, std::move(events));
    if (!owed) co_return;
    co_await wait_for_outbox();
  }
}

Task<void> ReassignQueue::history(Segment keys) {
  std::string after_tag;
  std::optional<storage::HistoryCursor> after;
  for (;;) {
    const Result<std::vector<storage::HistoryEntry>> page =
        co_await history_.segment(keys, after_tag, after, kPage);
    if (!page || page->empty()) co_return;
    after_tag = page->back().tag;
    after = storage::HistoryCursor::of(page->back());
    std::vector<relay::TagEvent> events;
    for (const storage::HistoryEntry& entry : *page) {
      const Result<redundancy::Partition> shelf = redundancy::Partition::parse(entry.tag);
      if (!shelf) continue;
      events.push_back({shelf->tag, entry.removed ? relay::Op::kRemove : relay::Op::kAdd, entry.uri,
                        entry.author, entry.published, true});
    }
    const Result<void> owed = co_await outbox_.reassign(Ring::kStorage, std::move(events));
    if (!owed) co_return;
    co_await wait_for_outbox();
  }
}

Task<void> ReassignQueue::wait_for_outbox() {
  while (outbox_.size() > kOwedMax) {
    const Instant next = clock_.now() + std::chrono::seconds(1);
    co_await clock_.sleep_until(next);
  }
}

}  // namespace tagring::handover
