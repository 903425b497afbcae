// The administrator's requests about how the node is, and about what is around it (admin/control.hpp).
//
//   GET  /doctor            {"ok", "checks": [{"name", "ok", "detail", "what_to_do"}]}
//   POST /reload            {"changed": [keys], "restart": [keys]}
//   POST /backup            {"file", "octets"}: a copy in the folder of the data, for who asks to take away
#pragma once

#include "admin/routes.hpp"
#include "health/doctor.hpp"
#include "health/machine.hpp"

namespace tagring::health {

class HealthControl final : public admin::Subject {
 public:
  HealthControl(Doctor& doctor, Machine* machine) : doctor_(doctor), machine_(machine) {}

  void add_routes(admin::Routes& routes) override;

 private:
  Task<admin::Reply> examine();

  Doctor& doctor_;
  Machine* machine_;
};

}  // namespace tagring::health
