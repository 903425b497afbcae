// What the rings tell the rest of the node, and ask of it. The node itself implements it (node/wiring.hpp).
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "base/ring_id.hpp"
#include "base/task.hpp"
#include "ring/vserver.hpp"

namespace tagring::overlay {

class Observer {
 public:
  virtual ~Observer() = default;
  // A vserver of this node owns other keys than before.
  virtual void segment_changed(Ring ring, ring::Vserver& vserver) = 0;
  // The node has given up a vserver that owned these positions. `since`: nothing was written to them here
  // after that.
  virtual void gave_up(Ring ring, const RingId& vserver, const Segment& positions, Instant since) = 0;
  // The node leaves, and another one has all that the vserver owned.
  virtual void handed_over(Ring ring, const RingId& vserver) = 0;
  // Fetches what a leaver owns, on behalf of the vserver that was asked.
  virtual Task<Result<void>> take_over(Ring ring, ring::Contact asked, ring::TakeOver request) = 0;
  // What keys that this node owns cost it, of what it bears.
  virtual Task<Result<ring::Load>> load_of(Ring ring, Segment segment) = 0;
  // The administrator has blocked that host, or a domain above it. Such a node keeps its place on the rings,
  // or they would break for everybody; it is given no data and asked for none (docs/protocol.md §4.4).
  [[nodiscard]] virtual bool is_blocked(std::string_view host) const = 0;
};

}  // namespace tagring::overlay
