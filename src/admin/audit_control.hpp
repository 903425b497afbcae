// The administrator's requests about audits and take-downs (see control.hpp).
//
//   GET  /audit?tag=…   what owners signed held against what they have: audit/audit.hpp
//   GET  /audits        {"audits": […]}: the last of them
//   GET  /offenders     who was proved to have dropped posts: audit/offences.hpp
//   GET  /takedowns     {"takedowns": […]}, the latest first
//   POST /takedown      {"tag", "uri", "reason"}: a post that this node shall show no more
//   POST /takedown/undo {"tag", "uri"}: shows it again
#pragma once

#include "admin/routes.hpp"
#include "audit/audit.hpp"
#include "audit/signed_tree_heads.hpp"

namespace tagring::admin {

class AuditControl final : public Subject {
 public:
  AuditControl(audit::Audit& audit, audit::SignedTreeHeads& heads, const audit::Offences& offences)
      : audit_(audit), heads_(heads), offences_(offences) {}

  void add_routes(Routes& routes) override;

 private:
  Task<Reply> audit(std::string query);
  [[nodiscard]] json::object last() const;
  Task<Reply> take_down(json::object body);
  Task<Reply> undo_take_down(json::object body);

  audit::Audit& audit_;
  audit::SignedTreeHeads& heads_;
  const audit::Offences& offences_;
};

}  // namespace tagring::admin
