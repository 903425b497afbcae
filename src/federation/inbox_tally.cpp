#include "federation/inbox_tally.hpp"

namespace tagring::federation {
namespace {

// Reasons are texts of this program; should one ever hold what a stranger wrote, this bounds them.
constexpr std::size_t kReasonsMax = 100;
constexpr Duration kLogEvery = std::chrono::minutes(1);

}  // namespace

void InboxTally::count(const HttpResponse& answer, const std::string& actor) {
  if (answer.status < 400 && (answer.status != 202 || answer.body.empty())) {
    ++accepted_;
    return;
  }
  const json::object body = json::parse_object(answer.body).value_or(json::object());
  const auto text = [&](std::string_view key) { return json::text_of(body, key); };
  if (answer.status < 400) return note(ignored_, "inbox_ignores", text("ignored"), actor, "");
  const bool authentic = answer.status != 401;
  note(refused_, "inbox_refuses", authentic ? text("error") : "not_authentic", actor, text("message"));
}

void InboxTally::note(Reasons& reasons, const char* event, std::string reason, const std::string& actor,
                      const std::string& message) {
  if (reason.empty() || (reasons.size() >= kReasonsMax && !reasons.contains(reason))) reason = "others";
  Reason& noted = reasons[reason];
  ++noted.count;
  if (clock_.now() < noted.next) return;
  noted.next = clock_.now() + kLogEvery;
  const std::uint64_t fresh = noted.count - std::exchange(noted.told, noted.count);
  log_.info(event, {{"reason", reason}, {"times", fresh}, {"last", actor}, {"why", message}});
}

json::object InboxTally::to_json() const {
  const auto by_reason = [](const Reasons& reasons) {
    json::object counts;
    for (const auto& [reason, noted] : reasons) counts[reason] = noted.count;
    return counts;
  };
  return {{"accepted", accepted_}, {"ignored", by_reason(ignored_)}, {"refused", by_reason(refused_)}};
}

}  // namespace tagring::federation
