#include "handover/reassign_queue.hpp"

#include <algorithm>

#include "http/url.hpp"
#include "redundancy/partition.hpp"

namespace tagring::handover {
namespace {

constexpr std::size_t kTimesOwed = 10;  // so many times that: a year of history is not owed all at once
constexpr Duration kSaveRetry = std::chrono::seconds(1);
}  // namespace

ReassignQueue::ReassignQueue(delivery::Store& store, storage::Disputes& disputes,
                             delivery::OwnerQueue& outbox, Options options, ReadSegments& reads,
                             const Runtime& runtime)
    : store_(store),
      disputes_(disputes),
      outbox_(outbox),
      options_(std::move(options)),
      reads_(reads),
      clock_(runtime.clock),
      tasks_(runtime.executor) {
  read(options_.saved);
}

void ReassignQueue::start(overlay::RingService& rings) {
  for (const auto& [ring, positions] : owed_)
    tasks_.spawn("reassign_owed", pay(ring, positions, clock_.now()));
  std::vector<std::pair<Ring, RingId>> given_up;
  for (const auto& [place, positions] : owned_) {
    const bool stands = std::ranges::any_of(rings.of(place.first).vservers(), [&](const auto& vserver) {
      return vserver->self().id == place.second;
    });
    if (!stands) given_up.push_back(place);
  }
  for (const auto& place : given_up)
    gave_up(place.first, place.second, Segment(owned_.at(place)), clock_.now());
}

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
  if (smaller) owe(ring, {before.from, now->from}, clock_.now());
  if (is_new || before != *now) save();
}

void ReassignQueue::gave_up(Ring ring, const RingId& vserver, const Segment& positions, Instant since) {
  owned_.erase({ring, vserver});
  owe(ring, positions, since);
  save();
}

void ReassignQueue::handed_over(Ring ring, const RingId& vserver) {
  owned_.erase({ring, vserver});
  save();
}

void ReassignQueue::owe(Ring ring, const Segment& positions, Instant since) {
  owed_.emplace_back(ring, positions);
  tasks_.spawn("reassign_owed", pay(ring, positions, since));
}

// Of history, only what nobody has read to its end since then.
Task<void> ReassignQueue::pay(Ring ring, Segment positions, Instant since) {
  const Instant later = clock_.now() + ReadSegments::kPatience;
  co_await clock_.sleep_until(later);
  const std::vector<Segment> segments = key_segments(positions, options_.replicas.at(ring));
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Segment keys = segments[i];
    // Nobody else has lost a copy of the history there.
    const auto copy = segments.size() > 1 ? std::optional(static_cast<unsigned>(i)) : std::nullopt;
    bool paid = ring == Ring::kStorage && reads_.has(keys, since);
    while (!paid) {
      paid = co_await (ring == Ring::kRelay ? feed(keys) : history(keys, copy));
      const Instant next = clock_.now() + ReadSegments::kPatience;
      if (!paid) co_await clock_.sleep_until(next);
    }
  }
  const auto entry = std::ranges::find(owed_, std::pair(ring, positions));
  if (entry != owed_.end()) owed_.erase(entry);
  save();
}

// {"owned": [[ring, vserver, from]], "owed": [[ring, from, to]]}: places in hexadecimal, rings by number.
void ReassignQueue::read(std::string_view saved) {
  const auto body = json::parse_object(saved);
  if (!body) return;
  const auto each = [&](const char* name, auto take) {
    json::for_each(json::find(*body, name), [&](const json::value& element) {
      if (!element.is_array() || element.get_array().size() != 3) return;
      const json::array& row = element.get_array();
      if (!row[0].is_int64() || !row[1].is_string() || !row[2].is_string()) return;
      const auto first = RingId::from_hex(std::string_view(row[1].get_string()));
      const auto second = RingId::from_hex(std::string_view(row[2].get_string()));
      if (first && second) take(row[0].as_int64() == 0 ? Ring::kRelay : Ring::kStorage, *first, *second);
    });
  };
  each("owned",
       [this](Ring ring, const RingId& id, const RingId& from) { owned_[{ring, id}] = Segment{from, id}; });
  each("owed", [this](Ring ring, const RingId& from, const RingId& to) {
    owed_.emplace_back(ring, Segment{from, to});
  });
}

std::string ReassignQueue::text() const {
  json::array owned;
  json::array owed;
  for (const auto& [place, positions] : owned_)
    owned.push_back(json::array{std::to_underlying(place.first), place.second.hex(), positions.from.hex()});
  for (const auto& [ring, positions] : owed_)
    owed.push_back(json::array{std::to_underlying(ring), positions.from.hex(), positions.to.hex()});
  return json::serialize(json::object{{"owned", std::move(owned)}, {"owed", std::move(owed)}});
}

void ReassignQueue::save() {
  if (options_.save) tasks_.spawn("save_owed", write(++version_));
}

// It is on the disk before whatever is asked for after it; where the disk fails, as soon as it does not.
Task<void> ReassignQueue::write(std::uint64_t version) {
  for (;;) {
    const Result<void> saved = co_await options_.save(text());
    if (saved || version != version_) co_return;  // else a later one sees to it
    const Instant next = clock_.now() + kSaveRetry;
    co_await clock_.sleep_until(next);
    if (version != version_) co_return;
  }
}

Task<bool> ReassignQueue::feed(Segment keys) {
  Result<std::uint64_t> from = 0;
  if (options_.feed_from) from = co_await options_.feed_from();
  if (!from) co_return false;
  std::uint64_t after = *from;
  for (;;) {
    const auto page = co_await store_.feed_of_segment(keys, after, options_.rows);
    if (!page || page->empty()) co_return page.has_value();
    after = page->back().seq;
    std::vector<delivery::TagEvent> events;
    for (const delivery::FeedEntry& entry : *page) events.push_back(entry.event);
    const Result<void> owed = co_await outbox_.reassign(Ring::kRelay, std::move(events));
    if (!owed) co_return false;
    co_await wait_for_outbox();
  }
}

Task<bool> ReassignQueue::history(Segment keys, std::optional<unsigned> copy) {
  std::optional<redundancy::Partition> last;
  std::optional<storage::HistoryCursor> after;
  for (;;) {
    const Result<std::vector<storage::HistoryEntry>> page =
        co_await disputes_.history().segment(keys, last, after, options_.rows);
    if (!page || page->empty()) co_return page.has_value();
    last = page->back().partition;
    after = storage::HistoryCursor::of(page->back());
    std::vector<delivery::TagEvent> events;
    for (const storage::HistoryEntry& entry : *page) {
      // What was only heard is owed: whoever it is from has seen it read to its end, and owes it no more. But
      // nobody has signed for such a removal, and the node of the post's server would be believed by nodes
      // that do not know it by its time.
      if (entry.removed && entry.is_hearsay() && is_same_or_below(options_.host, host_of(entry.uri)))
        continue;
      events.push_back({entry.partition.tag, entry.removed ? delivery::Op::kRemove : delivery::Op::kAdd,
                        entry.uri, entry.author, entry.published, true, "",
                        entry.removed ? entry.changed : std::max(entry.changed, WallTime())});
    }
    const Result<void> owed = co_await outbox_.reassign(Ring::kStorage, std::move(events), copy);
    if (!owed) co_return false;
    co_await wait_for_outbox();
  }
}

Task<bool> ReassignQueue::owe_partition(redundancy::Partition partition) {
  const RingId key = partition.key();
  return history({key - RingId::power_of_two(0), key}, std::nullopt);
}

Task<void> ReassignQueue::wait_for_outbox() {
  while (outbox_.size() > kTimesOwed * options_.rows) {
    const Instant next = clock_.now() + std::chrono::seconds(1);
    co_await clock_.sleep_until(next);
  }
}

}  // namespace tagring::handover
