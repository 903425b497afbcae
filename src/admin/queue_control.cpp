#include "admin/queue_control.hpp"

#include "queues/delivery_queues.hpp"

namespace tagring::admin {
namespace {

void add(json::array* queues, std::string_view kind,
         const std::map<std::string, queues::QueueStatus>& lanes) {
  for (const auto& [destination, lane] : lanes) {
    json::object item = {
        {"kind", kind}, {"destination", destination}, {"waiting", lane.waiting}, {"failures", lane.failures}};
    if (lane.failures > 0) {
      item["reason"] = lane.reason;
      item["failing_since"] = to_rfc3339(lane.failing_since);
    }
    queues->push_back(std::move(item));
  }
}

}  // namespace

void QueueControl::add_routes(Routes& routes) {
  routes.get("/queues", [this](const Request&) { return replied(queues()); });
}

json::object QueueControl::queues() const {
  json::array queues;
  add(&queues, "owner", owners_.lanes());
  add(&queues, "announcements", announcer_.lanes());
  add(&queues, "letters", activities_.lanes());
  add(&queues, "look-ups", owners_.look_ups());
  add(&queues, "fetches", fasp_sharing_.lanes());
  return {{"queues", head_of(std::move(queues), [](const json::value& i) {
             return std::pair(number_at(i, "failures"), number_at(i, "waiting"));
           })}};
}

}  // namespace tagring::admin
