// A running node: everything wired together. The same class runs in production and in the simulator; only
// what is handed in differs.
#pragma once

#include <cstdint>
#include <memory>

#include "administrators/administrator.hpp"
#include "audit/receipts.hpp"
#include "base/json.hpp"
#include "config/config.hpp"
#include "crypto/key.hpp"
#include "http/message.hpp"
#include "node/environment.hpp"
#include "node/routes.hpp"
#include "overlay/ring_service.hpp"
#include "relay/relay_owner.hpp"
#include "storage/history_service.hpp"
#include "storage/storage_owner.hpp"
#include "subscriber/subscriptions.hpp"

namespace tagring::node {

struct Parts;

class Node {
 public:
  // `incarnation`: larger at each start of this node than ever before.
  Node(config::Config config, crypto::PrivateKey key, std::uint64_t incarnation, Environment environment);
  ~Node();

  // Takes up what was left undone, and joins both rings in the background. What grows with the network, the
  // feed, is read in the background, too (delivery::Announcer).
  [[nodiscard]] Task<Result<void>> start();
  // Ends everything that runs in the background. Nothing acknowledged is lost.
  [[nodiscard]] Task<void> stop();
  // Hands over what this node owns and leaves both rings (paper §5.6). Then stop().
  [[nodiscard]] Task<void> leave();

  // Answers a request of the outside world. 503 until start() has taken up what was left.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);
  // Answers a request of an administrator (admin/control.hpp): of who may use the control socket, or of
  // `who`.
  [[nodiscard]] Task<HttpResponse> control(HttpRequest request);
  [[nodiscard]] Task<HttpResponse> administer(administrators::Administrator who, HttpRequest request);

  // Answers what is asked of the listener of metrics.port.
  [[nodiscard]] Task<HttpResponse> probe(HttpRequest request);
  // Takes from a configuration what may change while the node runs. {"changed": [keys], "restart": [keys]}:
  // what counts from now on, and what will after a restart.
  json::object adopt(const config::Config& fresh);

  [[nodiscard]] overlay::RingService& rings();
  [[nodiscard]] storage::HistoryService& history();
  [[nodiscard]] subscriber::Subscriptions& subscriber();
  [[nodiscard]] relay::RelayOwner& relay_owner();
  [[nodiscard]] storage::StorageOwner& storage_owner();
  [[nodiscard]] audit::Receipts& receipts();
  // Nothing waits to be sent.
  [[nodiscard]] bool is_idle() const;
  [[nodiscard]] json::object status() const;

 private:
  Task<Result<void>> check_partials();
  Task<Result<void>> load();
  Task<void> enforce();

  [[nodiscard]] Routes make_routes();
  void add_health(json::object& status) const;

  std::unique_ptr<Parts> parts_;
  Routes routes_;
  bool loaded_ = false;  // what it knew before this run; until then nothing is answered
};

}  // namespace tagring::node
