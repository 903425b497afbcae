// The administrator's requests about the node as a whole (see control.hpp).
//
//   GET  /status    everything worth knowing, as numbers
//   POST /leave     hands over and leaves both rings: {"left": true}
//   POST /login     opens a session at the web page: {"url", "seconds"}
//   POST /logout    ends all of them: {"closed": true}
#pragma once

#include <functional>

#include "admin/logins.hpp"
#include "admin/routes.hpp"
#include "federation/identity.hpp"

namespace tagring::admin {

class NodeControl final : public Subject {
 public:
  // What only the whole node can do.
  struct Actions {
    std::function<json::object()> status;
    std::function<Task<void>()> leave;
  };
  NodeControl(Actions actions, Logins& logins, const federation::Identity& identity)
      : actions_(std::move(actions)), logins_(logins), identity_(identity) {}

  void add_routes(Routes& routes) override;

 private:
  Task<Reply> leave();
  [[nodiscard]] json::object log_in();

  Actions actions_;
  Logins& logins_;
  const federation::Identity& identity_;
};

}  // namespace tagring::admin
