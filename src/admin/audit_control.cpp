#include "admin/audit_control.hpp"

#include "storage/statements.hpp"

namespace tagring::admin {

void AuditControl::add_routes(Routes& routes) {
  routes.get("/audit", [this](Request request) { return audit(std::move(request.query)); });
  routes.get("/audits", [this](const Request&) { return replied(last()); });
  routes.get("/offenders", [this](const Request&) { return replied(offences_.list()); });
  routes.get("/takedowns", [this](const Request&) { return heads_.take_downs(); });
  routes.post(
      "/takedown", [this](Request request) { return take_down(std::move(request.body)); }, Role::kModerate);
  routes.post(
      "/takedown/undo", [this](Request request) { return undo_take_down(std::move(request.body)); },
      Role::kModerate);
}

Task<Reply> AuditControl::audit(std::string query) {
  CO_TRY(const Tag tag, tag_in(std::string_view(query)));
  co_return co_await audit_.of(tag);
}

json::object AuditControl::last() const {
  return {{"audits", json::array(audit_.last().begin(), audit_.last().end())}};
}

Task<Reply> AuditControl::take_down(json::object body) {
  CO_TRY(const Tag tag, tag_in(body));
  CO_TRY(const storage::TakeDown notice,
         co_await heads_.take_down(tag, text_in(body, "uri"), text_in(body, "reason")));
  co_return storage::to_json(notice);
}

Task<Reply> AuditControl::undo_take_down(json::object body) {
  CO_TRY(const Tag tag, tag_in(body));
  const std::string uri = text_in(body, "uri");
  CO_TRY_VOID(co_await heads_.undo_take_down(tag, uri));
  co_return json::object{{"tag", tag.canonical()}, {"uri", uri}, {"undone", true}};
}

}  // namespace tagring::admin
