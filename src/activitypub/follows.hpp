// Who follows this node's actors: instances use the node's own, or the public collection, as a relay; people,
// servers and nodes follow hashtags (tag_follows.hpp).
#pragma once

#include <optional>
#include <string>

#include "activitypub/tag_follows.hpp"
#include "base/runtime.hpp"
#include "delivery/announcer.hpp"
#include "federation/blocks.hpp"
#include "federation/identity.hpp"
#include "fediverse/activity.hpp"
#include "fediverse/actor.hpp"
#include "hashtag/tag.hpp"
#include "http/message.hpp"
#include "instances/instances.hpp"
#include "instances/moderation.hpp"
#include "queues/turns.hpp"

namespace tagring::activitypub {

class Follows {
 public:
  Follows(instances::Instances& instances, TagFollows& tags, instances::Moderation& moderation,
          delivery::Announcer& announcer, const federation::Identity& identity, const Runtime& runtime)
      : instances_(instances),
        tags_(tags),
        moderation_(moderation),
        announcer_(announcer),
        blocks_(moderation.blocks()),
        identity_(identity),
        turns_(runtime.clock, runtime.executor) {}

  // An activity as it came: at which inbox, and its JSON.
  struct Envelope {
    std::string target;
    std::string body;
  };
  // `activity` is a Follow of one or many of this node's actors, or of hashtag:… URIs.
  [[nodiscard]] Task<HttpResponse> follow(fediverse::Activity activity, fediverse::RemoteActor sender,
                                          Envelope envelope);
  [[nodiscard]] Task<HttpResponse> unfollow(fediverse::RemoteActor sender, fediverse::FollowRef follow,
                                            Envelope envelope);
  // The same of whatever the actor follows by the Follow of that id; ignored if it is no Follow that holds.
  [[nodiscard]] Task<HttpResponse> unfollow_by_id(std::string actor, std::string follow_id);
  // `actor` accepts Follows of this node.
  [[nodiscard]] Task<HttpResponse> take_accept(std::string actor, std::vector<fediverse::FollowRef> follows);
  // `actor` rejects Follows of this node, or announcements.
  [[nodiscard]] Task<HttpResponse> take_reject(std::string actor, std::vector<fediverse::FollowRef> follows);
  // An actor of the node that this one has moved to says that somebody follows it there.
  [[nodiscard]] Task<HttpResponse> take_moved(std::string actor, fediverse::RemoveFollower remove);
  // `author` blocks one of this node's actors, by the Block of that id, or lifts that.
  [[nodiscard]] Task<HttpResponse> take_block(std::string author, std::string object, std::string id);
  [[nodiscard]] Task<HttpResponse> end_block(std::string author, std::string object, std::string id);

  static constexpr std::string_view kPath = "/follows/";
  // GET of the id of a Follow by one of this node's actors, for as long as it holds or waits for its answer.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  Task<HttpResponse> follow_relay(fediverse::RemoteActor sender, std::string relay, bool of_public,
                                  std::string body);
  Task<HttpResponse> follow_by_uri(fediverse::RemoteActor sender, Tag tag, std::string body);
  Task<HttpResponse> follow_tags(fediverse::Activity activity, fediverse::RemoteActor sender,
                                 std::string body);
  [[nodiscard]] Task<HttpResponse> follow_as_asked(fediverse::Activity activity,
                                                   fediverse::RemoteActor sender, Envelope envelope);
  // `object` is no actor any more that `actor` could follow, unless that does already.
  [[nodiscard]] bool has_moved(const std::string& object, const std::string& actor) const;
  [[nodiscard]] bool is_ours(const std::string& object) const;
  // What blocks that actor of this node; none if it is none.
  [[nodiscard]] std::optional<federation::Refusal> refusal_of(const std::string& author,
                                                              const std::string& object) const;
  [[nodiscard]] bool holds(const std::string& actor, const std::string& object) const;
  [[nodiscard]] Task<HttpResponse> refuse_undone(std::string object, std::string id,
                                                 fediverse::RemoteActor sender, std::string body);
  // Which of this node's actors a Follow is of, as far as it names one.
  [[nodiscard]] std::string followed(const std::vector<std::string>& objects,
                                     const std::string& target) const;
  [[nodiscard]] std::string relay_at(const std::string& target) const;

  instances::Instances& instances_;
  TagFollows& tags_;
  instances::Moderation& moderation_;
  delivery::Announcer& announcer_;
  const federation::Blocks& blocks_;
  const federation::Identity& identity_;
  queues::Turns turns_;  // of actors
};

}  // namespace tagring::activitypub
