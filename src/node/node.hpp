// A running node: everything wired together. The same class runs in production and in the simulator; only
// what is handed in differs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/http.hpp"
#include "base/log.hpp"
#include "base/workers.hpp"
#include "node/config.hpp"
#include "node/heads.hpp"
#include "node/history_service.hpp"
#include "node/inbox.hpp"
#include "node/replay.hpp"
#include "node/tag_sources.hpp"
#include "node/transfer.hpp"
#include "relay/fasp.hpp"

namespace tagring::node {

// What of a node is on disk.
struct Stores {
  relay::Store& relay;
  relay::InstanceStore& instances;
  relay::BlockStore& blocks;
  relay::ReplayStore& replays;
  relay::FaspStore& fasp;
  storage::HistoryStore& history;
  storage::ReceiptStore& receipts;
};
// `all` has them as members of these names, as db::Stores does, and must outlive what is returned.
template <class All>
Stores stores_of(All& all) {
  return {all.relay, all.instances, all.blocks, all.replays, all.fasp, all.history, all.receipts};
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
  std::vector<TagToken> tag_tokens = {};
  ReadFollowedTags read_followed_tags = {};
  ServiceFinder* services = nullptr;  // for ring.bootstrap_srv
  // Where the node stands on the rings, as text: as last saved, and how it is saved. Without them the node
  // chooses anew at each start.
  std::optional<std::string> places = {};
  std::function<Task<Result<void>>(std::string places)> save_places = {};
};

class Node {
 public:
  // `incarnation`: larger at each start of this node than ever before.
  Node(Config config, crypto::PrivateKey key, std::uint64_t incarnation, Environment environment);
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

  [[nodiscard]] RingService& rings();
  [[nodiscard]] HistoryService& history();
  [[nodiscard]] Subscriber& subscriber();
  [[nodiscard]] Roles& roles();
  [[nodiscard]] Receipts& receipts();
  // Nothing waits to be sent.
  [[nodiscard]] bool is_idle() const;
  [[nodiscard]] json::object status() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tagring::node
