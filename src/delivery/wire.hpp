// Between the roles' events and the activities that carry them.
#pragma once

#include <string>
#include <vector>

#include "delivery/store.hpp"
#include "federation/identity.hpp"
#include "fediverse/activity.hpp"
#include "fediverse/builders.hpp"
#include "hashtag/tag.hpp"
#include "redundancy/relay_hints.hpp"

namespace tagring::delivery {

// The posts of an activity as events, one for each tag.
std::vector<TagEvent> events_of(Op op, const std::vector<fediverse::PostRef>& posts, WallTime now);

// Feed entries between nodes: [{"seq","tag","op","uri","author","published" (ms)}].
json::array to_json(const std::vector<FeedEntry>& entries);
// kInvalid if something in it is malformed.
Result<std::vector<FeedEntry>> feed_from_json(const json::value* list);

// Activities between nodes, as JSON text. All events of one call are of one kind.
// What a node says beside them of the relays of the tags: which of them it is itself, and which were
// overloaded.
struct RelayNews {
  redundancy::RelayClaims claims;
  std::vector<redundancy::OverloadToken> tokens;
};
std::string add_activity(const std::string& id, const std::string& actor, const std::string& target,
                         const std::vector<TagEvent>& events, const RelayNews& news = {});
std::string remove_activity(const std::string& id, const std::string& actor, const std::string& target,
                            const std::vector<TagEvent>& events, const RelayNews& news = {});
// From an activity of another node, as it came.
RelayNews news_of(const std::string& activity);
std::string announce_activity(const std::string& id, const std::string& actor,
                              const std::vector<TagEvent>& events, WallTime now,
                              const redundancy::RelayClaims& claims);
std::string undo_announce_activity(const std::string& id, const std::string& actor,
                                   const std::vector<TagEvent>& events,
                                   const redundancy::RelayClaims& claims);
// A Follow, or its Undo, of the owner's hashtag actors of many tags.
std::string follow_activity(const std::string& id, const std::string& actor, const std::string& owner_origin,
                            const std::vector<Tag>& tags);
// `moves`: the tags are still wanted, and followed elsewhere.
std::string undo_follow_activity(const std::string& id, const std::string& actor,
                                 const std::string& owner_origin, const std::vector<Tag>& tags,
                                 bool moves = false);
// Whether an Undo of a Follow, as it came, says so.
bool is_move(const std::string& activity);

// Of the Announce of a post under a hashtag by one of this node's actors. Always the same, so that a
// repetition is known for what it is; and never that of one that was undone, since a hashtag that is put back
// comes with a later `announced` (TagEvent).
std::string announce_id(const federation::Identity& identity, const std::string& actor, const Tag& tag,
                        const std::string& uri, WallTime announced);
// Echoes the Follow (JSON text) as it came.
std::string accept_activity(const std::string& id, const std::string& actor, const std::string& follow);
std::string reject_activity(const std::string& id, const std::string& actor, const std::string& follow);

}  // namespace tagring::delivery
