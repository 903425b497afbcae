// The administrator's requests about the node as a whole (see control.hpp).
//
//   GET  /status    everything worth knowing, as numbers
//   POST /leave     hands over and leaves both rings: {"left": true, "relay": RingService::left(),
//                   "storage": the same, "owed": posts that wait for an owner to take them}
//   POST /login  {"name"?, "role"?}  opens a session at the web page: {"url", "seconds", "name", "role"}.
//                   Without a role with all rights; of whom, administrators::name_on_page() says
//   POST /logout {"name"?}           ends those of that name, or all of them: {"closed"}
//   GET  /move                       {"moved": Moving::status() or null, "instances", "groups"}
//   POST /move   {"to"}              the node goes by the name of the one at that origin from now on: the
//   same POST /move/cancel                and by its own again: {"rejoins": it is on the rings after a
//   restart}
#pragma once

#include <functional>
#include <string>

#include "admin/routes.hpp"
#include "administrators/logins.hpp"
#include "federation/identity.hpp"
#include "federation/signed_client.hpp"
#include "instances/moving.hpp"
#include "overlay/ring_service.hpp"

namespace tagring::admin {

class NodeControl final : public Subject {
 public:
  // What only the whole node can do.
  struct Actions {
    std::function<json::object()> status;
    std::function<Task<void>()> leave;
  };
  NodeControl(Actions actions, administrators::Logins& logins, federation::SignedClient& client,
              overlay::RingService& rings, instances::Moving& moving)
      : actions_(std::move(actions)),
        logins_(logins),
        client_(client),
        identity_(client.identity()),
        rings_(rings),
        moving_(moving) {}

  void add_routes(Routes& routes) override;

 private:
  Task<Reply> leave();
  [[nodiscard]] Reply log_in(const Request& request);
  [[nodiscard]] Reply log_out(const json::object& body);
  Task<Reply> move(std::string to);
  Task<Reply> cancel_move();
  [[nodiscard]] json::object describe_move() const;
  // The actor of the node at that origin says that it is this one's. Else no server would believe a Move.
  Task<Result<void>> check_successor(std::string origin);

  const Actions actions_;
  administrators::Logins& logins_;
  federation::SignedClient& client_;
  const federation::Identity& identity_;
  overlay::RingService& rings_;
  instances::Moving& moving_;
};

}  // namespace tagring::admin
