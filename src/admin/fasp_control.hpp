// The administrator's requests about this node as a FASP, as JSON (see control.hpp).
//
//   GET  /fasp            {"servers": [{"host", "base_url", "fasp_id", "server_id", "fingerprint",
//                         "completion_url", "since", "capabilities": […], "hashtags": […],
//                         "backfill": {"wanted", "received", "done"}?,
//                         "untold": {"waiting", "failing_since", "reason"}?}]}: what it does not take
//   POST /fasp/register   {"server"}: a host name, or the base URL of the server's FASP interface
//   POST /fasp/remove     {"host"}
//   POST /fasp/backfill   {"host", "count"?}: asks for that many old posts, 1000 if it is not said
#pragma once

#include "admin/routes.hpp"
#include "delivery/announcer.hpp"
#include "fasp/fasp_hashtags.hpp"
#include "fasp/fasp_servers.hpp"
#include "fasp/fasp_sharing.hpp"

namespace tagring::admin {

class FaspControl final : public Subject {
 public:
  FaspControl(fasp::FaspServers& servers, fasp::FaspSharing& sharing, fasp::FaspHashtags& hashtags,
              const delivery::Announcer& announcer)
      : servers_(servers), sharing_(sharing), hashtags_(hashtags), announcer_(announcer) {}

  void add_routes(Routes& routes) override;

 private:
  [[nodiscard]] json::object list() const;
  Task<Reply> enroll(json::object body);
  Task<Reply> remove(json::object body);
  Task<Reply> backfill(json::object body);

  fasp::FaspServers& servers_;
  fasp::FaspSharing& sharing_;
  fasp::FaspHashtags& hashtags_;
  const delivery::Announcer& announcer_;
};

}  // namespace tagring::admin
