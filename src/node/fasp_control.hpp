// The administrator's requests about this node as a FASP, as JSON (see control.hpp).
//
//   GET  /fasp            {"servers": [{"host", "base_url", "fasp_id", "server_id", "fingerprint",
//                         "completion_url", "since", "capabilities": […]}]}
//   POST /fasp/register   {"server"}: a host name, or the base URL of the server's FASP interface
//   POST /fasp/remove     {"host"}
#pragma once

#include "base/json.hpp"
#include "node/fasp_servers.hpp"

namespace tagring::node {

class FaspControl {
 public:
  explicit FaspControl(FaspServers& servers) : servers_(servers) {}

  [[nodiscard]] json::object list() const;
  [[nodiscard]] Task<Result<json::object>> change(std::string path, json::object request);

 private:
  FaspServers& servers_;
};

}  // namespace tagring::node
