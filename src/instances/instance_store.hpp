// Which servers use this node as a relay: what they asked for, and what its administrator allows them.
//
// Few rows, each read at start and kept in memory. A call that writes has committed when it completes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/task.hpp"
#include "base/time.hpp"
#include "delivery/store.hpp"

namespace tagring::instances {

// What the administrator has decided about an instance. The two directions are separate: who publishes here
// gets only the hashtags that were subscribed for it.
struct Permission {
  std::string host;
  bool publishes = false;  // its public posts are taken
  bool receives = false;   // it may subscribe to hashtags

  friend bool operator==(const Permission&, const Permission&) = default;
};

enum class Style : std::uint8_t {
  kMastodon = 0,  // follows the public collection, and delivers activities of its authors
  kLitePub = 1,   // Pleroma: follows the relay's actor, wants to be followed back, and delivers Announces
  kPerson = 2,    // a person who follows the node's actor, to have own posts relayed
};

// Somebody uses one of this node's actors as a relay.
struct Link {
  std::string actor;  // who
  std::string relay;  // the node's actor, or one of its hashtag actors
  std::string host;   // of `actor`
  std::string inbox;  // where the answer goes
  std::string delivery_inbox;
  std::string follow;  // the Follow as it came (JSON), to be echoed
  Style style = Style::kMastodon;
  bool accepted = false;  // false: waits for the administrator
  WallTime since = {};    // when it came

  friend bool operator==(const Link&, const Link&) = default;
};

// This node's own following of an actor that is no hashtag actor of another node.
struct OwnFollow {
  std::string actor;  // ours
  std::string object;
  std::string inbox;
  std::string follow_id;
  bool accepted = false;
  WallTime since;

  friend bool operator==(const OwnFollow&, const OwnFollow&) = default;
};

// The source of hashtags that the administrator chose.
inline constexpr std::string_view kChosenTags = "admin";
// And of those that the administrator took from an instance although another source wants them.
inline constexpr std::string_view kExcludedTags = "excluded";

// Why an instance gets a hashtag, or not: who wants it (instances/tag_sources.hpp).
struct TagReason {
  std::string host;
  std::string tag;  // canonical
  std::string source;

  friend bool operator==(const TagReason&, const TagReason&) = default;
};

class InstanceStore {
 public:
  virtual ~InstanceStore() = default;

  virtual Task<Result<void>> permit(Permission permission) = 0;  // by host
  virtual Task<Result<std::vector<Permission>>> permissions() = 0;
  virtual Task<Result<void>> save_link(Link link) = 0;  // by (actor, relay)
  // `left`: the server of who followed the node's own actor; it is one of delivery::Store::former_servers().
  virtual Task<Result<void>> drop_link(std::string actor, std::string relay,
                                       std::optional<delivery::Store::FormerServer> left) = 0;
  virtual Task<Result<std::vector<Link>>> links() = 0;
  virtual Task<Result<void>> save_own_follow(OwnFollow follow) = 0;  // by (actor, object)
  virtual Task<Result<void>> drop_own_follow(std::string actor, std::string object) = 0;
  virtual Task<Result<std::vector<OwnFollow>>> own_follows() = 0;
  // All that one source wants for a host, in the place of what it wanted before.
  virtual Task<Result<void>> save_tag_source(std::string host, std::string source,
                                             std::vector<std::string> tags) = 0;
  virtual Task<Result<std::vector<TagReason>>> tag_reasons() = 0;

  // For how long an Undo may come after its Follow was replaced: servers repeat for some days.
  static constexpr Duration kFollowsKept = std::chrono::days(7);
  // That actor follows `object` (one of this node's actors), by the Follow of that id.
  virtual Task<Result<void>> note_follow(std::string actor, std::string object, std::string follow_id,
                                         WallTime now) = 0;
  // That Follow was noted, and another by the same actor of the same object after it.
  virtual Task<Result<bool>> is_former_follow(std::string actor, std::string object,
                                              std::string follow_id) = 0;
  // An Undo of the Follow of that id has come. If it ended nothing (`has_ended`), and neither Follow nor Undo
  // of that id was noted, the Follow has been overtaken.
  virtual Task<Result<void>> note_undo(std::string actor, std::string follow_id, bool has_ended,
                                       WallTime now) = 0;
  // That Follow, or Block, was undone before it came.
  virtual Task<Result<bool>> is_undone(std::string actor, std::string follow_id) = 0;
  // The same; and if it comes again, it is another.
  virtual Task<Result<bool>> take_undone(std::string actor, std::string follow_id, WallTime now) = 0;
};

}  // namespace tagring::instances
