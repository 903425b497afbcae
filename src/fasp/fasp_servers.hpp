// The fediverse servers that this node serves as a FASP (docs/fasp.md): registration, the keys that were
// exchanged, and the signed requests in both directions.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/runtime.hpp"
#include "base/workers.hpp"
#include "fasp/fasp_store.hpp"
#include "federation/blocks.hpp"
#include "federation/identity.hpp"
#include "federation/signed_client.hpp"
#include "fediverse/fasp.hpp"
#include "queues/host_pauses.hpp"
#include "signatures/replay_cache.hpp"
#include "signatures/signature.hpp"

namespace tagring::fasp {

class FaspServers {
 public:
  static constexpr Duration kAgeMax = std::chrono::minutes(5);  // of a signature
  static constexpr std::size_t kServersMax = 1'000;
  // What stands before the paths of the FASP specifications on this node.
  static constexpr std::string_view kPrefix = "/fasp";
  // What of a target is below it: "/provider_info". A server that knows this node from before has it at an
  // address of its own, kPrefix/ID.
  [[nodiscard]] static std::string below_prefix(const std::string& target);

  FaspServers(signatures::SignaturePolicy policy, FaspStore& store, const federation::Blocks& blocks,
              federation::SignedClient& client, HttpClient& http, const Runtime& runtime);

  [[nodiscard]] Task<Result<void>> load();

  // Asks a server, given by its host name or by the base URL of its FASP interface, to take this node as a
  // FASP. Its administrator decides; nothing is exchanged before that. Durable when it completes. kConflict
  // if this node is registered there already, kDenied for a blocked host, kNotFound if the server knows no
  // FASPs.
  struct Enrolled {
    FaspServer server;
    bool had_it_before =
        false;  // the server has this node in its list once more, of before, under other keys
  };
  [[nodiscard]] Task<Result<Enrolled>> enroll(std::string server);
  // Whatever the server signs from then on is refused.
  [[nodiscard]] Task<Result<void>> remove(std::string host);

  [[nodiscard]] const std::map<std::string, FaspServer>& all() const { return servers_; }
  // Null if this node is not registered there. Valid until the next co_await.
  [[nodiscard]] const FaspServer* find(const std::string& host) const;
  // Applies `change` in memory, and is durable when it completes. kNotFound for an unknown server.
  [[nodiscard]] Task<Result<void>> change(std::string host, std::function<void(FaspServer&)> change);
  // Of this node's key, as the server's administrator sees it: base64 of SHA-256.
  [[nodiscard]] static std::string fingerprint(const FaspServer& server);

  struct Asker {
    std::string host;
    bool again = false;  // the very request was received before
    std::vector<signatures::SeenSignature> seen = {};
  };
  // Which server signed the request. kDenied for everything else.
  [[nodiscard]] Task<Result<Asker>> authenticate(HttpRequest request);
  void sign(const std::string& host, HttpResponse& response) const;
  // As federation::Authenticator::answered.
  void answered(const Asker& asker, const HttpResponse& response) {
    if (is_refused_for_now(response)) replays_.forget(asker.seen);
  }

  // That server answers that it does not know this node (any more).
  [[nodiscard]] bool is_stranger_to(const std::string& host) const { return stranger_to_.contains(host); }

  // A signed request to `path` below the server's base URL. kDenied if a 2xx is not signed by the server;
  // other answers are values as they are.
  [[nodiscard]] Task<Result<HttpResponse>> call(std::string host, std::string method, std::string path,
                                                std::string body);
  // kDenied if that server has not signed the answer.
  [[nodiscard]] Result<void> check(const std::string& host, const HttpResponse& response) const;

 private:
  Task<Result<std::string>> discover(std::string host);
  Task<Result<json::object>> get_json(std::string url);
  Task<Result<fediverse::FaspRegistration>> introduce(FaspServer draft, std::string own_base);

  signatures::SignaturePolicy policy_;
  std::set<std::string> stranger_to_;  // hosts
  FaspStore& store_;
  const federation::Blocks& blocks_;
  const federation::Identity& identity_;
  queues::HostPauses& hosts_;
  HttpClient& http_;
  Clock& clock_;
  const Instant started_;
  Workers& workers_;
  signatures::ReplayCache replays_;
  std::map<std::string, FaspServer> servers_;  // by host
};

}  // namespace tagring::fasp
