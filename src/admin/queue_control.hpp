// What waits to be sent, for the administrator (see control.hpp).
//
//   GET /queues    {"queues": [{"kind", "destination", "waiting", "failures", "reason"?, "failing_since"?}]},
//                  the worst first, with the head only; kinds are "owner", "announcements", "letters",
//                  "look-ups" of owners (the destination is a number), "fetches" of what FASP servers tell of
#pragma once

#include "admin/routes.hpp"
#include "delivery/announcer.hpp"
#include "delivery/owner_queue.hpp"
#include "fasp/fasp_sharing.hpp"
#include "federation/activity_queue.hpp"

namespace tagring::admin {

class QueueControl final : public Subject {
 public:
  QueueControl(const delivery::OwnerQueue& owners, const delivery::Announcer& announcer,
               const federation::ActivityQueue& activities, const fasp::FaspSharing& fasp_sharing)
      : owners_(owners), announcer_(announcer), activities_(activities), fasp_sharing_(fasp_sharing) {}

  void add_routes(Routes& routes) override;

 private:
  [[nodiscard]] json::object queues() const;

  const delivery::OwnerQueue& owners_;
  const delivery::Announcer& announcer_;
  const federation::ActivityQueue& activities_;
  const fasp::FaspSharing& fasp_sharing_;
};

}  // namespace tagring::admin
