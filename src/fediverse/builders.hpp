// Activities as they go out. `id` is the new activity's own, on this node; what is not said here is as
// ActivityPub says.
//
// Add, Remove and the batched forms are for nodes only. Everybody else gets one object in one activity, which
// is all that most servers can read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/time.hpp"
#include "fediverse/note.hpp"

namespace tagring::fediverse {

// Posts that enter or leave tags, from a publisher to an owner's relay, or from there to its storage owners.
// Every post has author, published and tags.
json::object make_add(std::string_view id, std::string_view actor, std::string_view target,
                      const std::vector<PostRef>& posts);
json::object make_remove(std::string_view id, std::string_view actor, std::string_view target,
                         const std::vector<PostRef>& posts);

// To whom a server shows the boost.
enum class Audience : std::uint8_t {
  kPublic,     // for followers of a tag actor: to everybody, cc its followers
  kFollowers,  // for servers that use this node as a relay: they show the post, not the boost
};

// A boost of one post. Does not name its author: their server would tell them of it for every tag.
// Its `published` is now, but never before the post's: Misskey refuses that.
json::object make_announce(std::string_view id, std::string_view actor, std::string_view uri,
                           WallTime post_published, Audience audience, WallTime now);
// The boost undone. `announce_id` is that of the Announce, which stands in it whole: GoToSocial refuses one
// that is addressed to nobody. Its date is the post's, if that is given: when it was sent is not remembered.
json::object make_undo_announce(std::string_view id, std::string_view actor, std::string_view announce_id,
                                std::string_view uri, Audience audience = Audience::kPublic,
                                std::optional<WallTime> published = std::nullopt);

// The same between nodes, for many posts.
json::object make_batched_announce(std::string_view id, std::string_view actor,
                                   const std::vector<PostRef>& posts, WallTime now);
json::object make_batched_undo(std::string_view id, std::string_view actor,
                               const std::vector<PostRef>& posts);

// Of one actor; between nodes, of many tag actors of one owner.
json::object make_follow(std::string_view id, std::string_view actor,
                         const std::vector<std::string>& objects);
json::object make_undo_follow(std::string_view id, std::string_view actor, std::string_view follow_id,
                              const std::vector<std::string>& objects);

// One of this node's actors is to be looked at again.
json::object make_update(std::string_view id, std::string_view actor);

// The actor is `target` from now on: whoever follows it is to follow that.
json::object make_move(std::string_view id, std::string_view actor, std::string_view target);
// To the node that one of this node's actors was at before, and whose actor `from` was then: that follower
// follows here now.
json::object make_remove_follower(std::string_view id, std::string_view actor, std::string_view follower,
                                  std::string_view from);

// A complaint: the author first, then the posts.
json::object make_flag(std::string_view id, std::string_view actor, std::string_view comment,
                       const std::vector<std::string>& objects);

// Answers echo the Follow unchanged: some servers look at its id, some at all of it.
json::object make_accept(std::string_view id, std::string_view actor, const json::object& follow);
json::object make_reject(std::string_view id, std::string_view actor, const json::object& follow);

}  // namespace tagring::fediverse
