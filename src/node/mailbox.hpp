// Single activities of this node's actors that must arrive, such as the answer to a Follow. Each is on disk
// until its inbox has taken it or refused it, or for a week.
#pragma once

#include <string>
#include <vector>

#include "node/courier.hpp"
#include "relay/lanes.hpp"
#include "relay/store.hpp"

namespace tagring::node {

class Mailbox {
 public:
  static constexpr Duration kLifetime = std::chrono::days(7);

  Mailbox(relay::Store& store, Courier& courier, Clock& clock, Executor executor, Rng rng);

  // Takes up what waited when the node stopped.
  [[nodiscard]] Task<Result<void>> load();
  [[nodiscard]] Task<void> stop();

  // Sends `body` on behalf of one of this node's actors. Durable when it completes; delivered later.
  [[nodiscard]] Task<Result<void>> send(std::string actor, std::string inbox, std::string body);

  [[nodiscard]] bool idle() const { return lanes_.idle(); }
  // By inbox.
  [[nodiscard]] std::map<std::string, relay::LaneStatus> lanes() const { return lanes_.status(); }

 private:
  using Letters = std::vector<relay::Letter>;
  Task<Letters> deliver(std::string inbox, Letters letters);

  relay::Store& store_;
  Courier& courier_;
  Clock& clock_;
  relay::Lanes<relay::Letter> lanes_;  // by inbox
};

}  // namespace tagring::node
