// What waits to be sent, for the administrator (see control.hpp).
//
//   GET /queues    {"queues": [{"kind", "destination", "waiting", "failures", "reason"?, "failing_since"?}]},
//                  the worst first, with the head only; kinds are "owner", "announcements", "letters",
//                  "look-ups" of owners (the destination is a number), "fetches" of what FASP servers tell of
#pragma once

#include "admin/routes.hpp"
#include "fasp/fasp_sharing.hpp"
#include "federation/activity_queue.hpp"
#include "relay/announcer.hpp"
#include "relay/owner_queue.hpp"

namespace tagring::admin {

class QueueControl final : public Subject {
 public:
  QueueControl(const relay::OwnerQueue& owners, const relay::Announcer& announcer,
               const federation::ActivityQueue& activities, const fasp::FaspSharing& fasp_sharing)
      : owners_(owners), announcer_(announcer), activities_(activities), fasp_sharing_(fasp_sharing) {}

  void add_routes(Routes& routes) override;

 private:
  [[nodiscard]] json::object queues() const;

  const relay::OwnerQueue& owners_;
  const relay::Announcer& announcer_;
  const federation::ActivityQueue& activities_;
  const fasp::FaspSharing& fasp_sharing_;
};

}  // namespace tagring::admin
