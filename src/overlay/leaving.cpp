// RingService: how a node leaves a ring, or one place of several (paper §5.6).
#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "overlay/ring_service.hpp"
#include "ring/vserver.hpp"

namespace tagring::overlay {
namespace {
// Who takes over is given as long for it as it gives those from whom it copies (Transfer::kPatienceMax); of
// who does not answer, the ring learns within seconds.
constexpr Duration kHandOverMax = std::chrono::hours(1);
constexpr Duration kHandOverCall = std::chrono::minutes(5);
constexpr Duration kAskAgain = std::chrono::seconds(5);
constexpr int kHandOverTries = 6;
constexpr int kOfSilence = 3;  // tries that a call counts for in which nothing was heard
}  // namespace

Task<void> RingService::leave(Ring ring) {
  left_.try_emplace(ring);
  ring::Membership& membership = of(ring);
  co_await membership.stop_joining();
  const auto leave_one = [this, ring](ring::Vserver* vserver) { return leave_place(ring, vserver); };
  while (!membership.vservers().empty()) {
    const std::uint8_t number = membership.vservers().front()->self().vserver;
    const Result<void> gone = co_await membership.give_up_place(number, leave_one);
    if (gone) continue;
    // Somebody else has told the node to leave.
    const Instant next = clock_.now() + kAskAgain;
    co_await clock_.sleep_until(next);
  }
}

void RingService::stay_away() {
  for (const Ring ring : {Ring::kRelay, Ring::kStorage}) {
    left_.try_emplace(ring);
    of(ring).stay_away();
  }
  if (options_.save_address_book) tasks_.spawn("keep_address_book", keep_address_book());
}

json::object RingService::left(Ring ring) const {
  const auto found = left_.find(ring);
  const Left left = found == left_.end() ? Left{} : found->second;
  return {{"handed_over", left.handed_over}, {"not_handed_over", left.not_handed_over}};
}

// The node goes in any case: whoever tells it to may have no other way. Never an error.
Task<Result<void>> RingService::leave_place(Ring ring, ring::Vserver* vserver) {
  const bool was_member = vserver->is_member();
  Result<void> taken;
  if (was_member) taken = co_await hand_over(ring, vserver);
  if (taken && was_member) {
    ++left_[ring].handed_over;
    observer_.handed_over(ring, vserver->self().id);
  }
  if (!taken) {
    const ring::Contact& self = vserver->self();
    log_.warn("not_handed_over", {{"ring", ring::to_string(ring)},
                                  {"vserver", std::to_string(self.vserver)},
                                  {"because", taken.error().message}});
    left_[ring].not_handed_over.push_back({{"vserver", self.vserver}, {"because", taken.error().message}});
    if (const std::optional<Segment> owned = vserver->owned())
      observer_.gave_up(ring, self.id, *owned, clock_.now());
  }
  co_await step_down(ring, vserver);
  co_return Result<void>();
}

Task<Result<Segment>> RingService::give_up_place(Ring ring, std::uint8_t number) {
  Segment owned;
  Segment* place = &owned;
  const auto hand_over = [this, ring, place](ring::Vserver* vserver) {
    *place = vserver->owned().value_or(Segment{});
    return move_away(ring, vserver);
  };
  CO_TRY_VOID(co_await of(ring).give_up_place(number, hand_over));
  co_return owned;
}

// From one place of several.
Task<Result<void>> RingService::move_away(Ring ring, ring::Vserver* vserver) {
  const ring::SuccessorList& successors = vserver->successors();
  if (!vserver->owned() || successors.empty() || vserver->missing())
    co_return fail(ErrorCode::kBusy, "nobody could take over from that vserver now");
  // What is handed over to this node itself is here already.
  Result<void> taken;
  if (successors.front().origin() != vserver->self().origin()) taken = co_await hand_over(ring, vserver);
  if (taken) co_await step_down(ring, vserver);
  co_return taken;
}

// In the end nobody is told any more that the vserver leaves; and if its upkeep rests then, because whoever
// waited is cancelled, that goes on.
class RingService::HandingOver {
 public:
  HandingOver(RingService& service, Ring ring, ring::Vserver* vserver)
      : service_(service), ring_(ring), vserver_(vserver) {}
  ~HandingOver() {
    service_.leaving_.erase({ring_, vserver_->self().id});
    wake();
  }
  HandingOver(const HandingOver&) = delete;
  HandingOver& operator=(const HandingOver&) = delete;

  void set_resting(bool rests) { rests_ = rests; }
  void wake() {
    if (std::exchange(rests_, false) && !service_.has_stopped_) vserver_->start();
  }

 private:
  RingService& service_;
  Ring ring_;
  ring::Vserver* vserver_;
  bool rests_ = false;
};

// It is asked again while it copies, however long that takes and whatever stands between us that ends long
// answers; and a few times where it cannot be reached, until the ring knows another. Meanwhile this place
// takes nothing more (Membership::give_up_place).
Task<Result<void>> RingService::hand_over(Ring ring, ring::Vserver* vserver) {
  const Instant end = clock_.now() + kHandOverMax;
  Result<void> taken;
  HandingOver handing_over(*this, ring, vserver);
  for (int failures = 0;;) {
    // What it owns, and before whom it stands, stays as it is while that is copied.
    co_await vserver->stop();
    handing_over.set_resting(true);
    taken = co_await ask_to_take_over(ring, vserver);
    if (taken) break;
    handing_over.wake();
    const ErrorCode why = taken.error().code;
    // Where there was somebody at first, the ring finds another.
    const bool is_final = why == ErrorCode::kDenied || (why == ErrorCode::kInvalid && failures == 0);
    failures = why == ErrorCode::kBusy ? 0 : failures + (why == ErrorCode::kTimedOut ? kOfSilence : 1);
    if (is_final || failures >= kHandOverTries || clock_.now() >= end) break;
    const Instant later = clock_.now() + kAskAgain;
    co_await clock_.sleep_until(later);
  }
  co_return taken;
}

// The next node of the ring: vservers of our own in between are left out. kInvalid if nobody can be asked.
Task<Result<void>> RingService::ask_to_take_over(Ring ring, ring::Vserver* vserver) {
  const ring::Contact self = vserver->self();
  const std::vector<ring::Contact> successors = vserver->successors().copy();
  const auto next = std::ranges::find_if(
      successors, [&](const ring::Contact& contact) { return contact.origin() != self.origin(); });
  const std::optional<Segment> owned = vserver->owned();
  if (!owned) co_return fail(ErrorCode::kInvalid, "it does not know yet what it owns");
  if (next == successors.end()) co_return fail(ErrorCode::kInvalid, "no other node is known on that ring");
  leaving_[{ring, self.id}] = *owned;
  ring::Request request{ring, ring::TakeOver{self, *owned}};
  const Instant deadline = clock_.now() + kHandOverCall;
  const Result<ring::Reply> reply = co_await peers_->call(*next, std::move(request), deadline);
  if (!reply) co_return fail(reply.error().code, next->host + ": " + reply.error().message);
  co_return Result<void>();
}

Task<void> RingService::step_down(Ring ring, ring::Vserver* vserver) {
  std::vector<ring::Contact> neighbours = vserver->successors().copy();
  neighbours.resize(std::min<std::size_t>(1, neighbours.size()));
  if (vserver->predecessor()) neighbours.push_back(*vserver->predecessor());
  co_await vserver->stop();
  vserver->leave();
  for (const ring::Contact& neighbour : neighbours) {
    ring::Request request;
    request.ring = ring;
    request.body = ring::Nudge{};
    co_await peers_->call(neighbour, std::move(request), clock_.now() + options_.tuning.call_timeout);
  }
}

std::optional<Segment> RingService::leaving(Ring ring, const RingId& vserver) const {
  const auto found = leaving_.find({ring, vserver});
  return found == leaving_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace tagring::overlay
