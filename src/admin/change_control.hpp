// Who asks, and who changed what (see control.hpp).
//
//   GET /self      {"name", "role"} of who asks
//   GET /changes   {"changes": [{"at", "who", "does", "about", "outcome"}]}: the last kListMax, the latest
//                  first
#pragma once

#include "admin/routes.hpp"
#include "administrators/changes.hpp"

namespace tagring::admin {

class ChangeControl final : public Subject {
 public:
  explicit ChangeControl(administrators::Changes& changes) : changes_(changes) {}

  void add_routes(Routes& routes) override;

 private:
  Task<Reply> list();

  administrators::Changes& changes_;
};

}  // namespace tagring::admin
