#include "admin/change_control.hpp"

#include "base/time.hpp"

namespace tagring::admin {

void ChangeControl::add_routes(Routes& routes) {
  routes.get("/self", [](const Request& request) {
    return replied(
        json::object{{"name", request.who.name}, {"role", administrators::name_of(request.who.role)}});
  });
  routes.get("/changes", [this](const Request&) { return list(); });
}

Task<Reply> ChangeControl::list() {
  CO_TRY(const std::vector<administrators::Change> changes, co_await changes_.latest(kListMax));
  json::array rows;
  for (const administrators::Change& change : changes) {
    rows.push_back(json::object{{"at", to_rfc3339(change.at)},
                                {"who", change.who},
                                {"does", change.does},
                                {"about", change.about},
                                {"outcome", change.outcome}});
  }
  co_return json::object{{"changes", std::move(rows)}};
}

}  // namespace tagring::admin
