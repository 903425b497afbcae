// The inbox: activities of instances and of other nodes, authenticated and handed to the roles
// (docs/protocol.md).
//
// 2xx is given only after what the activity asks for is on disk. Anything else has changed nothing.
#pragma once

#include <string>
#include <vector>

#include "audit/receipts.hpp"
#include "federation/authenticator.hpp"
#include "fediverse/activity.hpp"
#include "instances/follower_sync.hpp"
#include "instances/publisher.hpp"
#include "relay/relay_owner.hpp"
#include "relay/subscriber.hpp"
#include "storage/storage_owner.hpp"

namespace tagring::node {

class Inbox {
 public:
  Inbox(federation::Authenticator& authenticator, instances::Publisher& publisher, relay::RelayOwner& relay,
        storage::StorageOwner& storage, relay::Subscriber& subscriber, relay::HashtagFollowers& followers,
        instances::Instances& instances, const federation::Blocks& blocks, instances::FollowerSync& sync,
        relay::RelayRedundancy& sets, redundancy::RelayHints& counts,
        const storage::KeptPartitions& stores, federation::ActivityQueue& mailbox,
        audit::Receipts& receipts, const federation::Identity& identity, Clock& clock)
      : authenticator_(authenticator),
        publisher_(publisher),
        relay_(relay),
        storage_(storage),
        subscriber_(subscriber),
        followers_(followers),
        instances_(instances),
        blocks_(blocks),
        sync_(sync),
        sets_(sets),
        counts_(counts),
        stores_(stores),
        mailbox_(mailbox),
        receipts_(receipts),
        identity_(identity),
        clock_(clock) {}

  // Answers POST to this node's inbox or to that of one of its hashtag actors.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

  struct Counters {
    std::uint64_t accepted = 0;
    std::uint64_t ignored = 0;
    std::uint64_t refused = 0;
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  using Batch = Result<std::vector<relay::Refusal>>;
  struct Envelope {
    std::string target;  // which inbox
    std::string body;
  };
  Task<HttpResponse> dispatch(fediverse::Activity activity, fediverse::RemoteActor sender, Envelope envelope);
  Task<HttpResponse> take_follow(fediverse::Activity activity, fediverse::RemoteActor sender,
                                 Envelope envelope);
  Task<HttpResponse> follow_by_uri(fediverse::RemoteActor sender, Tag tag, std::string body);
  [[nodiscard]] std::string relay_at(const std::string& target) const;
  Task<HttpResponse> take_accept(std::string actor, std::vector<fediverse::FollowRef> follows);
  Task<Batch> follow_as_node(std::vector<relay::Follower> followers);
  Task<HttpResponse> take_unfollow(fediverse::Activity activity, fediverse::FollowRef follow,
                                   Envelope envelope);
  Task<HttpResponse> take_events(std::string target, relay::Op op, std::vector<fediverse::PostRef> posts,
                                 std::string sender, std::string body);
  Task<HttpResponse> take_announced(std::vector<relay::TagEvent> events, std::string sender,
                                    redundancy::RelayClaims claims);
  Task<HttpResponse> take_as_storage(std::vector<relay::TagEvent> events, std::string sender,
                                     redundancy::RelayClaims claims);
  Task<HttpResponse> take_as_relay(std::vector<relay::TagEvent> events, std::string sender,
                                   relay::RelayNews news);

  federation::Authenticator& authenticator_;
  instances::Publisher& publisher_;
  relay::RelayOwner& relay_;
  storage::StorageOwner& storage_;
  relay::Subscriber& subscriber_;
  relay::HashtagFollowers& followers_;
  instances::Instances& instances_;
  const federation::Blocks& blocks_;
  instances::FollowerSync& sync_;
  relay::RelayRedundancy& sets_;
  redundancy::RelayHints& counts_;
  const storage::KeptPartitions& stores_;
  federation::ActivityQueue& mailbox_;
  audit::Receipts& receipts_;
  const federation::Identity& identity_;
  Clock& clock_;
  Counters counters_;
};

}  // namespace tagring::node
