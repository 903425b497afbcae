// The inbox: activities of instances and of other nodes, authenticated and handed to the roles
// (docs/protocol.md).
//
// 2xx is given only after what the activity asks for is on disk. Anything else has changed nothing.
#pragma once

#include <string>
#include <vector>

#include "fediverse/activity.hpp"
#include "node/authenticator.hpp"
#include "node/follower_sync.hpp"
#include "node/publisher.hpp"
#include "node/receipts.hpp"

namespace tagring::node {

class Inbox {
 public:
  Inbox(Authenticator& authenticator, Publisher& publisher, Roles& roles, HashtagFollowers& followers,
        Instances& instances, const relay::Blocks& blocks, FollowerSync& sync, RelaySets& sets,
        RelayCounts& counts, const StorageSets& stores, Mailbox& mailbox, Receipts& receipts,
        const Identity& identity, Clock& clock)
      : authenticator_(authenticator),
        publisher_(publisher),
        roles_(roles),
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
  using Batch = Result<std::vector<Refusal>>;
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
                                    RelayClaims claims);
  Task<HttpResponse> take_as_storage(std::vector<relay::TagEvent> events, std::string sender,
                                     RelayClaims claims);
  Task<HttpResponse> take_as_relay(std::vector<relay::TagEvent> events, std::string sender, RelayNews news);

  Authenticator& authenticator_;
  Publisher& publisher_;
  Roles& roles_;
  HashtagFollowers& followers_;
  Instances& instances_;
  const relay::Blocks& blocks_;
  FollowerSync& sync_;
  RelaySets& sets_;
  RelayCounts& counts_;
  const StorageSets& stores_;
  Mailbox& mailbox_;
  Receipts& receipts_;
  const Identity& identity_;
  Clock& clock_;
  Counters counters_;
};

}  // namespace tagring::node
