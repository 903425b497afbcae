#include "health/health_control.hpp"

namespace tagring::health {

void HealthControl::add_routes(admin::Routes& routes) {
  routes.get("/doctor", [this](const admin::Request&) { return examine(); });
  if (machine_ == nullptr) return;
  routes.post("/reload", [this](const admin::Request&) { return machine_->reload(); });
  routes.post("/backup", [this](const admin::Request&) { return machine_->back_up(); });
}

Task<admin::Reply> HealthControl::examine() {
  const Checks checks = co_await doctor_.look();
  co_return to_json(checks);
}

}  // namespace tagring::health
