// The administrator's requests about the instances that use this node as a relay (see control.hpp).
//
//   GET  /instances                        {"instances": […]}: who uses it, and who waits for a decision
//   GET  /instances/hashtags?host=…        what an instance gets, and who wants it
//   POST /instances/permit       {"host", "publishes", "receives"}
//   POST /instances/subscribe    {"host", "tags": […]}
//   POST /instances/unsubscribe  {"host", "tags": […]}
#pragma once

#include "admin/routes.hpp"
#include "instances/instances.hpp"
#include "instances/tag_sources.hpp"

namespace tagring::admin {

class InstanceControl final : public Subject {
 public:
  InstanceControl(instances::Instances& instances, instances::TagSources& tag_sources)
      : instances_(instances), tag_sources_(tag_sources) {}

  void add_routes(Routes& routes) override;

 private:
  Task<Reply> permit(json::object body);
  Task<Reply> subscribe(json::object body, bool on);

  instances::Instances& instances_;
  instances::TagSources& tag_sources_;
};

}  // namespace tagring::admin
