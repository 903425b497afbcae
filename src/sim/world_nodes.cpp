// The machines that run nodes, and what becomes of them.
#include <algorithm>
#include <fmt/format.h>

#include "base/assert.hpp"
#include "config/config.hpp"
#include "db/stores.hpp"
#include "delivery/store.hpp"
#include "node/node.hpp"
#include "ring_sim/loop.hpp"
#include "sim/world.hpp"
#include "sim/world_parts.hpp"
#include "sql/database.hpp"
#include "sql/meta.hpp"
#include "storage/history.hpp"

namespace tagring::sim {
namespace {

constexpr std::uint16_t kPort = 443;
constexpr Duration kRestart = std::chrono::seconds(2);  // of a process that ended, as systemd does it

}  // namespace

// --- nodes -------------------------------------------------------------------------------------------------

World::World(std::uint64_t seed, WorldOptions options)
    : loop(seed, [this] { check_after_event(); }), rng_(~seed), options_(std::move(options)) {}

World::~World() {
  for (const std::size_t i : up()) crash_node(i);
}

void to_stderr(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

std::unique_ptr<Log> World::log_of(std::size_t i, const Clock& clock) const {
  const auto sink = [this, i](LogLevel, const std::string& line) {
    const std::chrono::duration<double> at = loop.now() - Instant{};
    options_.log(fmt::format("at={:.3f} node={} {}", at.count(), i, line));
  };
  return std::make_unique<Log>(sink, options_.log ? LogLevel::kDebug : LogLevel::kOff, LogFormat::kLogfmt,
                               &clock);
}

config::Config World::config_of(std::size_t i) const {
  config::Config config;
  config.host = node_host(i);
  config.port = kPort;
  config.address = address_of(i, HostKind::kNode);
  config.vservers = options_.vservers;
  config.balance = options_.balance;
  config.ids = options_.ids;
  config.ids.kappa = std::max(config.vservers, options_.ids.kappa);
  config.balance_every = options_.balance_every;
  config.balance_patience = options_.balance_every;
  config.storage_capacity = options_.storage_capacity(i);
  config.history_bytes = options_.history_bytes;
  config.relay_replicas = options_.relay_replicas;
  config.storage_replicas = options_.storage_replicas;
  config.stabilise = options_.stabilise;
  config.reconcile = options_.reconcile;
  config.deliveries_per_second = options_.deliveries_per_second;
  config.cooldown_seconds = options_.cooldown_seconds;
  config.storage_cooldown_seconds = options_.storage_cooldown_seconds;
  config.hashtag_share = options_.hashtag_share;
  config.posts_an_hour = options_.posts_an_hour;
  const std::size_t first = i >= options_.first_of_second_network ? options_.first_of_second_network : 0;
  config.create = i == first;
  config.instances = {origin_host(i)};
  // Everybody knows a few others from the start.
  std::set<std::size_t> known = {0};
  for (unsigned n = 0; n < options_.configured_nodes; ++n) known.insert(first + n);
  if (options_.first_of_second_network != SIZE_MAX) known.insert(options_.first_of_second_network);
  for (const std::size_t other : known) {
    if (other != i) config.bootstrap.push_back("https://" + node_host(other));
  }
  return config;
}

void World::start_node(std::size_t i) {
  names_[node_host(i)] = {i, HostKind::kNode};
  names_[origin_host(i)] = {i, HostKind::kInstance};
  if (!hosts_.contains(i)) {
    const std::string seed = fmt::format("{:032}", i + 1);
    hosts_[i] =
        std::make_unique<Host>(crypto::PrivateKey::ed25519_from_seed(seed), rng_.next(), *origin(i).clock);
  }
  Host& host = *hosts_[i];
  TR_ASSERT(!host.run);
  host.run = std::make_unique<Host::Run>();
  Host::Run& run = *host.run;
  run.owner = ++last_owner_;
  host_of_owner_[run.owner] = i;
  run.clock = std::make_unique<ring_sim::LoopClock>(loop, run.owner, host.skew);
  run.log = log_of(i, *run.clock);
  run.http = std::make_unique<SimHttp>(*this, i, HostKind::kNode, run.owner);
  loop.spawn(run.owner, boot_or_restart(i));
}

Task<void> World::boot_or_restart(std::size_t i) {
  const ring_sim::OwnerId owner = hosts_.at(i)->run->owner;
  const Result<void> started = co_await boot(i);
  if (started) co_return;
  hosts_.at(i)->run->log->error("cannot_start", {{"error", started.error().message}});
  // Its process has ended, and what looks after it starts it again.
  loop.at(loop.now() + kRestart, ring_sim::kWorld, [this, i, owner] {
    if (!is_up(i) || hosts_.at(i)->run->owner != owner) return;
    crash_node(i);
    start_node(i);
  });
}

Task<Result<void>> World::boot(std::size_t i) {
  Host& host = *hosts_.at(i);
  Host::Run& run = *host.run;
  sql::DatabaseOptions database;
  database.path = "node.db";
  database.vfs = host.disk.vfs();
  database.mode = sql::Mode::kInline;
  if (options_.database_pause > Duration::zero()) {
    // Callers go on in the order in which they asked, as after the thread of the jobs.
    database.pause = [clock = run.clock.get(), last = std::make_shared<Instant>(),
                      most = static_cast<std::uint64_t>(options_.database_pause.count()),
                      rng = std::make_shared<Rng>(rng_.next())] {
      const Instant own = clock->now() + Duration(static_cast<Duration::rep>(rng->below(most + 1)));
      *last = std::max(*last, own);
      return clock->sleep_until(*last);
    };
  }
  CO_TRY(run.stores, db::open_stores(std::move(database), *run.clock));
  if (options_.drops_stored)
    run.history =
        std::make_unique<DroppingHistory>(*run.stores->database, drops_of(options_.drops_stored, i));
  if (options_.forges_stored)
    run.history = std::make_unique<ForgingHistory>(
        *run.stores->database,
        [forges = options_.forges_stored, i](std::vector<storage::HistoryEntry> entries) {
          return forges(i, std::move(entries));
        });
  if (options_.drops_relayed)
    run.relay = std::make_unique<DroppingRelayStore>(*run.stores->database, *run.clock,
                                                     drops_of(options_.drops_relayed, i));
  CO_TRY(const std::uint64_t incarnation, co_await run.stores->meta.next_incarnation(*run.clock));
  node::Environment environment{*run.clock,
                                loop.executor(run.owner),
                                *run.http,
                                workers_,
                                {run.relay ? *run.relay : run.stores->relay, run.stores->relay,
                                 run.stores->instances, run.stores->blocks, run.stores->replays,
                                 run.stores->fasp, run.history ? *run.history : run.stores->history,
                                 run.stores->receipts, run.stores->reports, run.stores->changes},
                                *run.log,
                                rng_.next()};
  environment.bounds = options_.bounds;
  sql::SqliteMeta* const meta = &run.stores->meta;
  CO_TRY(environment.places, co_await meta->get("places"));
  environment.save_places = [meta](std::string text) { return meta->set("places", std::move(text)); };
  CO_TRY(environment.owed, co_await meta->get("owed"));
  environment.save_owed = [meta](std::string text) { return meta->set("owed", std::move(text)); };
  CO_TRY(environment.address_book, co_await meta->get("address_book"));
  environment.save_address_book = [meta](std::string text) {
    return meta->set("address_book", std::move(text));
  };
  CO_TRY(environment.ahead.saved, co_await meta->get("signed_ahead"));
  environment.ahead.save = [meta](std::string text) { return meta->set("signed_ahead", std::move(text)); };
  CO_TRY(environment.move.saved, co_await meta->get("move"));
  environment.move.save = [meta](std::string text) { return meta->set("move", std::move(text)); };
  run.node = std::make_unique<node::Node>(config_of(i), host.key, incarnation, environment);
  co_return co_await run.node->start();
}

void World::crash_node(std::size_t i) {
  Host& host = *hosts_.at(i);
  TR_ASSERT(host.run);
  // The disk first, so that closing the database saves nothing.
  host.disk.crash();
  host_of_owner_.erase(host.run->owner);
  for (auto& [ring, watch] : watches_) watch.note_crash();
  loop.drop(host.run->owner);
  host.run.reset();
}

namespace {
Task<bool> leave(node::Node* node) {
  co_await node->leave();
  co_return true;
}
}  // namespace

bool World::leave_node(std::size_t i) {
  const bool left = await_on(i, leave(&node(i)), std::chrono::minutes(10)).value_or(false);
  crash_node(i);
  return left;
}

bool World::is_up(std::size_t i) const {
  const auto it = hosts_.find(i);
  return it != hosts_.end() && it->second->run != nullptr;
}

node::Node* World::running(std::size_t i) const { return is_up(i) ? hosts_.at(i)->run->node.get() : nullptr; }

ring_sim::OwnerId World::owner_of(std::size_t i) const { return hosts_.at(i)->run->owner; }

node::Node& World::node(std::size_t i) {
  node::Node* node = running(i);
  TR_ASSERT(node != nullptr);
  return *node;
}

std::vector<std::size_t> World::up() const {
  std::vector<std::size_t> result;
  for (const auto& [i, host] : hosts_) {
    if (host->run) result.push_back(i);
  }
  return result;
}

// --- machines ----------------------------------------------------------------------------------------------

Disk& World::disk(std::size_t i) { return hosts_.at(i)->disk; }

void World::set_clock(std::size_t i, Duration skew) {
  Host& host = *hosts_.at(i);
  host.skew = skew;
  if (host.run) host.run->clock->set_skew(skew);
}

storage::HistoryStore& World::history_store(std::size_t i) { return hosts_.at(i)->run->stores->history; }

delivery::Store& World::relay_store(std::size_t i) { return hosts_.at(i)->run->stores->relay; }

}  // namespace tagring::sim
