// The administrator's requests about the instances that use this node as a relay (see control.hpp).
//
//   GET  /instances                        {"instances": […], "moved_to"?}: who uses it, and who waits for a
//                                          decision; the node's new name, if it has moved
//   GET  /instances/hashtags?host=…        what an instance gets, and who wants it
//   POST /instances/permit       {"host", "publishes", "receives"}
//   POST /instances/subscribe    {"host", "tags": […]}: {"host", "subscribed": […]}
//   POST /instances/unsubscribe  {"host", "tags": […]}: {"host", "unsubscribed": […], "unknown": what it was
//                                not subscribed to}
//   POST /instances/follow       {"group", "tag"?}: one of this node's hashtag actors follows that group
//   POST /instances/unfollow     {"group"}
#pragma once

#include "admin/routes.hpp"
#include "delivery/announcer.hpp"
#include "delivery/followers.hpp"
#include "federation/blocks.hpp"
#include "federation/identity.hpp"
#include "instances/instances.hpp"
#include "instances/tag_sources.hpp"
#include "publisher/consents.hpp"
#include "publisher/publisher.hpp"

namespace tagring::admin {

class InstanceControl final : public Subject {
 public:
  InstanceControl(instances::Instances& instances, publisher::Publisher& publisher,
                  instances::TagSources& tag_sources, const federation::Blocks& blocks,
                  const delivery::Announcer& announcer, const delivery::Followers& followers)
      : instances_(instances),
        publisher_(publisher),
        tag_sources_(tag_sources),
        blocks_(blocks),
        announcer_(announcer),
        followers_(followers) {}

  void add_routes(Routes& routes) override;

 private:
  static constexpr std::size_t kListedMax = 10'000;
  [[nodiscard]] json::array list() const;
  Task<Reply> permit(json::object body);
  Task<Reply> subscribe(json::object body, bool on);

  instances::Instances& instances_;
  publisher::Publisher& publisher_;
  instances::TagSources& tag_sources_;
  const federation::Blocks& blocks_;
  const delivery::Announcer& announcer_;
  const delivery::Followers& followers_;
};

// The groups of other servers that this node follows.
class GroupControl final : public Subject {
 public:
  GroupControl(instances::Instances& instances, publisher::Consents& consents,
               const federation::Blocks& blocks, const federation::Identity& identity)
      : instances_(instances), consents_(consents), blocks_(blocks), identity_(identity) {}

  void add_routes(Routes& routes) override;

 private:
  Task<Reply> follow(json::object body);
  Task<Reply> unfollow(json::object body);

  instances::Instances& instances_;
  publisher::Consents& consents_;
  const federation::Blocks& blocks_;
  const federation::Identity& identity_;
};

}  // namespace tagring::admin
