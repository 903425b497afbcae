// What a world is made of. Private to world*.cpp.
#pragma once

#include <fmt/format.h>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/log.hpp"
#include "crypto/key.hpp"
#include "db/stores.hpp"
#include "db_history/history_store.hpp"
#include "http/message.hpp"
#include "node/node.hpp"
#include "ring_sim/loop.hpp"
#include "sim/disk.hpp"
#include "sim/droppers.hpp"
#include "sim/world.hpp"

namespace tagring::sim {

inline std::string node_host(std::size_t i) { return fmt::format("tags.n{}.example", i); }
inline std::string origin_host(std::size_t i) { return fmt::format("n{}.example", i); }

// A machine that runs a node. It outlives crashes of the node; `run` does not.
struct World::Host {
  explicit Host(crypto::PrivateKey node_key, std::uint64_t seed, const Clock& clock)
      : key(std::move(node_key)), disk(Rng(seed), clock) {}

  struct Run {
    ring_sim::OwnerId owner = 0;
    std::unique_ptr<ring_sim::LoopClock> clock;
    std::unique_ptr<Log> log;
    std::unique_ptr<HttpClient> http;
    std::unique_ptr<db::Stores> stores;
    std::unique_ptr<db_history::SqliteHistoryStore> history;  // in place of that of `stores`
    std::unique_ptr<DroppingRelayStore> relay;
    std::unique_ptr<node::Node> node;
  };
  crypto::PrivateKey key;
  Disk disk;
  Duration skew{};  // of its wall clock
  std::unique_ptr<Run> run;
};

// An instance: an author with a key, and the author's posts.
struct World::Origin {
  crypto::PrivateKey key;
  std::unique_ptr<HttpClient> http;
  std::unique_ptr<ring_sim::LoopClock> clock;
  std::set<std::string> deleted;
  std::map<std::string, std::string> notes;
  bool down = false;
  bool gone = false;  // and answers nothing at all
  unsigned crashes = 0;
  Duration late{0};  // it answers so much later
  bool indexable = true;
};

// The network, as what runs on a machine sees it.
class World::SimHttp final : public HttpClient {
 public:
  SimHttp(World& world, std::size_t number, HostKind kind, ring_sim::OwnerId owner)
      : world_(world), number_(number), kind_(kind), owner_(owner) {}

  Task<Result<HttpResponse>> send(HttpCall call) override;

 private:
  using Answer = std::shared_ptr<ring_sim::Box<Result<HttpResponse>>>;

  static void arrive(World& world, std::size_t from, std::size_t target, HostKind kind, HttpRequest request,
                     Answer box);
  static Task<void> serve(World* world, std::size_t host, std::size_t from, Task<HttpResponse> answer,
                          Answer box);
  static void reply(World& world, std::size_t from, std::size_t to, Answer box, Result<HttpResponse> result);

  World& world_;
  std::size_t number_;
  HostKind kind_;
  ring_sim::OwnerId owner_;
};

}  // namespace tagring::sim
