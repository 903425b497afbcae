#include "storage/reconcile.hpp"

#include <algorithm>
#include <deque>

namespace tagring::storage {
namespace {

// Of one replica, before it is another's turn: there need be no end of what a liar has. What an honest one
// had until then is here, and the rest comes the next time: 1.6 million posts, or some.
constexpr std::uint64_t kQuestionsMax = 4'000;

// Places at which a range is cut before it is asked about; one with more of them is cut by the replica first.
constexpr std::size_t kCutsMax = 64;

std::vector<HourRange> ranges_of(const std::vector<HourDigest>& digests) {
  std::vector<HourRange> ranges;
  for (const HourDigest& digest : digests) ranges.push_back(digest.range);
  return ranges;
}

// One difference of a range, in order, and of all of them as many posts as an answer has.
Result<void> check_answer(const std::vector<Difference>& differences, std::size_t ranges,
                          const CompareLimits& limits) {
  std::size_t next = 0;
  std::size_t entries = 0;
  for (const Difference& difference : differences) {
    if (difference.index < next || difference.index >= ranges)
      return fail(ErrorCode::kInvalid, "an answer to no question, or a second one");
    next = difference.index + 1;
    entries += difference.entries.size();
  }
  if (entries > limits.entries) return fail(ErrorCode::kInvalid, "a replica sends more than an answer has");
  return {};
}

// Parts must follow each other and be smaller than the whole, or a search among them need not end.
Result<void> check_parts(const HourRange& whole, const std::vector<HourDigest>& parts) {
  const auto nonsense = fail(ErrorCode::kInvalid, "a replica cuts a range into what is not parts of it");
  if (parts.size() < 2 || parts.front().range.first != whole.first || parts.back().range.last != whole.last)
    return nonsense;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const HourRange& part = parts[i].range;
    if (part.last < part.first) return nonsense;
    if (i > 0 && !(parts[i - 1].range.last < part.first)) return nonsense;
  }
  return {};
}

bool holds(const HourRange& range, const HistoryEntry& entry) {
  const std::int64_t hour = hour_of(entry.published);
  return range.first.key != range.last.key || (hour >= range.first.hour && hour <= range.last.hour);
}

// The range without what is before the floors: these are in order, and in partitions of the range.
std::vector<HourRange> above(const std::vector<HourPlace>& floors, const HourRange& range) {
  const RingId one = RingId::power_of_two(0);
  std::vector<HourRange> kept;
  HourPlace from = range.first;
  for (const HourPlace& floor : floors) {
    if (floor <= from) continue;
    if (from.key < floor.key) kept.push_back({from, {floor.key - one, kHourMax}});
    from = floor;
  }
  if (from <= range.last) kept.push_back({from, range.last});
  return kept;
}

// Parts of the whole, with those between them, of which nothing is here.
std::vector<HourDigest> with_gaps(const HourRange& whole, const std::vector<HourDigest>& kept) {
  std::vector<HourDigest> parts;
  HourPlace next = whole.first;
  for (const HourDigest& part : kept) {
    const HourPlace& first = part.range.first;
    if (next < first) parts.push_back({{next, {first.key, first.hour - 1}}, 0, 0});
    parts.push_back(part);
    next = {part.range.last.key, part.range.last.hour + 1};
  }
  if (next <= whole.last) parts.push_back({{next, whole.last}, 0, 0});
  return parts;
}

// What the range is cut into where it differs; fewer than two: into nothing. What was let go of here is
// apart, so that who asks does not take it for a difference.
Task<Result<std::vector<HourDigest>>> cut(HistoryStore& store, HourDigest own, std::int64_t since,
                                          CompareLimits limits) {
  const std::size_t most = (limits.parts - 1) / 2;
  CO_TRY(const std::vector<HourPlace> floors, co_await store.floors(own.range, most + 1));
  if (floors.size() <= most) {
    std::vector<HourRange> kept = above(floors, own.range);
    if (kept.empty() || kept.front() != own.range) {
      CO_TRY(const std::vector<HourDigest> digests, co_await store.digests(std::move(kept), since));
      co_return with_gaps(own.range, digests);
    }
    if (own.posts <= limits.leaf) co_return std::vector<HourDigest>();
  }
  co_return co_await store.split(own.range, since, limits.parts);
}

// To be compared: the range, but for what was let go of here. It is never asked about, since it differs for
// ever once one of its posts was removed elsewhere.
Task<Result<void>> open_range(HistoryStore& store, HourRange range, std::deque<Comparison>* open) {
  CO_TRY(const std::vector<HourPlace> floors, co_await store.floors(range, kCutsMax + 1));
  const bool is_whole = floors.size() > kCutsMax;
  const std::vector<HourRange> kept = is_whole ? std::vector{range} : above(floors, range);
  for (const HourRange& part : kept) open->push_back({HourDigest{part, 0, 0}, std::nullopt});
  co_return Result<void>();
}

// Or one question could have the same hours read again and again.
Result<void> check_apart(std::vector<HourRange> ranges) {
  std::ranges::sort(ranges, {}, &HourRange::first);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first <= ranges[i - 1].last)
      return fail(ErrorCode::kInvalid, "ranges of one question overlap");
  }
  return {};
}

}  // namespace

Task<Result<std::vector<Difference>>> compare(HistoryStore& store, std::vector<Comparison> asked,
                                              std::int64_t since, CompareLimits limits) {
  if (asked.size() > limits.ranges) co_return fail(ErrorCode::kTooLarge, "too many ranges in one question");
  std::vector<HourRange> ranges;
  for (const Comparison& comparison : asked) ranges.push_back(comparison.own.range);
  CO_TRY_VOID(check_apart(ranges));
  CO_TRY(const std::vector<HourDigest> own, co_await store.digests(std::move(ranges), since));
  std::vector<Difference> differences;
  std::size_t room = limits.entries;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (own[i] == asked[i].own && !asked[i].after) continue;
    Difference difference{.index = i, .parts = {}, .entries = {}, .next = {}, .later = room == 0};
    if (room > 0 && !asked[i].after) {
      CO_TRY(difference.parts, co_await cut(store, own[i], since, limits));
    }
    if (room > 0 && difference.parts.size() < 2) {
      difference.parts.clear();  // few posts, or one hour
      CO_TRY(difference.entries, co_await store.entries(own[i].range, since, asked[i].after, room));
      if (difference.entries.size() == room) difference.next = HistoryCursor::of(difference.entries.back());
      // A place in an hour says nothing about other hours: these must be whole.
      if (difference.next && own[i].posts <= limits.leaf) {
        difference = {.index = i, .parts = {}, .entries = {}, .next = {}, .later = true};
        room = 0;
      }
      room -= difference.entries.size();
    }
    differences.push_back(std::move(difference));
  }
  co_return differences;
}

Task<Result<Reconciled>> reconcile(HistoryStore& store, HourRange range, std::int64_t since, AskReplica ask,
                                   HearReplica hear, CompareLimits limits) {
  Reconciled done;
  std::deque<Comparison> open;
  CO_TRY_VOID(co_await open_range(store, range, &open));
  while (!open.empty()) {
    if (++done.questions > kQuestionsMax)
      co_return fail(ErrorCode::kTooLarge, "there is more that differs; it goes on the next time");
    std::vector<Comparison> asked;
    std::vector<HourRange> ranges;
    for (; !open.empty() && asked.size() < limits.ranges; open.pop_front()) {
      ranges.push_back(open.front().own.range);
      asked.push_back(std::move(open.front()));
    }
    CO_TRY(const std::vector<HourDigest> own, co_await store.digests(std::move(ranges), since));
    for (std::size_t i = 0; i < asked.size(); ++i) asked[i].own = own[i];
    CO_TRY(std::vector<Difference> differences, co_await ask(asked));
    CO_TRY_VOID(check_answer(differences, asked.size(), limits));
    for (Difference& difference : differences) {
      const Comparison& question = asked[difference.index];
      if (difference.later) {
        open.push_back(question);
      } else if (!difference.parts.empty()) {
        CO_TRY_VOID(check_parts(question.own.range, difference.parts));
        CO_TRY(const std::vector<HourDigest> mine,
               co_await store.digests(ranges_of(difference.parts), since));
        for (std::size_t i = 0; i < mine.size(); ++i) {
          const bool theirs_only = mine[i] != difference.parts[i] && difference.parts[i].posts > 0;
          if (theirs_only) {
            CO_TRY_VOID(co_await open_range(store, mine[i].range, &open));
          }
        }
      } else {
        for (const HistoryEntry& entry : difference.entries) {
          if (!holds(question.own.range, entry))
            co_return fail(ErrorCode::kInvalid, "a replica sends posts of other hours");
        }
        if (difference.next) open.push_back({question.own, difference.next});
        done.entries += difference.entries.size();
        CO_TRY_VOID(co_await hear(std::move(difference.entries)));
      }
    }
  }
  co_return done;
}

}  // namespace tagring::storage
