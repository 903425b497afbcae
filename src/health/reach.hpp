// Whether others reach this node: asks another one to call back, and does the same for those who ask
// (docs/protocol.md, 12.1).
//
//   GET  /tagring/v1/reach                  {"now": milliseconds since 1970, "you": the caller's address,
//                                           "host": the Host that came with it, "process": which run of
//                                           the node answers}
//   POST /tagring/v1/reach {"address"}      signed. The node calls the sender at that address and at its
//                                           origin: {"reached": true, "saw": whom the sender saw calling,
//                                           "process": who answered}
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/runtime.hpp"
#include "budget/manager.hpp"
#include "config/config.hpp"
#include "crypto/hash.hpp"
#include "federation/authenticator.hpp"
#include "federation/signed_client.hpp"
#include "health/check.hpp"
#include "http/message.hpp"

namespace tagring::health {

// What a proxy is to do that writes another Host.
inline constexpr std::string_view kKeepHost =
    "have it pass Host on as it came: in nginx \"proxy_set_header Host $http_host\", in Apache "
    "\"ProxyPreserveHost On\" (docs/proxy.md)";
// Whether a signature may stand for that Host (signatures::check_host).
[[nodiscard]] bool is_own_host(const config::Config& config, std::string_view field);
// Of a node behind a proxy, what it was answered when it asked for Reach::kPath at its own origin.
[[nodiscard]] Check judge_way_in(const config::Config& config, const HttpResponse& answer);

class Reach {
 public:
  static constexpr std::string_view kPath = "/tagring/v1/reach";
  static constexpr Duration kTimeout = std::chrono::seconds(10);

  Reach(IpAddress own_address, federation::SignedClient& client, federation::Authenticator& authenticator,
        HttpClient& http, budget::Manager& budget, const Runtime& runtime)
      : own_address_(own_address),
        client_(client),
        authenticator_(authenticator),
        http_(http),
        budget_(budget),
        clock_(runtime.clock),
        process_(crypto::public_draw(runtime.rng.fork("reach"))) {}

  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

  struct Seen {
    Duration ahead;                // its clock of this one's
    std::optional<IpAddress> you;  // whom it saw calling
  };
  // What the node at `origin` says to anybody.
  [[nodiscard]] Task<Result<Seen>> look(std::string origin);
  // Asks it to call back, at node.address or at another that the DNS has for this node. The address from
  // which this node saw the call come; the error says what was in the way, there or here. kConflict: another
  // process answered there, in this node's name.
  [[nodiscard]] Task<Result<IpAddress>> ask(std::string origin, std::optional<IpAddress> at = std::nullopt);
  // Calls this node's own origin at that address: does it come back to this process? kConflict: something
  // else answered, another process or a server with another certificate. Other errors: nothing answered that
  // can be seen from here.
  [[nodiscard]] Task<Result<void>> come_back(std::string own_origin, IpAddress address);

 private:
  Task<Result<json::object>> get(std::string origin, std::optional<IpAddress> at);
  Task<Result<json::object>> call_back(HttpRequest request);
  [[nodiscard]] Result<void> check_process(const json::object& answer) const;

  const IpAddress own_address_;
  federation::SignedClient& client_;
  federation::Authenticator& authenticator_;
  HttpClient& http_;
  budget::Manager& budget_;
  Clock& clock_;
  const std::string process_;  // drawn at the start
};

}  // namespace tagring::health
