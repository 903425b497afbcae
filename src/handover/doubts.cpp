#include "handover/doubts.hpp"

#include <algorithm>
#include <utility>

namespace tagring::handover {

Doubts::Doubts(belief::PostChecker& checker, relay::Feed& feed, const Runtime& runtime)
    : checker_(checker), feed_(feed), clock_(runtime.clock), log_(runtime.log), tasks_(runtime.executor) {}

Task<void> Doubts::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<Result<void>> Doubts::hear(std::vector<relay::TagEvent> events, std::string relay) {
  CO_TRY(events, co_await feed_.news_of(std::move(events)));
  std::vector<relay::TagEvent> believed;
  for (relay::TagEvent& event : events) {
    if (event.op == relay::Op::kAdd && !checker_.check_blocks(event)) continue;
    if (checker_.hear(event, relay)) {
      believed.push_back(std::move(event));
      continue;
    }
    // The oldest goes: what is not taken here is with the other owners and subscribers.
    if (doubted_.size() >= kMax) doubted_.pop_front();
    doubted_.push_back({std::move(event), clock_.now(), clock_.now() + kWait});
  }
  if (!doubted_.empty() && !std::exchange(resolving_, true)) tasks_.spawn("doubts", resolve());
  if (!believed.empty()) {
    const auto taken = co_await feed_.take(std::move(believed), 0, relay::Announcer::To::kEverybody);
    if (!taken) co_return std::unexpected(taken.error());
  }
  co_return Result<void>();
}

Task<void> Doubts::resolve() {
  while (!doubted_.empty()) {
    const Instant due = std::max(doubted_.front().due, clock_.now() + kBetween);
    co_await clock_.sleep_until(due);
    if (doubted_.empty()) break;
    Doubt doubt = std::move(doubted_.front());
    doubted_.pop_front();
    co_await resolve_one(std::move(doubt));
  }
  resolving_ = false;
}

Task<void> Doubts::resolve_one(Doubt doubt) {
  const Result<relay::TagEvent> event = co_await checker_.look_into(doubt.event);
  if (event) {
    const auto taken = co_await feed_.take({*event}, 0, relay::Announcer::To::kEverybody);
    if (!taken) log_.error("post_not_written", {{"post", event->uri}, {"because", taken.error().message}});
    co_return;
  }
  if (event.error().code != ErrorCode::kBusy || clock_.now() - doubt.heard >= kGivenUp) co_return;
  doubt.due = clock_.now() + kWait;
  doubted_.push_back(std::move(doubt));
}

}  // namespace tagring::handover
