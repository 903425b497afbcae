// What nodes tell each other of posts under hashtags: an Add or a Remove to this node as an owner, an
// Announce or its Undo to this node as a subscriber.
#pragma once

#include <string>
#include <vector>

#include "activitypub/owner_batches.hpp"
#include "base/time.hpp"
#include "budget/manager.hpp"
#include "delivery/store.hpp"
#include "federation/identity.hpp"
#include "fediverse/activity.hpp"
#include "http/message.hpp"
#include "redundancy/relay_hints.hpp"
#include "subscriber/subscriber.hpp"

namespace tagring::activitypub {

class TagEvents {
 public:
  TagEvents(OwnerBatches& owner, subscriber::Subscriber& subscriber, redundancy::RelayHints& hints,
            budget::Manager& budget, const federation::Identity& identity, const Clock& clock)
      : owner_(owner),
        subscriber_(subscriber),
        hints_(hints),
        budget_(budget),
        identity_(identity),
        clock_(clock) {}

  struct Batch {
    delivery::Op op = delivery::Op::kAdd;
    std::vector<fediverse::PostRef> posts;
    std::string sender;  // origin
    std::string body;    // the activity as it came
  };
  // `target` is this node's relay or its storage; kInvalid for all else.
  [[nodiscard]] Task<HttpResponse> take(std::string target, Batch batch);
  [[nodiscard]] Task<HttpResponse> take_announced(Batch batch);

 private:
  OwnerBatches& owner_;
  subscriber::Subscriber& subscriber_;
  redundancy::RelayHints& hints_;
  Result<void> check_budget(const std::string& sender, std::size_t events);

  budget::Manager& budget_;
  const federation::Identity& identity_;
  const Clock& clock_;
};

}  // namespace tagring::activitypub
