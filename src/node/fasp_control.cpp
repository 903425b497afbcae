#include "node/fasp_control.hpp"

#include "base/bytes.hpp"

namespace tagring::node {
namespace {

json::object to_json(const relay::FaspServer& server) {
  json::array capabilities;
  if (server.shares) capabilities.push_back("data_sharing");
  if (server.hashtags) capabilities.push_back("hashtag_subscription");
  return {{"host", server.host},
          {"base_url", server.base_url},
          {"fasp_id", server.fasp_id},
          {"server_id", server.id},
          {"fingerprint", FaspServers::fingerprint(server)},
          {"completion_url", server.completion_url},
          {"since", to_rfc3339(server.since)},
          {"capabilities", std::move(capabilities)}};
}

}  // namespace

json::object FaspControl::list() const {
  json::array servers;
  for (const auto& [host, server] : servers_.all()) servers.push_back(to_json(server));
  return {{"servers", std::move(servers)}};
}

Task<Result<json::object>> FaspControl::change(std::string path, json::object request) {
  if (path == "/fasp/register") {
    CO_TRY(const relay::FaspServer server,
           co_await servers_.enroll(json::get_string(request, "server").value_or("")));
    co_return to_json(server);
  }
  std::string host = ascii_lower(json::get_string(request, "host").value_or(""));
  if (path == "/fasp/remove") {
    const std::string removed = host;
    CO_TRY_VOID(co_await servers_.remove(std::move(host)));
    co_return json::object{{"removed", removed}};
  }
  co_return fail(ErrorCode::kNotFound, "no such control request");
}

}  // namespace tagring::node
