// Follows of this node's hashtag actors: by people and servers, who get the posts as boosts, and by nodes,
// which get them from the owner of the hashtag.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "delivery/results.hpp"
#include "delivery/store.hpp"
#include "federation/activity_queue.hpp"
#include "federation/blocks.hpp"
#include "federation/identity.hpp"
#include "fediverse/actor.hpp"
#include "http/message.hpp"
#include "relay/relay_owner.hpp"
#include "relay/relay_redundancy.hpp"
#include "subscriber/hashtag_followers.hpp"

namespace tagring::activitypub {

class TagFollows {
 public:
  TagFollows(subscriber::HashtagFollowers& followers, relay::RelayOwner& owner,
             relay::RelayRedundancy& redundancy, const federation::Blocks& blocks,
             federation::ActivityQueue& activities, const federation::Identity& identity)
      : followers_(followers),
        owner_(owner),
        redundancy_(redundancy),
        blocks_(blocks),
        activities_(activities),
        identity_(identity) {}

  // Of a person or a server, who is accepted by the hashtag's `actor`. `body`: the Follow as it came.
  [[nodiscard]] Task<HttpResponse> follow(std::vector<delivery::Follower> followers, std::string actor,
                                          fediverse::RemoteActor sender, std::string body);
  // Answers a Follow of `actor`, one of this node's, of that id, that is not taken.
  [[nodiscard]] Task<HttpResponse> reject(std::string actor, std::string follow_id,
                                          fediverse::RemoteActor sender, std::string body);
  // Of a node. The answer says at once which hashtags are not this node's.
  [[nodiscard]] Task<HttpResponse> follow_as_node(std::vector<delivery::Follower> followers);
  // The hashtag that the actor follows by the Follow of that id; kNotFound if there is none.
  [[nodiscard]] Task<Result<Tag>> followed(std::string actor, std::string follow_id) {
    std::vector<Tag> tags = followers_.all().tags_of(actor);
    return followers_.store().tag_followed(std::move(actor), std::move(follow_id), std::move(tags));
  }
  [[nodiscard]] bool follows(const Tag& tag, const std::string& actor) const {
    return followers_.all().follows(tag, actor);
  }
  // What relays tell each other of an Undo: of a node's always, since it may come before what another relay
  // says of the Follow; of people's if they follow; and nothing if a node follows the hashtag elsewhere from
  // now on.
  enum class Undone : std::uint8_t { kByNode, kByPeople, kInMove };
  // Pairs of hashtag and follower.
  [[nodiscard]] Task<Result<void>> unfollow(std::vector<std::pair<Tag, std::string>> pairs, Undone undone);

 private:
  Task<Result<std::vector<delivery::Refusal>>> take_served(std::vector<delivery::Follower> followers);
  Task<Result<void>> tell_former_node(const Tag& tag, const std::string& follower);

  subscriber::HashtagFollowers& followers_;
  relay::RelayOwner& owner_;
  relay::RelayRedundancy& redundancy_;
  const federation::Blocks& blocks_;
  federation::ActivityQueue& activities_;
  const federation::Identity& identity_;
};

}  // namespace tagring::activitypub
