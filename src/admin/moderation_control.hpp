// The administrator's requests about blocks and reports, as JSON (see control.hpp).
//
//   GET  /blocks                  {"blocks": [{"kind", "what", "reason", "source", "since"}],
//                                  "separations": [{"host", "other", "direction"}]}
//   POST /blocks/add              {"kind": "domain" | "author" | "tag", "what", "reason"?}
//   POST /blocks/remove           {"kind", "what"}
//   POST /blocks/import           {"source", "text", "preview": bool?}: a list of domains in any known form
//   POST /blocks/lift             {"source"}: all that a list has blocked
//   POST /separations/add         {"host", "other", "direction": "receive" | "send"}: an instance never gets
//   POST /separations/remove      anything of another, or never sends it anything
//   GET  /reports                 {"reports": [{"id", "at", "from", "comment", "about": [URI],
//                                  "forwarded": [URI], "open"}]}, the open ones first
//   POST /reports/close           {"id"}
//   POST /reports/forward         {"id", "uri"?}: tells the author's server of that post, or of all of the
//                                 report's that are not this node's own; {"forwarded": [URI]}, or the
//                                 error of those that it could not tell of, after all others
//
// What several sources block is in the list for each, and blocked as long as one of them does. What falls
// under a new block, or would, is in the answer: {"fresh", "known", "lifted", "followers", "instances",
// "skipped"}; the last is what of a list was not understood, or is this node itself.
#pragma once

#include "admin/routes.hpp"
#include "instances/moderation.hpp"
#include "reports/reports.hpp"

namespace tagring::admin {

class ModerationControl final : public Subject {
 public:
  ModerationControl(instances::Moderation& moderation, reports::Reports& reports)
      : moderation_(moderation), reports_(reports) {}

  void add_routes(Routes& routes) override;

 private:
  [[nodiscard]] json::object list() const;
  Task<Reply> add(json::object body);
  Task<Reply> remove(json::object body);
  Task<Reply> import(json::object body);
  Task<Reply> lift(json::object body);
  Task<Reply> separate(json::object body, bool on);
  Task<Reply> list_reports();
  Task<Reply> close_report(json::object body);
  Task<Reply> forward_report(json::object body);

  instances::Moderation& moderation_;
  reports::Reports& reports_;
};

}  // namespace tagring::admin
