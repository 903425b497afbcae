#include "admin/fasp_control.hpp"

#include <algorithm>

#include "base/bytes.hpp"

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

}  // namespace

json::object FaspControl::list() const {
  json::array servers;
  for (const auto& [host, server] : servers_.all()) {
    json::object item = to_json(server);
    if (const fasp::FaspBackfill* backfill = sharing_.backfill_of(host); backfill != nullptr)
      item["backfill"] = to_json(*backfill);
    const std::vector<std::string> hashtags = hashtags_.hashtags(host);
    item["hashtags"] = json::array(hashtags.begin(), hashtags.end());
    servers.push_back(std::move(item));
  }
  return {{"servers", std::move(servers)}};
}

Task<Result<json::object>> FaspControl::change(std::string path, json::object request) {
  if (path == "/fasp/register") {
    CO_TRY(const fasp::FaspServer server,
           co_await servers_.enroll(json::get_string(request, "server").value_or("")));
    co_return to_json(server);
  }
  std::string host = ascii_lower(json::get_string(request, "host").value_or(""));
  if (path == "/fasp/remove") {
    const std::string removed = host;
    co_await sharing_.take_leave(host);
    CO_TRY_VOID(co_await hashtags_.forget(host));
    CO_TRY_VOID(co_await servers_.remove(std::move(host)));
    co_return json::object{{"removed", removed}};
  }
  if (path == "/fasp/backfill") {
    const std::int64_t count = json::get_int(request, "count").value_or(kBackfillCount);
    CO_TRY(const fasp::FaspBackfill begun,
           co_await sharing_.backfill(std::move(host),
                                      static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0))));
    json::object answer = to_json(begun);
    answer["host"] = begun.server;
    co_return answer;
  }
  co_return fail(ErrorCode::kNotFound, "no such control request");
}

}  // namespace tagring::admin
