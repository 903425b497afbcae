// The subscriber role (paper §5.5): takes what the relays announce of the hashtags that this node wants, once
// each, and passes it on to its own followers.
#pragma once

#include <string>
#include <vector>

#include "belief/doubts.hpp"
#include "belief/post_checker.hpp"
#include "delivery/feed.hpp"
#include "redundancy/relay_hints.hpp"
#include "relay/relay_owner.hpp"
#include "subscriber/subscriptions.hpp"

namespace tagring::subscriber {

class Subscriber : private belief::Doubts::Taker {
 public:
  Subscriber(Subscriptions& subscriptions, relay::RelayRedundancy& redundancy, const relay::RelayOwner& relay,
             belief::PostChecker& checker, belief::Doubts& doubts, delivery::Feed& feed)
      : subscriptions_(subscriptions),
        redundancy_(redundancy),
        relay_(relay),
        checker_(checker),
        doubts_(doubts),
        feed_(feed) {}

  // Takes announcements from an owner that we follow, or that proves to be a relay of what we want, as far as
  // they can be believed (belief::PostChecker::corroborated).
  [[nodiscard]] Task<Result<std::vector<delivery::Refusal>>> receive(std::vector<delivery::TagEvent> events,
                                                                     std::string sender,
                                                                     redundancy::RelayClaims claims);
  // Takes what an owner that we follow had before it knew us: at once what can be believed, the rest when it
  // can (belief::Doubts).
  [[nodiscard]] Task<Result<void>> receive_missed(std::vector<delivery::TagEvent> events, std::string owner);
  [[nodiscard]] std::uint64_t received() const { return received_; }  // events, first time

 private:
  struct Welcome {
    std::vector<delivery::TagEvent> news;  // that this node wants
    belief::PostChecker::Relayed relayed;  // hashtags of which the sender certainly is a relay
    std::vector<delivery::Refusal> refusals;
  };
  Task<Result<Welcome>> welcome(std::vector<delivery::TagEvent> events, std::string sender,
                                redundancy::RelayClaims claims);
  Task<Result<void>> check_announcer(Tag tag, std::string sender, const redundancy::RelayClaims* claims);
  Task<redundancy::RelayHalves> witness(Tag tag, std::string sender, const redundancy::RelayClaims* claims);
  [[nodiscard]] bool relays_here(const delivery::TagEvent& event) const;
  Task<Result<void>> take(std::vector<delivery::TagEvent> events, unsigned storage_replicas,
                          delivery::Announcer::To to);
  [[nodiscard]] Task<Result<void>> take_believed(std::vector<delivery::TagEvent> events) override;

  Subscriptions& subscriptions_;
  relay::RelayRedundancy& redundancy_;
  const relay::RelayOwner& relay_;
  belief::PostChecker& checker_;
  belief::Doubts& doubts_;
  delivery::Feed& feed_;
  std::uint64_t received_ = 0;
};

}  // namespace tagring::subscriber
