#include "storage/reconcile.hpp"

#include <deque>

namespace tagring::storage {
namespace {

// Of one replica, before it is another's turn: there need be no end of what a liar has. What an honest one
// had until then is here, and the rest comes the next time: 1.6 million posts, or some.
constexpr std::uint64_t kQuestionsMax = 4'000;

std::vector<HourRange> ranges_of(const std::vector<HourDigest>& digests) {
  std::vector<HourRange> ranges;
  for (const HourDigest& digest : digests) ranges.push_back(digest.range);
  return ranges;
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

}  // namespace

Task<Result<std::vector<Difference>>> compare(HistoryStore& store, std::vector<Comparison> asked,
                                              std::int64_t since, CompareLimits limits) {
  if (asked.size() > limits.ranges) co_return fail(ErrorCode::kTooLarge, "too many ranges in one question");
  std::vector<HourRange> ranges;
  for (const Comparison& comparison : asked) ranges.push_back(comparison.own.range);
  CO_TRY(const std::vector<HourDigest> own, co_await store.digests(std::move(ranges), since));
  std::vector<Difference> differences;
  std::size_t room = limits.entries;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (own[i] == asked[i].own && !asked[i].after) continue;
    Difference difference{.index = i, .parts = {}, .entries = {}, .next = {}, .later = room == 0};
    if (room > 0 && own[i].posts > limits.leaf && !asked[i].after) {
      CO_TRY(difference.parts, co_await store.split(own[i].range, since, limits.parts));
    }
    if (room > 0 && difference.parts.size() < 2) {
      difference.parts.clear();  // one hour that cannot be cut
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
  std::deque<Comparison> open{{HourDigest{range, 0, 0}, std::nullopt}};
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
    for (Difference& difference : differences) {
      if (difference.index >= asked.size()) co_return fail(ErrorCode::kInvalid, "an answer to no question");
      const Comparison& question = asked[difference.index];
      if (difference.later) {
        open.push_back(question);
      } else if (!difference.parts.empty()) {
        CO_TRY_VOID(check_parts(question.own.range, difference.parts));
        CO_TRY(const std::vector<HourDigest> mine,
               co_await store.digests(ranges_of(difference.parts), since));
        for (std::size_t i = 0; i < mine.size(); ++i) {
          const bool theirs_only = mine[i] != difference.parts[i] && difference.parts[i].posts > 0;
          if (theirs_only) open.push_back({mine[i], std::nullopt});
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
