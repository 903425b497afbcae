// Anti-entropy: replicas of history find what they lack of each other, at a cost that follows the difference
// and not the history. It is a search down a Merkle tree whose leaves are the hours of hashtags; the tree is
// not kept but cut anew where two differ, so that it fits both stores whatever they hold.
//
// One asks and hears; the other answers. Both do both, so both end with what can be believed of the union
// (storage/disputes.hpp).
#pragma once

#include <functional>

#include "storage/history.hpp"

namespace tagring::storage {

struct Comparison {
  HourDigest own;                      // of who asks
  std::optional<HistoryCursor> after;  // goes on in an hour that is too large for one answer
};

// What is different in one of the ranges asked for: either parts, with the digests of who answers, or
// entries.
struct Difference {
  std::size_t index = 0;  // of the comparison
  std::vector<HourDigest> parts;
  std::vector<HistoryEntry> entries;
  std::optional<HistoryCursor> next;  // there are more entries after this one
  bool later = false;                 // the answer is full: ask again
};

struct CompareLimits {
  std::size_t ranges = 64;    // of one question
  std::size_t parts = 16;     // of one range
  std::size_t leaf = 64;      // ranges with more posts are cut
  std::size_t entries = 400;  // of one answer
};

// Answers: nothing about ranges that are equal.
[[nodiscard]] Task<Result<std::vector<Difference>>> compare(HistoryStore& store,
                                                            std::vector<Comparison> asked, std::int64_t since,
                                                            CompareLimits limits);

using AskReplica = std::function<Task<Result<std::vector<Difference>>>(std::vector<Comparison> asked)>;

// Takes what the replica has, as far as it is to be believed.
using HearReplica = std::function<Task<Result<void>>(std::vector<HistoryEntry> entries)>;

struct Reconciled {
  std::uint64_t questions = 0;
  std::uint64_t entries = 0;  // sent by the replica
};

// Asks a replica until all that it has in the range and after `since`, and is not here, was heard. kInvalid
// if its answers make no sense; what came before stays.
[[nodiscard]] Task<Result<Reconciled>> reconcile(HistoryStore& store, HourRange range, std::int64_t since,
                                                 AskReplica ask, HearReplica hear, CompareLimits limits);

}  // namespace tagring::storage
