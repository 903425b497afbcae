// For tests of the rings alone: a node with no data, that blocks nobody.
#pragma once

#include "overlay/observer.hpp"

namespace tagring::overlay {

class SilentObserver : public Observer {
 public:
  void segment_changed(Ring /*ring*/, ring::Vserver& /*vserver*/) override {}
  void gave_up(Ring /*ring*/, const RingId& /*vserver*/, const Segment& /*positions*/,
               Instant /*since*/) override {}
  void handed_over(Ring /*ring*/, const RingId& /*vserver*/) override {}
  Task<Result<void>> take_over(Ring /*ring*/, ring::Contact /*asked*/, ring::TakeOver /*request*/) override {
    co_return fail(ErrorCode::kUnavailable, "this node takes nothing over");
  }
  Task<Result<ring::Load>> load_of(Ring /*ring*/, Segment /*segment*/) override { co_return ring::Load{}; }
  [[nodiscard]] bool is_blocked(std::string_view /*host*/) const override { return false; }
};

}  // namespace tagring::overlay
