// A running node: everything wired together. The same class runs in production and in the simulator; only
// what is handed in differs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "audit/receipts.hpp"
#include "audit/signed_tree_heads.hpp"
#include "base/http.hpp"
#include "base/log.hpp"
#include "base/workers.hpp"
#include "config/config.hpp"
#include "fasp/fasp_store.hpp"
#include "federation/letter_store.hpp"
#include "handover/transfer.hpp"
#include "instances/replay.hpp"
#include "instances/tag_sources.hpp"
#include "overlay/ring_service.hpp"
#include "relay/relay_owner.hpp"
#include "relay/subscriptions.hpp"
#include "storage/history_service.hpp"
#include "storage/storage_owner.hpp"

namespace tagring::node {

// What of a node is on disk.
struct Stores {
  relay::Store& relay;
  federation::LetterStore& letters;
  instances::InstanceStore& instances;
  federation::BlockStore& blocks;
  instances::ReplayStore& replays;
  fasp::FaspStore& fasp;
  storage::HistoryStore& history;
  audit::ReceiptStore& receipts;
};
// `all` has them as members of these names, as db::Stores does, and must outlive what is returned.
template <class All>
Stores stores_of(All& all) {
  return {all.relay, all.relay, all.instances, all.blocks, all.replays, all.fasp, all.history, all.receipts};
}

// What a node needs of the world. Everything outlives the node.
struct Environment {
  Clock& clock;
  Executor executor;
  HttpClient& http;
  Workers& workers;
  Stores stores;
  Log& log;
  std::uint64_t seed = 0;
  // Where Config does not read itself: secrets, and another program's database.
  std::vector<instances::TagToken> tag_tokens = {};
  instances::ReadFollowedTags read_followed_tags = {};
  ServiceFinder* services = nullptr;  // for ring.bootstrap_srv
  // Where the node stands on the rings, as text: as last saved, and how it is saved. Without them the node
  // chooses anew at each start.
  std::optional<std::string> places = {};
  std::function<Task<Result<void>>(std::string places)> save_places = {};
};

struct Parts;

class Node {
 public:
  // `incarnation`: larger at each start of this node than ever before.
  Node(config::Config config, crypto::PrivateKey key, std::uint64_t incarnation, Environment environment);
  ~Node();

  // Takes up what was left undone, and joins both rings in the background.
  [[nodiscard]] Task<Result<void>> start();
  // Ends everything that runs in the background. Nothing acknowledged is lost.
  [[nodiscard]] Task<void> stop();
  // Hands over what this node owns and leaves both rings (paper §5.6). Then stop().
  [[nodiscard]] Task<void> leave();

  // Answers a request of the outside world.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);
  // Answers a request of the administrator (control socket).
  [[nodiscard]] Task<HttpResponse> control(HttpRequest request);

  [[nodiscard]] overlay::RingService& rings();
  [[nodiscard]] storage::HistoryService& history();
  [[nodiscard]] relay::Subscriptions& subscriber();
  [[nodiscard]] relay::RelayOwner& relay_owner();
  [[nodiscard]] storage::StorageOwner& storage_owner();
  [[nodiscard]] audit::Receipts& receipts();
  // Nothing waits to be sent.
  [[nodiscard]] bool is_idle() const;
  [[nodiscard]] json::object status() const;

 private:
  Task<Result<void>> check_partials();
  Task<Result<void>> load();

  std::unique_ptr<Parts> parts_;
};

}  // namespace tagring::node
