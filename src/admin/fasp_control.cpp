#include "admin/fasp_control.hpp"

#include <algorithm>

#include "fediverse/domain.hpp"
#include "queues/delivery_queues.hpp"

namespace tagring::admin {
namespace {

constexpr std::int64_t kBackfillCount = 1'000;

json::object to_json(const fasp::FaspServer& server) {
  json::array capabilities;
  if (server.shares) capabilities.push_back("data_sharing");
  if (server.hashtags) capabilities.push_back("hashtag_subscription");
  return {{"host", server.host},
          {"base_url", server.base_url},
          {"fasp_id", server.fasp_id},
          {"server_id", server.id},
          {"fingerprint", fasp::FaspServers::fingerprint(server)},
          {"completion_url", server.completion_url},
          {"since", to_rfc3339(server.since)},
          {"capabilities", std::move(capabilities)}};
}

json::object to_json(const fasp::FaspBackfill& backfill) {
  return {{"wanted", backfill.wanted},
          {"received", backfill.received},
          {"done", !backfill.more || backfill.received >= backfill.wanted}};
}

json::object to_json(const queues::QueueStatus& untold) {
  return {{"waiting", untold.waiting},
          {"failing_since", to_rfc3339(untold.failing_since)},
          {"reason", untold.reason}};
}

}  // namespace

void FaspControl::add_routes(Routes& routes) {
  routes.get("/fasp", [this](const Request&) { return replied(list()); });
  routes.post("/fasp/register", [this](Request request) { return enroll(std::move(request.body)); });
  routes.post("/fasp/remove", [this](Request request) { return remove(std::move(request.body)); });
  routes.post("/fasp/backfill", [this](Request request) { return backfill(std::move(request.body)); });
}

json::object FaspControl::list() const {
  json::array servers;
  const std::map<std::string, queues::QueueStatus> lanes = announcer_.lanes();
  for (const auto& [host, server] : servers_.all()) {
    json::object item = to_json(server);
    if (const fasp::FaspBackfill* backfill = sharing_.backfill_of(host); backfill != nullptr)
      item["backfill"] = to_json(*backfill);
    const std::vector<std::string> hashtags = hashtags_.hashtags(host);
    const auto lane = lanes.find(fasp::FaspHashtags::inbox_of(server));
    if (lane != lanes.end() && lane->second.failures > 0) item["untold"] = to_json(lane->second);
    item["refused"] = servers_.is_stranger_to(host);
    item["hashtags"] = json::array(hashtags.begin(), hashtags.end());
    servers.push_back(std::move(item));
  }
  return {{"servers", std::move(servers)}};
}

Task<Reply> FaspControl::enroll(json::object body) {
  CO_TRY(const fasp::FaspServers::Enrolled enrolled, co_await servers_.enroll(text_in(body, "server")));
  json::object answer = to_json(enrolled.server);
  answer["had_it_before"] = enrolled.had_it_before;
  co_return answer;
}

Task<Reply> FaspControl::remove(json::object body) {
  const std::string host = fediverse::domain_in(text_in(body, "host"));
  const bool told = co_await sharing_.take_leave(host);
  CO_TRY_VOID(co_await hashtags_.forget(host));
  CO_TRY_VOID(co_await servers_.remove(host));
  co_return json::object{{"removed", host}, {"told", told}};
}

Task<Reply> FaspControl::backfill(json::object body) {
  const std::int64_t count = json::get_int(body, "count").value_or(kBackfillCount);
  CO_TRY(const fasp::FaspBackfill begun,
         co_await sharing_.backfill(fediverse::domain_in(text_in(body, "host")),
                                    static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0))));
  json::object answer = to_json(begun);
  answer["host"] = begun.server;
  co_return answer;
}

}  // namespace tagring::admin
