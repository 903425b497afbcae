// The instances that use this node as a relay (docs/protocol.md §9.1): who may publish through it, who gets
// which hashtags, and the handshakes of Mastodon, Misskey and Pleroma.
//
// Instances of this node's own domain are welcome at once. Others wait until the administrator allows them,
// unless the node is open. Publishing and receiving are separate: an instance gets only the hashtags that
// were subscribed for it, never everything.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/runtime.hpp"
#include "budget/manager.hpp"
#include "delivery/store.hpp"
#include "federation/activity_queue.hpp"
#include "fediverse/activity.hpp"
#include "fediverse/actor.hpp"
#include "followers/plan.hpp"
#include "instances/instance_store.hpp"
#include "subscriber/hashtag_followers.hpp"

namespace tagring::instances {

class Instances {
 public:
  struct Options {
    std::vector<std::string> own;  // hosts, with all below them, that may publish and receive
    bool open = false;             // so may everybody
    bool people = false;           // people who follow the node's actor may have their own posts relayed
    std::size_t tags_max = 1000;   // of one instance; and how often it may use hashtag actors as relays
    budget::Manager* budget;       // never null
  };
  // Who waits for the administrator longer must ask again.
  static constexpr Duration kWaitMax = std::chrono::days(30);
  static constexpr std::size_t kFollowMax = 8'192;  // bytes of a Follow
  static constexpr std::size_t kFollowedAgainMax = 10'000;
  static constexpr std::size_t kLoggedWaitingMax = 10'000;

  Instances(Options options, InstanceStore& store, subscriber::HashtagFollowers& followers,
            federation::ActivityQueue& activities, const federation::Identity& identity,
            const Runtime& runtime)
      : options_(std::move(options)),
        store_(store),
        followers_(followers),
        activities_(activities),
        identity_(identity),
        clock_(runtime.clock),
        log_(runtime.log) {}

  [[nodiscard]] Task<Result<void>> load();
  // From now on these count; who has been accepted before stays.
  void use(Options options) { options_ = std::move(options); }

  // The posts of that author are taken: of a person only who follows the node's actor and has accepted its
  // follow in return.
  [[nodiscard]] bool may_publish(const std::string& author) const;

  // An instance of the node's own, or one that the administrator has let in; not because all may.
  [[nodiscard]] bool is_trusted(const std::string& host) const;

  // Posts of that host are taken, whoever let it in.
  [[nodiscard]] bool is_served(const std::string& host) const;

  // An instance of the node's own at that domain or below it; empty if there is none.
  [[nodiscard]] std::string own_within(std::string_view domain) const;

  // The administrator has decided against all dealings with that host.
  [[nodiscard]] bool is_denied(const std::string& host) const;
  [[nodiscard]] bool denies_any() const;

  // That actor is a LitePub relay that was accepted: it announces its people's posts to be relayed.
  [[nodiscard]] bool is_litepub_relay(const std::string& actor) const;

  // `follow` (its JSON in `body`) is of the public collection, or of `relay` itself, which is the node's
  // actor, by either address, or one of its hashtag actors. Durable when it completes; the answer goes by
  // mail, at once or when the administrator has decided. kTooLarge beyond tags_max of hashtag actors;
  // kUnavailable if too many of the domain wait already.
  [[nodiscard]] Task<Result<void>> follow(fediverse::RemoteActor sender, std::string relay, bool of_public,
                                          std::string body);
  // Whether a Follow may be answered: it is short enough to be kept and echoed, and few answers wait for that
  // inbox.
  [[nodiscard]] Result<void> check_asker(const std::string& inbox, const std::string& body) const;
  // Every use of this node as a relay by that actor ends, or only that of one relay.
  [[nodiscard]] Task<Result<void>> unfollow(std::string actor, std::optional<std::string> relay);
  // The actor is gone: all that it follows here and uses ends.
  [[nodiscard]] Task<Result<void>> gone(std::string actor);
  // It follows or uses something here, or is a group that this node follows.
  [[nodiscard]] bool knows(const std::string& actor) const;
  // An actor that this node followed back has accepted.
  [[nodiscard]] Task<Result<void>> take_accept(std::string actor, std::vector<fediverse::FollowRef> follows);

  // An actor that this node follows has rejected that, at once or later.
  [[nodiscard]] Task<Result<void>> take_reject(std::string actor, std::vector<fediverse::FollowRef> follows);

  // Which of this node's actors that actor uses as a relay by the Follow of that id; empty if none.
  [[nodiscard]] std::string relay_followed(const std::string& actor, const std::string& follow_id) const;
  // That Follow of `object`, one of this node's actors, is the last one by the actor.
  [[nodiscard]] Task<Result<void>> note_follow(std::string actor, std::string object, std::string follow_id);
  // An Undo of that Follow, or Block, has come. If it does not end anything (`has_ended`), and the Follow
  // comes later, that is not to be taken.
  [[nodiscard]] Task<Result<void>> note_undo(std::string actor, std::string follow_id, bool has_ended);
  [[nodiscard]] Task<Result<bool>> is_undone(std::string actor, std::string follow_id) {
    return store_.is_undone(std::move(actor), std::move(follow_id));
  }
  [[nodiscard]] Task<Result<bool>> take_undone(std::string actor, std::string follow_id) {
    return store_.take_undone(std::move(actor), std::move(follow_id), clock_.wall_now());
  }
  // That actor uses `relay`, one of this node's actors, or waits to.
  [[nodiscard]] bool uses(const std::string& actor, const std::string& relay) const {
    return links_.contains({actor, relay});
  }
  // It was followed by another since: an Undo of it comes too late.
  [[nodiscard]] Task<Result<bool>> is_former_follow(std::string actor, std::string object,
                                                    std::string follow_id);

  // --- groups, whose posts come only to who follows them (FEP-1b12: Lemmy, PieFed)
  // -------------------------- `actor`, one of this node's hashtag actors, follows it. Again, if it did
  // already.
  [[nodiscard]] Task<Result<void>> follow_as(std::string actor, std::string object, std::string inbox);
  // The Follow of that id by one of this node's actors, if it holds or waits for its answer.
  [[nodiscard]] std::optional<OwnFollow> own_follow(const std::string& follow_id) const;
  // kNotFound if it is not followed.
  [[nodiscard]] Task<Result<void>> leave_group(std::string group);
  [[nodiscard]] std::vector<OwnFollow> groups() const;

  // --- when an actor's followers are compared with what is known here (docs/followers.md) ----------------
  // Which of this node's actors follow that one.
  [[nodiscard]] followers::Knowledge follows_of(const std::string& object) const;
  // `object` does not know of it: forgets it, if it is so since `before`. If it still uses this node, or is a
  // group, it is followed once more; who then loses that, too, does not want it. A group stays among those
  // that this node follows, as one that has not answered.
  [[nodiscard]] Task<Result<void>> forget_follow(std::string actor, std::string object, WallTime before);
  // `object` has accepted it, and the Accept was lost.
  [[nodiscard]] Task<Result<void>> accept_follow(std::string actor, std::string object);
  // `object` believes that it is followed, and it is not: says so.
  [[nodiscard]] Task<Result<void>> disown_follow(std::string actor, std::string object, std::string inbox);

  // By which of this node's actors, and where, an instance is announced the posts of a hashtag that it gets
  // as from a relay; none if it does not.
  struct Recipient {
    std::string relay;
    std::string inbox;
  };
  [[nodiscard]] std::optional<Recipient> recipient(const std::string& host, const Tag& tag) const;
  // The place in the feed after which a recipient gets what enters under any hashtag; that of no post if it
  // does not get it.
  [[nodiscard]] std::uint64_t live_since(const Recipient& recipient, const Tag& tag) const;

  // A server there believes what somebody else has signed and this node brings: not if it uses this node as
  // those do that have LitePub relays (Pleroma), and not as Mastodon does.
  [[nodiscard]] bool believes_copies(const std::string& host) const;

  // Who publishes here.
  struct Source {
    std::string actor;
    WallTime since;
    bool is_person = false;  // who publishes own posts only
  };
  // Whom this node follows for that: people, relays and groups.
  [[nodiscard]] std::vector<Source> sources() const;
  // The hosts of instances that were accepted as followers of the public collection, and since when: they
  // send all public posts of their people, whom this node does not follow.
  [[nodiscard]] std::map<std::string, WallTime> senders_of_all() const;
  [[nodiscard]] bool sends_all(const std::string& host) const;

  // Hosts that may be subscribed to hashtags.
  [[nodiscard]] std::vector<std::string> receivers() const;

  // --- for the administrator ---------------------------------------------------------------------------
  // [{"host", "publishes", "receives", "decided", "links": [{"actor", "relay", "style", "accepted",
  //   "untaken"?: why the Accept has not arrived there, or nothing while it was not tried;
  //   "followed_back"?: "accepted", "waits" or "rejected"}], "hashtags"}]
  // A group that this node follows is a link of style "group"; `relay` follows it.
  [[nodiscard]] json::array list() const;
  // Of all who use this node as a relay, or wait to, and of groups that it follows.
  [[nodiscard]] std::vector<std::string> hosts() const;
  [[nodiscard]] std::vector<std::string> hashtags(const std::string& host) const;
  // Whose actors it uses as relays.
  [[nodiscard]] std::vector<std::string> relayed_hashtags(const std::string& host) const;
  [[nodiscard]] Task<Result<void>> permit(Permission permission);
  // Takes away what decisions do not allow: whoever was killed at that goes on at the next start.
  [[nodiscard]] Task<Result<void>> enforce();
  struct User {
    std::string actor;  // that uses this node, or waits to, or is a group that it follows
    bool is_person = false;
  };
  [[nodiscard]] std::vector<User> users() const;
  // Of who follows the node's own actor: people and LitePub relays that were accepted.
  [[nodiscard]] std::vector<std::string> inboxes_of_followers() const;
  // The origin that this node has from now on, if it has moved.
  [[nodiscard]] const std::string& moved_to() const { return identity_.moved_to; }
  // An actor that uses this node; with the hashtag whose actor it uses, none for the node's own.
  using IsUnwanted = std::function<bool(const std::string& actor, const std::optional<Tag>& tag)>;
  // Ends every such use, tells them, and leaves such groups; whether they may come back is decided elsewhere.
  [[nodiscard]] Task<Result<void>> expel(IsUnwanted is_unwanted);
  // These hashtags, canonical, may be had again: who has the node as a relay gets those that are wanted
  // there.
  [[nodiscard]] Task<Result<void>> give_back(std::set<std::string> tags);
  // (tag, actor) pairs that follow hashtags do not any more, and people are told.
  [[nodiscard]] Task<Result<void>> turn_away(std::vector<std::pair<Tag, std::string>> pairs);
  // kNotFound if the host has not added this node as a relay, kDenied if it may not receive, kTooLarge for
  // too many hashtags.
  [[nodiscard]] Task<Result<void>> subscribe(std::string host, std::vector<std::string> tags);
  [[nodiscard]] Task<Result<void>> unsubscribe(std::string host, std::vector<std::string> tags);

 private:
  using LinkKey = std::pair<std::string, std::string>;  // actor, relay
  [[nodiscard]] std::optional<Permission> decision(const std::string& host) const;
  [[nodiscard]] bool is_own(const std::string& host) const;
  [[nodiscard]] std::vector<OwnFollow> named_by(const std::string& actor,
                                                const std::vector<fediverse::FollowRef>& follows,
                                                bool waiting_only) const;
  [[nodiscard]] bool may_note(const std::string& actor, std::string_view object,
                              const std::string& follow_id);
  Task<Result<void>> make_wait(Link link, budget::Share place);
  Task<void> drop_expired();
  void keep(Link link);
  void forget(const Link& link);
  [[nodiscard]] bool follows_own_actor(const Link& link) const;
  // Its server, if it follows the node's own actor.
  [[nodiscard]] std::optional<delivery::Store::FormerServer> left_by(const Link& link) const;
  [[nodiscard]] const Link* link_of(const std::string& host) const;
  // That actor uses the node, and not one hashtag's actor, as a relay.
  [[nodiscard]] const Link* general_link(const std::string& actor) const;
  // How posts go to who uses that actor of this node.
  [[nodiscard]] delivery::Via via_of(const std::string& relay) const;
  [[nodiscard]] std::unexpected<Error> has_no_relay(const std::string& host) const;
  void log_waiting(const std::string& host);
  Task<Result<void>> settle(Link link);
  Task<Result<void>> take_away(Link link, Permission permission);
  [[nodiscard]] bool is_followed_back(const Link& link) const;
  Task<Result<void>> accept(Link link);
  Task<Result<void>> drop(Link link);
  Task<Result<void>> follow_back(Link link);
  Task<Result<void>> end(OwnFollow follow);
  Task<Result<void>> drop_follow(OwnFollow follow);
  [[nodiscard]] bool is_own_id(const std::string& id) const;
  Task<Result<void>> forget_group(OwnFollow group);
  [[nodiscard]] bool may_follow_again(const std::string& actor, const std::string& object);
  Task<Result<void>> leave_groups_of(std::string host);  // and of those below it
  Task<Result<void>> subscribe_again(Link link, std::set<std::string> only = {});
  // Subscribed through the node's actor, canonical.
  [[nodiscard]] std::vector<std::string> tags_of(const Link& link) const;
  Task<Result<void>> drop_tags(std::string actor, std::vector<std::string> tags);
  Task<Result<void>> bring_as_chosen(Link gone);
  Task<Result<void>> end_tag_relay(Link link);
  [[nodiscard]] bool has_tag_relay(const std::string& actor, const Tag& tag) const;

  Options options_;
  InstanceStore& store_;
  subscriber::HashtagFollowers& followers_;
  federation::ActivityQueue& activities_;
  const federation::Identity& identity_;
  Clock& clock_;
  Log& log_;
  std::map<std::string, Permission> permissions_;  // by host
  std::map<LinkKey, Link> links_;
  std::map<LinkKey, OwnFollow> own_follows_;  // by actor, object
  std::set<LinkKey> followed_again_;          // by actor, object: since the start
  std::set<std::string> logged_waiting_;      // registered domains, since the start
};

}  // namespace tagring::instances
