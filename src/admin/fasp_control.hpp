// The administrator's requests about this node as a FASP, as JSON (see control.hpp).
//
//   GET  /fasp            {"servers": [{"host", "base_url", "fasp_id", "server_id", "fingerprint",
//                         "completion_url", "since", "capabilities": […], "hashtags": […],
//                         "backfill": {"wanted", "received", "done"}?}]}
//   POST /fasp/register   {"server"}: a host name, or the base URL of the server's FASP interface
//   POST /fasp/remove     {"host"}
//   POST /fasp/backfill   {"host", "count"?}: asks for that many old posts, 1000 if it is not said
#pragma once

#include "base/json.hpp"
#include "fasp/fasp_hashtags.hpp"
#include "fasp/fasp_sharing.hpp"

namespace tagring::admin {

class FaspControl {
 public:
  FaspControl(fasp::FaspServers& servers, fasp::FaspSharing& sharing, fasp::FaspHashtags& hashtags)
      : servers_(servers), sharing_(sharing), hashtags_(hashtags) {}

  [[nodiscard]] json::object list() const;
  [[nodiscard]] Task<Result<json::object>> change(std::string path, json::object request);

 private:
  fasp::FaspServers& servers_;
  fasp::FaspSharing& sharing_;
  fasp::FaspHashtags& hashtags_;
};

}  // namespace tagring::admin
