// The subscriber role (paper §5.5): takes what the relays announce of the hashtags that this node wants, once
// each, and passes it on to its own followers.
#pragma once

#include <string>
#include <vector>

#include "belief/doubts.hpp"
#include "belief/post_checker.hpp"
#include "redundancy/relay_hints.hpp"
#include "relay/feed.hpp"
#include "relay/relay_owner.hpp"
#include "relay/subscriptions.hpp"

namespace tagring::relay {

class Subscriber : private belief::Doubts::Taker {
 public:
  Subscriber(Subscriptions& subscriptions, RelayRedundancy& redundancy, const RelayOwner& relay,
             belief::PostChecker& checker, belief::Doubts& doubts, Feed& feed)
      : subscriptions_(subscriptions),
        redundancy_(redundancy),
        relay_(relay),
        checker_(checker),
        doubts_(doubts),
        feed_(feed) {}

  // Takes announcements from an owner that we follow, or that proves to be a relay of what we want, as far as
  // they can be believed (belief::PostChecker::corroborated).
  [[nodiscard]] Task<Result<std::vector<Refusal>>> receive(std::vector<TagEvent> events, std::string sender,
                                                           redundancy::RelayClaims claims);
  // Takes what an owner that we follow had before it knew us: at once what can be believed, the rest when it
  // can (belief::Doubts).
  [[nodiscard]] Task<Result<void>> receive_missed(std::vector<TagEvent> events, std::string owner);
  [[nodiscard]] std::uint64_t received() const { return received_; }  // events, first time

 private:
  struct Welcome {
    std::vector<TagEvent> news;            // that this node wants
    belief::PostChecker::Relayed relayed;  // hashtags of which the sender certainly is a relay
    std::vector<Refusal> refusals;
  };
  Task<Result<Welcome>> welcome(std::vector<TagEvent> events, std::string sender,
                                redundancy::RelayClaims claims);
  Task<Result<void>> check_announcer(std::string tag, std::string sender,
                                     const redundancy::RelayClaims* claims);
  Task<redundancy::RelayHalves> witness(std::string tag, std::string sender,
                                        const redundancy::RelayClaims* claims);
  [[nodiscard]] bool relays_here(const TagEvent& event) const;
  Task<Result<void>> take(std::vector<TagEvent> events, unsigned storage_replicas, Announcer::To to);
  [[nodiscard]] Task<Result<void>> take_believed(std::vector<TagEvent> events) override;

  Subscriptions& subscriptions_;
  RelayRedundancy& redundancy_;
  const RelayOwner& relay_;
  belief::PostChecker& checker_;
  belief::Doubts& doubts_;
  Feed& feed_;
  std::uint64_t received_ = 0;
};

}  // namespace tagring::relay
