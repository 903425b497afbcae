// This node as a FASP (Fediverse Auxiliary Service Provider): what servers ask of it below /fasp, signed in
// both directions (docs/fasp.md). A request that is not signed by a server with which this node is registered
// gets 401, and changes nothing.
#pragma once

#include <string>
#include <vector>

#include "base/log.hpp"
#include "fasp/fasp_hashtags.hpp"
#include "fasp/fasp_sharing.hpp"
#include "federation/blocks.hpp"
#include "fediverse/fasp.hpp"
#include "http/message.hpp"

namespace tagring::fasp {

class Fasp {
 public:
  static constexpr std::string_view kPrefix = "/fasp/";

  Fasp(fediverse::FaspProvider provider, FaspServers& servers, FaspSharing& sharing, FaspHashtags& hashtags,
       const federation::Blocks& blocks, Log& log);

  // Answers any request below FaspServers::kPrefix.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  Task<HttpResponse> dispatch(std::string host, HttpRequest request);
  Task<HttpResponse> activate(std::string host, std::string what, bool on);

  fediverse::FaspProvider provider_;
  FaspServers& servers_;
  FaspSharing& sharing_;
  FaspHashtags& hashtags_;
  const federation::Blocks& blocks_;
  Log& log_;
};

}  // namespace tagring::fasp
