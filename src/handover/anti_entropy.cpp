#include "handover/anti_entropy.hpp"

#include <map>

namespace tagring::handover {
namespace {

using storage::Comparison;
using storage::Difference;
using storage::HourRange;

// A tombstone is for ever, and so is the history: every hour counts.
constexpr std::int64_t kSince = -storage::kHourMax;

}  // namespace

AntiEntropy::AntiEntropy(Options options, overlay::RingService& rings, storage::KeptPartitions& kept,
                         storage::Disputes& disputes, Transfer& transfer, const Runtime& runtime)
    : options_(options),
      rings_(rings),
      kept_(kept),
      disputes_(disputes),
      transfer_(transfer),
      clock_(runtime.clock),
      rng_(runtime.rng.fork("anti-entropy")),
      log_(runtime.log),
      tasks_(runtime.executor) {}

Task<void> AntiEntropy::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<void> AntiEntropy::reconcile_for_ever() {
  for (;;) {
    // Not everybody at the same time: half to one and a half of the interval.
    const auto spread = static_cast<std::uint64_t>(options_.every.count());
    const Instant next =
        clock_.now() + options_.every / 2 + Duration(static_cast<Duration::rep>(rng_.below(spread + 1)));
    co_await clock_.sleep_until(next);
    co_await reconcile_all();
  }
}

Task<void> AntiEntropy::reconcile_all() {
  struct Work {
    ring::Contact requester;
    Segment positions;
  };
  std::vector<Work> work;
  for (const auto& vserver : rings_.of(Ring::kStorage).vservers()) {
    const std::optional<Segment> serving = vserver->serving();
    if (serving) work.push_back({vserver->self(), *serving});
  }
  std::map<std::string, storage::Disputes::Heard> heard;  // by origin
  for (const Work& part : work) {
    const Transfer::Sources known =
        co_await transfer_.sources(Ring::kStorage, part.requester.id, part.positions);
    for (const auto& [origin, copies] : known.copies) {
      for (const Segment& keys : key_segments(part.positions, kept_.copies())) {
        const Result<void> done = co_await reconcile_with(origin, part.requester, keys, &heard[origin]);
        if (!done) log_.debug("reconciling_failed", {{"with", origin}, {"because", done.error().message}});
      }
    }
  }
  ++counters_.rounds;
}

Task<Result<std::vector<Difference>>> AntiEntropy::ask_replica(std::string origin, ring::Contact requester,
                                                               Segment keys, std::vector<Comparison> asked) {
  Request request;
  request.ring = Ring::kStorage;
  request.requester = std::move(requester);
  request.segment = keys;
  request.kind = "hours";
  request.question = to_json(asked, kSince);
  CO_TRY(const json::object answer, co_await transfer_.ask(std::move(origin), std::move(request)));
  CO_TRY(std::vector<Difference> differences, differences_from_json(answer, asked));
  for (Difference& difference : differences) {
    for (const storage::HistoryEntry& entry : difference.entries) {
      CO_TRY_VOID(check_item(keys, entry.partition));
    }
    kept_.leave_out_misplaced(&difference.entries);
  }
  co_return differences;
}

Task<Result<void>> AntiEntropy::reconcile_with(std::string origin, ring::Contact requester, Segment keys,
                                               storage::Disputes::Heard* heard) {
  const storage::AskReplica ask = [&](std::vector<Comparison> asked) {
    return ask_replica(origin, requester, keys, std::move(asked));
  };
  const storage::HearReplica hear = [&](std::vector<storage::HistoryEntry> entries) {
    return disputes_.hear(std::move(entries), origin, heard);
  };
  for (const HourRange& range : hour_ranges(keys)) {
    CO_TRY(const storage::Reconciled done,
           co_await storage::reconcile(kept_.history(), range, kSince, ask, hear, options_.limits));
    counters_.questions += done.questions;
    counters_.entries += done.entries;
  }
  co_return Result<void>();
}

}  // namespace tagring::handover
