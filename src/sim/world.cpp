#include "sim/world.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/assert.hpp"
#include "config/config.hpp"
#include "relay/store.hpp"
#include "signatures/signature.hpp"
#include "sql/database.hpp"
#include "sql/meta.hpp"
#include "storage/history.hpp"

namespace tagring::sim {
namespace {

constexpr std::uint16_t kPort = 443;

std::string node_host(std::size_t i) { return fmt::format("tags.n{}.example", i); }
std::string origin_host(std::size_t i) { return fmt::format("n{}.example", i); }

}  // namespace

// A machine that runs a node. It outlives crashes of the node; `run` does not.
struct World::Host {
  explicit Host(crypto::PrivateKey node_key, std::uint64_t seed, const Clock& clock)
      : key(std::move(node_key)), disk(Rng(seed), clock) {}

  struct Run {
    ring_sim::OwnerId owner = 0;
    std::unique_ptr<ring_sim::LoopClock> clock;
    std::unique_ptr<HttpClient> http;
    std::unique_ptr<db::Stores> stores;
    std::unique_ptr<db::SqliteHistoryStore> history;  // in place of that of `stores`
    std::unique_ptr<DroppingRelayStore> relay;
    std::unique_ptr<node::Node> node;
  };
  crypto::PrivateKey key;
  Disk disk;
  Duration skew{};  // of its wall clock
  std::unique_ptr<Run> run;
};

// An instance: an author with a key, and the author's posts. Never crashes.
struct World::Origin {
  crypto::PrivateKey key;
  std::unique_ptr<HttpClient> http;
  std::unique_ptr<ring_sim::LoopClock> clock;
  std::set<std::string> deleted;
  std::map<std::string, std::string> notes;
  bool down = false;
};

// --- the network -------------------------------------------------------------------------------------------

class World::SimHttp final : public HttpClient {
 public:
  SimHttp(World& world, std::size_t number, HostKind kind, ring_sim::OwnerId owner)
      : world_(world), number_(number), kind_(kind), owner_(owner) {}

  Task<Result<HttpResponse>> send(HttpCall call) override {
    ++world_.messages;
    const auto name = world_.names_.find(call.url.host);
    if (name == world_.names_.end()) co_return fail(ErrorCode::kUnavailable, "no such host");
    const auto [target, target_kind] = name->second;
    // The certificate is of the host by construction; the address must be in the prefix asked for.
    const IpAddress address = world_.address_of(target, target_kind);
    if (call.required_prefix && *call.required_prefix != address.prefix64()) {
      co_return fail(ErrorCode::kDenied, "the host has no address in the claimed prefix");
    }
    auto box = std::make_shared<ring_sim::Box<Result<HttpResponse>>>();
    box->token = world_.loop.new_token();
    const Instant deadline = call.deadline;
    const bool twice = world_.faults.duplicates > 0 && world_.rng_.chance(world_.faults.duplicates);
    if (world_.passes(number_, target)) {
      HttpRequest request;
      request.method = call.method;
      request.target = call.url.target;
      request.headers = std::move(call.headers);
      request.headers.set("Host", call.url.authority());
      request.body = std::move(call.body);
      request.peer = world_.address_of(number_, kind_);
      if (twice) {
        auto unheard = std::make_shared<ring_sim::Box<Result<HttpResponse>>>();
        world_.loop.at(world_.loop.now() + world_.delay(), ring_sim::kWorld,
                       [world = &world_, from = number_, target, kind = target_kind, request,
                        unheard]() mutable { arrive(*world, from, target, kind, request, unheard); });
      }
      world_.loop.at(
          world_.loop.now() + world_.delay(), ring_sim::kWorld,
          [world = &world_, from = number_, target, kind = target_kind, request = std::move(request),
           box]() mutable { arrive(*world, from, target, kind, std::move(request), std::move(box)); });
    }
    co_await world_.loop.wait(owner_, box->token, deadline);
    if (!box->value) co_return fail(ErrorCode::kTimedOut, "no answer");
    co_return std::move(*box->value);
  }

 private:
  using Answer = std::shared_ptr<ring_sim::Box<Result<HttpResponse>>>;

  static void arrive(World& world, std::size_t from, std::size_t target, HostKind kind, HttpRequest request,
                     Answer box) {
    if (kind == HostKind::kSubscriber) {
      return reply(world, target, from, box, world.endpoints_.at(target).answer(request, world.loop.now()));
    }
    if (kind == HostKind::kBystander) {
      ++world.asked_of_bystander_[from];
      HttpResponse response;
      response.status = 404;
      return reply(world, target, from, box, std::move(response));
    }
    if (kind == HostKind::kInstance) {
      world.loop.spawn(ring_sim::kWorld,
                       serve(&world, target, from, world.origin_answer(target, std::move(request)), box));
      return;
    }
    const auto host = world.hosts_.find(target);
    if (host == world.hosts_.end() || !host->second->run || !host->second->run->node) {
      return reply(world, target, from, box, fail(ErrorCode::kUnavailable, "connection refused"));
    }
    if (world.options_.lie) {
      if (auto lie = world.options_.lie(target, request))
        return reply(world, target, from, box, std::move(*lie));
    }
    Host::Run& run = *host->second->run;
    world.loop.spawn(run.owner, serve(&world, target, from, run.node->answer(std::move(request)), box));
  }
  static Task<void> serve(World* world, std::size_t host, std::size_t from, Task<HttpResponse> answer,
                          Answer box) {
    HttpResponse response = co_await std::move(answer);
    reply(*world, host, from, std::move(box), std::move(response));
  }
  static void reply(World& world, std::size_t from, std::size_t to, Answer box, Result<HttpResponse> result) {
    if (!world.passes(from, to)) return;
    world.loop.at(world.loop.now() + world.delay(), ring_sim::kWorld,
                  [&world, box, result = std::move(result)]() mutable {
                    if (box->value) return;
                    box->value.emplace(std::move(result));
                    world.loop.complete(box->token);
                  });
  }

  World& world_;
  std::size_t number_;
  HostKind kind_;
  ring_sim::OwnerId owner_;
};

IpAddress World::address_of(std::size_t i, HostKind kind) const {
  const std::size_t network = kind == HostKind::kNode ? std::min(i, options_.first_of_hoster) : i;
  IpAddress address;
  address.bytes = {0x20, 0x01, 0x0D, 0xB8};
  address.bytes[4] = static_cast<std::uint8_t>(static_cast<int>(kind) + 1);
  address.bytes[6] = static_cast<std::uint8_t>(network >> 8U);
  address.bytes[7] = static_cast<std::uint8_t>(network);
  address.bytes[13] = static_cast<std::uint8_t>((i - network) >> 8U);
  address.bytes[14] = static_cast<std::uint8_t>(i - network);
  address.bytes[15] = 1;
  return address;
}

Duration World::delay() {
  const auto spread = static_cast<std::uint64_t>((faults.delay_max - faults.delay_min).count()) + 1;
  return faults.delay_min + Duration(static_cast<Duration::rep>(rng_.below(spread)));
}

bool World::passes(std::optional<std::size_t> from, std::optional<std::size_t> to) {
  if (from != to && !parts_.empty() && from && to && parts_[*from] != parts_[*to]) return false;
  if (from && to && cut_.first.contains(*from) && cut_.second.contains(*to)) return false;
  return faults.loss == 0 || !rng_.chance(faults.loss);
}

// --- nodes -------------------------------------------------------------------------------------------------

World::World(std::uint64_t seed, WorldOptions options)
    : loop(seed),
      rng_(~seed),
      options_(options),
      log_(options.log ? Log::to_stderr(LogLevel::kDebug) : Log::off()) {}

World::~World() {
  for (const std::size_t i : up()) crash_node(i);
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
  config.history_octets = options_.history_octets;
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
  run.http = std::make_unique<SimHttp>(*this, i, HostKind::kNode, run.owner);
  loop.spawn(run.owner, boot(i));
}

Task<void> World::boot(std::size_t i) {
  Host& host = *hosts_.at(i);
  Host::Run& run = *host.run;
  sql::DatabaseOptions database;
  database.path = "node.db";
  database.vfs = host.disk.vfs();
  database.mode = sql::Mode::kInline;
  if (options_.database_pause > Duration::zero()) {
    database.pause = [clock = run.clock.get(),
                      most = static_cast<std::uint64_t>(options_.database_pause.count()),
                      rng = std::make_shared<Rng>(rng_.next())] {
      return clock->sleep_until(clock->now() + Duration(static_cast<Duration::rep>(rng->below(most + 1))));
    };
  }
  auto stores = db::open_stores(std::move(database), *run.clock);
  if (!stores) std::fprintf(stderr, "simulation: %s\n", stores.error().message.c_str());
  TR_ASSERT(stores);
  run.stores = std::move(*stores);
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
  const Result<std::uint64_t> incarnation = co_await run.stores->meta.next_incarnation(*run.clock);
  TR_ASSERT(incarnation);
  node::Environment environment{*run.clock,
                                loop.executor(run.owner),
                                *run.http,
                                workers_,
                                {run.relay ? *run.relay : run.stores->relay, run.stores->relay,
                                 run.stores->instances, run.stores->blocks, run.stores->replays,
                                 run.stores->fasp, run.history ? *run.history : run.stores->history,
                                 run.stores->receipts, run.stores->reports, run.stores->changes},
                                log_,
                                rng_.next()};
  sql::SqliteMeta* const meta = &run.stores->meta;
  const auto places = co_await meta->get("places");
  TR_ASSERT(places);
  environment.places = *places;
  environment.save_places = [meta](std::string text) { return meta->set("places", std::move(text)); };
  const auto owed = co_await meta->get("owed");
  TR_ASSERT(owed);
  environment.owed = *owed;
  environment.save_owed = [meta](std::string text) { return meta->set("owed", std::move(text)); };
  const auto address_book = co_await meta->get("address_book");
  TR_ASSERT(address_book);
  environment.address_book = *address_book;
  environment.save_address_book = [meta](std::string text) {
    return meta->set("address_book", std::move(text));
  };
  run.node = std::make_unique<node::Node>(config_of(i), host.key, *incarnation, environment);
  const Result<void> started = co_await run.node->start();
  TR_ASSERT(started);
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
  const bool left = await(leave(&node(i)), std::chrono::minutes(10)).value_or(false);
  crash_node(i);
  return left;
}

bool World::is_up(std::size_t i) const {
  const auto it = hosts_.find(i);
  return it != hosts_.end() && it->second->run != nullptr;
}

node::Node* World::running(std::size_t i) const { return is_up(i) ? hosts_.at(i)->run->node.get() : nullptr; }

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

// --- instances ---------------------------------------------------------------------------------------------

void World::set_instance_down(std::size_t i, bool down) { origin(i).down = down; }

World::Origin& World::origin(std::size_t i) {
  auto& slot = origins_[i];
  if (!slot) {
    const std::string seed = fmt::format("{:032}", 1'000'000 + i);
    slot = std::make_unique<Origin>(
        Origin{crypto::PrivateKey::ed25519_from_seed(seed),
               std::make_unique<SimHttp>(*this, i, HostKind::kInstance, ring_sim::kWorld),
               std::make_unique<ring_sim::LoopClock>(loop, ring_sim::kWorld),
               {},
               {},
               false});
  }
  return *slot;
}

Task<HttpResponse> World::origin_answer(std::size_t i, HttpRequest request) {
  HttpResponse response;
  response.headers.add("Content-Type", "application/activity+json");
  const std::string base = "https://" + origin_host(i);
  Origin& server = origin(i);
  if (request.method == "GET") on_fetch(i);
  if (server.down) {
    response.status = 503;
    co_return response;
  }
  if (request.target == "/users/alice") {
    const std::string id = base + "/users/alice";
    response.body = json::serialize(json::object{
        {"@context", "https://www.w3.org/ns/activitystreams"},
        {"id", id},
        {"type", "Person"},
        {"preferredUsername", "alice"},
        {"indexable", true},
        {"inbox", id + "/inbox"},
        {"publicKey",
         json::object{
             {"id", id + "#main-key"}, {"owner", id}, {"publicKeyPem", server.key.public_key().pem()}}}});
    co_return response;
  }
  const auto note = server.notes.find(base + request.target);
  if (note != server.notes.end() && !server.deleted.contains(note->first)) {
    response.body = note->second;
  } else {
    response.status = note == server.notes.end() ? 404 : 410;
  }
  co_return response;
}

std::size_t World::publish(std::size_t i, std::vector<std::string> tags) {
  const std::size_t number = posts_.size();
  const std::string base = "https://" + origin_host(i);
  const std::string uri = fmt::format("{}/users/alice/{}", base, number);
  json::array hashtags;
  for (const std::string& tag : tags)
    hashtags.push_back(json::object{{"type", "Hashtag"}, {"name", "#" + tag}});
  const json::object note = {{"id", uri},
                             {"type", "Note"},
                             {"attributedTo", base + "/users/alice"},
                             {"to", "https://www.w3.org/ns/activitystreams#Public"},
                             {"published", to_rfc3339(loop.wall_now())},
                             {"tag", std::move(hashtags)}};
  origin(i).notes[uri] = json::serialize(note);
  const json::object create = {{"@context", "https://www.w3.org/ns/activitystreams"},
                               {"id", uri + "/activity"},
                               {"type", "Create"},
                               {"actor", base + "/users/alice"},
                               {"to", "https://www.w3.org/ns/activitystreams#Public"},
                               {"object", note}};
  posts_.push_back({i, uri, std::move(tags)});
  posts_.back().published = loop.now();
  posts_.back().dated = loop.wall_now();
  loop.spawn(ring_sim::kWorld, deliver_post(i, number, json::serialize(create), false));
  return number;
}

void World::remove(std::size_t number) {
  Post& post = posts_[number];
  post.deletion_sent = true;
  const std::string base = "https://" + origin_host(post.origin);
  origin(post.origin).deleted.insert(post.uri);
  const json::object deletion = {{"@context", "https://www.w3.org/ns/activitystreams"},
                                 {"id", post.uri + "#delete"},
                                 {"type", "Delete"},
                                 {"actor", base + "/users/alice"},
                                 {"to", "https://www.w3.org/ns/activitystreams#Public"},
                                 {"object", json::object{{"id", post.uri}, {"type", "Tombstone"}}}};
  loop.spawn(ring_sim::kWorld, deliver_post(post.origin, number, json::serialize(deletion), true));
}

Task<void> World::deliver_post(std::size_t i, std::size_t number, std::string body, bool deletion) {
  Origin& server = origin(i);
  for (;;) {
    const bool too_early = deletion && !posts_[number].acknowledged;
    if (!too_early && !server.down) {
      HttpCall call("POST", *Url::parse("https://" + node_host(i) + "/inbox"),
                    loop.now() + std::chrono::seconds(5));
      call.headers.add("Content-Type", "application/activity+json");
      call.body = body;
      signatures::sign_call(call, server.key, "https://" + origin_host(i) + "/users/alice#main-key",
                            loop.wall_now());
      const Result<HttpResponse> response = co_await server.http->send(std::move(call));
      if (response && response->status >= 200 && response->status < 300) {
        (deletion ? posts_[number].deleted : posts_[number].acknowledged) = true;
        co_return;
      }
    }
    const Instant next = loop.now() + std::chrono::milliseconds(1500);
    co_await server.clock->sleep_until(next);
  }
}

const crypto::PrivateKey& World::key(std::size_t i) const { return hosts_.at(i)->key; }

Task<bool> World::send_forged(std::size_t from, std::size_t to, std::string target, std::string body) {
  HttpCall call("POST", Url::parse("https://" + node_host(to) + target).value(),
                loop.now() + std::chrono::seconds(20));
  call.headers.add("Content-Type", "application/activity+json");
  call.body = std::move(body);
  signatures::sign_call(call, hosts_.at(from)->key, "https://" + node_host(from) + "/actor#main-key",
                        loop.wall_now());
  SimHttp http(*this, from, HostKind::kNode, ring_sim::kWorld);
  const Result<HttpResponse> response = co_await http.send(std::move(call));
  co_return response && response->status >= 200 && response->status < 300;
}

bool World::forge(std::size_t from, std::size_t to, std::string body) {
  return await(send_forged(from, to, "/inbox", std::move(body)), std::chrono::seconds(30)).value_or(false);
}

void World::forge_later(std::size_t from, std::size_t to, std::string target, std::string body) {
  loop.spawn(ring_sim::kWorld,
             detail::store_result<bool>(send_forged(from, to, std::move(target), std::move(body)),
                                        std::make_shared<std::optional<bool>>()));
}

// --- servers without nodes ---------------------------------------------------------------------------------

std::string World::add_bystander() {
  const std::string host = "bystander.example";
  names_[host] = {kBystander, HostKind::kBystander};
  return host;
}

std::size_t World::add_endpoint() {
  const std::size_t number = kFirstEndpoint + endpoints_.size();
  const std::string host = fmt::format("tags.s{}.example", number);
  names_[host] = {number, HostKind::kSubscriber};
  const std::string seed = fmt::format("{:032}", 2'000'000 + number);
  endpoints_.emplace(number, Endpoint("https://" + host, crypto::PrivateKey::ed25519_from_seed(seed)));
  return number;
}

Task<bool> World::follow(std::size_t endpoint, std::size_t owner, std::string tag) {
  Endpoint& subscriber = endpoints_.at(endpoint);
  SimHttp http(*this, endpoint, HostKind::kSubscriber, ring_sim::kWorld);
  HttpCall call = subscriber.follow("https://" + node_host(owner), tag, loop.now(), loop.wall_now());
  const Result<HttpResponse> response = co_await http.send(std::move(call));
  co_return response && response->status == 200 && response->body.contains("\"refused\":[]");
}

// --- machines ----------------------------------------------------------------------------------------------

Disk& World::disk(std::size_t i) { return hosts_.at(i)->disk; }

void World::set_clock(std::size_t i, Duration skew) {
  Host& host = *hosts_.at(i);
  host.skew = skew;
  if (host.run) host.run->clock->set_skew(skew);
}

storage::HistoryStore& World::history_store(std::size_t i) { return hosts_.at(i)->run->stores->history; }

relay::Store& World::relay_store(std::size_t i) { return hosts_.at(i)->run->stores->relay; }

}  // namespace tagring::sim
