#include "admin/node_control.hpp"

#include <chrono>

namespace tagring::admin {

using administrators::Administrator;
using administrators::Logins;

void NodeControl::add_routes(Routes& routes) {
  routes.get("/status", [this](const Request&) { return replied(actions_.status()); });
  routes.post("/leave", [this](const Request&) { return leave(); });
  routes.post("/login", [this](const Request& request) { return replied(log_in(request.body)); });
  routes.post("/logout", [this](const Request& request) {
    return replied(json::object{{"closed", logins_.close(text_in(request.body, "name"))}});
  });
}

Task<Reply> NodeControl::leave() {
  co_await actions_.leave();
  co_return json::object{{"left", true}};
}

Reply NodeControl::log_in(const json::object& body) {
  const std::string name = json::get_string(body, "name").value_or("login");
  const auto role = administrators::role_from(json::get_string(body, "role").value_or("all"));
  if (!administrators::is_name(name))
    return fail(ErrorCode::kInvalid,
                "'" + name +
                    "' cannot be a name: 1 to 32 letters, digits, '.', '-' and '_' of ASCII, and neither "
                    "token nor SIGHUP");
  if (!role) return fail(ErrorCode::kInvalid, "'role' must be look, moderate or all");
  const Administrator who{name, *role};
  // Behind '#', where it stays in the browser and gets into no log.
  return json::object{{"url", identity_.origin() + "/admin#" + logins_.open(who)},
                      {"seconds", std::chrono::floor<std::chrono::seconds>(Logins::kLifetime).count()},
                      {"name", who.name},
                      {"role", administrators::name_of(who.role)}};
}

}  // namespace tagring::admin
