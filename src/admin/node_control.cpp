#include "admin/node_control.hpp"

#include <chrono>

namespace tagring::admin {

void NodeControl::add_routes(Routes& routes) {
  routes.get("/status", [this](const Request&) { return replied(actions_.status()); });
  routes.post("/leave", [this](const Request&) { return leave(); });
  routes.post("/login", [this](const Request&) { return replied(log_in()); });
  routes.post("/logout", [this](const Request&) {
    logins_.close();
    return replied(json::object{{"closed", true}});
  });
}

Task<Reply> NodeControl::leave() {
  co_await actions_.leave();
  co_return json::object{{"left", true}};
}

json::object NodeControl::log_in() {
  // Behind '#', where it stays in the browser and gets into no log.
  return {{"url", identity_.origin() + "/admin#" + logins_.open()},
          {"seconds", std::chrono::floor<std::chrono::seconds>(Logins::kLifetime).count()}};
}

}  // namespace tagring::admin
