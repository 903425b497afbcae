#include "overlay/ring_status.hpp"

#include "ring/vserver.hpp"

namespace tagring::overlay {

json::object rings_status(RingService& rings, const Balancer& balancer) {
  json::object all;
  for (const Ring which : {Ring::kRelay, Ring::kStorage}) {
    const ring::Membership& membership = rings.of(which);
    double share = 0;
    bool serving = rings.is_reached() && !rings.has_left(which);
    for (const auto& vserver : membership.vservers()) {
      const std::optional<Segment> owned = vserver->owned();
      if (owned)
        share += owned->from == owned->to ? 1.0 : clockwise_distance(owned->from, owned->to).fraction();
      serving = serving && vserver->state() == ring::Vserver::State::kServing;
    }
    const auto& vservers = membership.vservers();
    const double estimate = vservers.empty() ? 0 : vservers.front()->estimated_size();
    const Balancer::State balance = balancer.state(which);
    all[ring::to_string(which)] = json::object{{"member", membership.is_member() && !rings.has_left(which)},
                                               {"leaving", rings.is_leaving() && !vservers.empty()},
                                               {"left", rings.has_left(which) && vservers.empty()},
                                               {"serving", serving},
                                               {"share", share},
                                               {"vservers", vservers.size()},
                                               {"load", balance.load},
                                               {"capacity", balance.capacity},
                                               {"moves", balance.moves},
                                               {"loads_not_believed", balance.refused},
                                               {"estimated_vservers", estimate},
                                               {"lookups", membership.counters().lookups},
                                               {"secure_lookups", membership.counters().secure},
                                               {"lookup_calls", membership.counters().lookup_calls},
                                               {"cached", membership.counters().cached},
                                               {"merges", membership.counters().merges}};
  }
  return all;
}

}  // namespace tagring::overlay
