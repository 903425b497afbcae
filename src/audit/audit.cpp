#include "audit/audit.hpp"

#include <string>
#include <utility>
#include <vector>

#include "audit/case.hpp"
#include "audit/evidence.hpp"

namespace tagring::audit {

namespace {

std::vector<Evidence> proved_by(const json::array& findings) {
  std::vector<Evidence> proved;
  for (const json::value& finding : findings) {
    const json::object* object = json::get_object(finding.get_object(), "evidence");
    if (object == nullptr) continue;
    if (Result<Evidence> evidence = evidence_from_json(*object)) proved.push_back(std::move(*evidence));
  }
  return proved;
}

}  // namespace

Task<Result<json::object>> Audit::of(Tag tag) {
  AuditedPosts posts;
  Report report;
  co_await gatherer_.gather(tag, &posts, &report);
  CO_TRY_VOID(co_await questioning_.question_all(tag, &posts, &report));
  co_await judge_.judge_all(tag, &posts, &report);
  for (const Evidence& evidence : proved_by(report.findings)) co_await offences_.found(evidence);
  json::array owners;
  for (const auto& [origin, of] : report.lines) {
    json::object line = {{"owner", origin}, {"posts", of.asked}};
    for (const auto& [what, count] : of.counts) line[what] = count;
    if (!of.error.empty()) line["error"] = of.error;
    owners.push_back(std::move(line));
  }
  json::object told = {{"tag", tag.canonical()},
                       {"at", to_rfc3339(clock_.wall_now())},
                       {"posts", posts.size()},
                       {"receipts", report.receipts},
                       {"unchecked", report.unchecked},
                       {"owners", std::move(owners)},
                       {"findings", std::move(report.findings)}};
  last_.push_front(told);
  if (last_.size() > kRememberedMax) last_.pop_back();
  // If it fails, the report is lost at a restart.
  co_await reports_.keep_audit(json::serialize(told), kRememberedMax);
  co_return told;
}

Task<Result<void>> Audit::load() {
  CO_TRY(const std::vector<std::string> reports, co_await reports_.audits());
  for (const std::string& text : reports) {
    // One that cannot be read is no reason not to start.
    if (Result<json::object> report = json::parse_object(text)) last_.push_back(std::move(*report));
  }
  co_return Result<void>();
}

}  // namespace tagring::audit
