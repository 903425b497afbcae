// The subscriber role (paper §5.5): takes what the relays announce of the hashtags that this node wants, once
// each, and passes it on to its own followers.
#pragma once

#include <string>
#include <vector>

#include "belief/post_checker.hpp"
#include "redundancy/relay_hints.hpp"
#include "relay/feed.hpp"
#include "relay/relay_owner.hpp"
#include "relay/subscriptions.hpp"

namespace tagring::relay {

class Subscriber {
 public:
  Subscriber(Subscriptions& subscriptions, RelayRedundancy& redundancy, const RelayOwner& relay,
             belief::PostChecker& checker, Feed& feed)
      : subscriptions_(subscriptions),
        redundancy_(redundancy),
        relay_(relay),
        checker_(checker),
        feed_(feed) {}

  // Takes announcements from an owner that we follow, or that proves to be a relay of what we want, as far as
  // they can be believed (belief::PostChecker::corroborated).
  [[nodiscard]] Task<Result<std::vector<Refusal>>> receive(std::vector<TagEvent> events, std::string sender,
                                                           redundancy::RelayClaims claims);
  [[nodiscard]] std::uint64_t received() const { return received_; }  // events, first time

 private:
  Task<Result<void>> check_announcer(std::string tag, std::string sender,
                                     const redundancy::RelayClaims* claims);
  Task<bool> is_relay(std::string tag, std::string sender, const redundancy::RelayClaims* claims);
  [[nodiscard]] bool relays_here(const TagEvent& event) const;
  Task<Result<void>> take(std::vector<TagEvent> events, unsigned storage_replicas, Announcer::To to);

  Subscriptions& subscriptions_;
  RelayRedundancy& redundancy_;
  const RelayOwner& relay_;
  belief::PostChecker& checker_;
  Feed& feed_;
  std::uint64_t received_ = 0;
};

}  // namespace tagring::relay
