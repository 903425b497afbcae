// Activities as they come into an inbox.
//
// parse_activity checks form and origin only: an activity may speak for nothing outside its actor's own
// server. That the actor is who sent it, the caller checks with the signature (signature.hpp), before it acts
// on anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fediverse/actor.hpp"
#include "fediverse/note.hpp"

namespace tagring::fediverse {

struct Create {
  Note note;
};
struct Update {
  Note note;
  bool is_signed = false;  // as of Delete
};
// The actor's own document changed: consent may have been withdrawn. The document is there if it was given
// whole.
struct UpdateActor {
  std::optional<RemoteActor> profile;
  bool is_signed = false;  // as of Delete
  [[nodiscard]] bool suspends() const { return profile && profile->suspended; }
};
// A Create or Update whose post is given by its URI alone, on the actor's server.
struct Told {
  std::string uri;
  bool is_update = false;
};
// A post, or the actor itself.
struct Delete {
  std::string uri;
  // It carries a signature of Linked Data (not checked here): others believe it whoever brings it.
  bool is_signed = false;
};
// Of one actor, of the public collection (how a server subscribes to a relay), of many tag actors at once
// (between nodes), or of one hashtag by its URI (hashtag/uri.hpp), in its one form.
struct Follow {
  std::vector<std::string> objects;
};
// A Follow that another activity is about. Only one of the two may be known: servers undo follows whose id
// they have lost, and accept them by id alone.
struct FollowRef {
  std::string id;                    // may be empty
  std::vector<std::string> objects;  // may be empty
  std::string follower = {};         // may be empty: then whoever it is
};
struct UndoFollow {
  FollowRef follow;  // has objects
};
struct UndoAnnounce {
  std::string announce_id;  // may be empty
  std::vector<PostRef> posts;
};
// Of an activity given by its id alone, which may be anything.
struct UndoById {
  std::string id;
};
struct Accept {
  std::vector<FollowRef> follows;
};
// Of Follows; an id may also be that of another activity of ours, such as an Announce that a server could not
// place (NodeBB). Who is removed from somebody's followers is told so by some as a Remove from that
// collection.
struct Reject {
  std::vector<FollowRef> follows;
};
// A Remove from the followers of an actor elsewhere, one of this node's: the sender is where it has moved to,
// and is followed there.
struct RemoveFollower {
  std::string followed;
  std::string follower;
};
// Of an actor: what its author wants to hear of it no more, and no more to be announced by it.
struct Block {
  std::string object;
};
struct UndoBlock {
  std::string object;
  std::string id;  // of the Block; may be empty
};
// A complaint to the administrator of a server: about actors, and what they have posted or boosted.
struct Flag {
  std::string comment;  // plain text; may be empty
  std::vector<std::string> objects;
};
// Of one post; between nodes of many. Groups (FEP-1b12: Lemmy, PieFed, NodeBB) also announce what happened to
// the post. What it says of them is the word of who announces.
struct Announce {
  enum class Of : std::uint8_t { kPosts, kUpdate, kDelete };
  std::vector<PostRef> posts;
  Of of = Of::kPosts;
};
// Between nodes: posts that enter or leave tags. `target` is an owner's "…/relay" or "…/storage"; every post
// has its author, its time and at least one tag.
struct Add {
  std::string target;
  std::vector<PostRef> posts;
};
struct Remove {
  std::string target;
  std::vector<PostRef> posts;
};
// Well-formed, but nothing that concerns a node.
struct Ignored {
  std::string type;
  std::string reason;
};

struct Activity {
  std::string id;  // empty: a Create, or a list's Add or Remove (Ignored), without one
  std::string actor;
  std::variant<Create, Update, UpdateActor, Delete, Follow, UndoFollow, UndoAnnounce, UndoById, Accept,
               Reject, Announce, Add, Remove, Ignored, Block, UndoBlock, Told, Flag, RemoveFollower>
      content;
};

// `now` bounds, and stands in for, the times in it. The caller bounds the size of `body`.
// kInvalid if it is not JSON, lacks id, type or actor, or speaks for another server; kTooLarge beyond a
// limit.
Result<Activity> parse_activity(std::string_view body, WallTime now, const ParseLimits& limits = {});
Result<Activity> parse_activity(const json::object& object, WallTime now, const ParseLimits& limits = {});

}  // namespace tagring::fediverse
