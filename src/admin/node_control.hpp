// The administrator's requests about the node as a whole (see control.hpp).
//
//   GET  /status    everything worth knowing, as numbers
//   POST /leave     hands over and leaves both rings: {"left": true}
//   POST /login  {"name"?, "role"?}  opens a session at the web page: {"url", "seconds", "name", "role"}; of
//                   "login" with all rights, if it is not said
//   POST /logout {"name"?}           ends those of that name, or all of them: {"closed"}
#pragma once

#include <functional>

#include "admin/routes.hpp"
#include "administrators/logins.hpp"
#include "federation/identity.hpp"

namespace tagring::admin {

class NodeControl final : public Subject {
 public:
  // What only the whole node can do.
  struct Actions {
    std::function<json::object()> status;
    std::function<Task<void>()> leave;
  };
  NodeControl(Actions actions, administrators::Logins& logins, const federation::Identity& identity)
      : actions_(std::move(actions)), logins_(logins), identity_(identity) {}

  void add_routes(Routes& routes) override;

 private:
  Task<Reply> leave();
  [[nodiscard]] Reply log_in(const json::object& body);

  Actions actions_;
  administrators::Logins& logins_;
  const federation::Identity& identity_;
};

}  // namespace tagring::admin
