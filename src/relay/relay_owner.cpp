#include "relay/relay_owner.hpp"

namespace tagring::relay {

Task<Result<std::vector<delivery::Refusal>>> RelayOwner::take(std::vector<delivery::TagEvent> events,
                                                              std::string sender,
                                                              std::vector<redundancy::OverloadToken> tokens) {
  co_await redundancy_.present(std::move(tokens));
  std::vector<delivery::Refusal> refusals;
  events = co_await checker_.believable(*this, std::move(events), std::move(sender), {}, &refusals);
  std::erase_if(events, [&](const delivery::TagEvent& event) {
    const bool admitted = event.op == delivery::Op::kRemove || redundancy_.admit(event.tag);
    if (!admitted)
      refusals.push_back({event.uri, event.tag, {ErrorCode::kUnavailable, "this relay is overloaded"}});
    return !admitted;
  });
  if (!events.empty()) {
    CO_TRY(const std::size_t fresh,
           co_await feed_.take(std::move(events), storage_.copies(), delivery::Announcer::To::kEverybody));
    relayed_ += fresh;
  }
  co_return refusals;
}

Result<void> RelayOwner::check_serving(const Tag& tag) const {
  bool owned = false;
  const unsigned replicas = relays_.at_rest();
  const RingId key = tag.key();
  for (unsigned i = 0; i < replicas; ++i) {
    const RingId place = replica_key(key, i, replicas);
    if (rings_.of(Ring::kRelay).serving(place) != nullptr) return {};
    owned = owned || rings_.of(Ring::kRelay).owning(place) != nullptr;
  }
  if (redundancy_.is_relay_beyond_rest(tag)) return {};
  if (owned) return fail(ErrorCode::kBusy, "this node is still fetching the tag's data");
  return fail(ErrorCode::kNotOwner, "this node does not own the tag");
}

Result<void> RelayOwner::check_place(const delivery::TagEvent& event) const {
  return check_serving(event.tag);
}

Task<redundancy::RelayHalves> RelayOwner::witness(Tag /*tag*/, std::string /*sender*/,
                                                  std::optional<redundancy::RelayClaim> /*claim*/) {
  co_return 0;
}

}  // namespace tagring::relay
