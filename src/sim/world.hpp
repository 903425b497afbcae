// A virtual internet with whole nodes on it: the node code that ships, on virtual time, names, certificates,
// connections and disks. Beside the nodes there are origin servers, which publish posts as instances do.
//
// Faults: messages are lost or late, hosts crash and come back with what their disk had synced, the network
// parts. The same seed gives the same run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "config/config.hpp"
#include "db/stores.hpp"
#include "delivery/store.hpp"
#include "node/environment.hpp"
#include "node/node.hpp"
#include "ring/contact.hpp"
#include "ring_sim/loop.hpp"
#include "ring_sim/world.hpp"
#include "sim/disk.hpp"
#include "sim/droppers.hpp"
#include "sim/endpoint.hpp"
#include "sim/people.hpp"
#include "storage/history.hpp"

namespace tagring::sim {

struct WorldOptions {
  unsigned vservers = 2;
  unsigned relay_replicas = 2;
  unsigned storage_replicas = 4;
  Duration stabilise = std::chrono::seconds(2);
  Duration reconcile = std::chrono::minutes(30);
  std::uint32_t deliveries_per_second = 400'000;    // that a relay may send
  std::uint32_t cooldown_seconds = 60;              // before a set of relays is halved
  std::uint32_t storage_cooldown_seconds = 86'400;  // the same of storage owners
  unsigned hashtag_share = 10;                      // percent of a node's storage_capacity
  std::uint32_t posts_an_hour = 60;                 // of one author under one hashtag
  std::size_t first_of_hoster = SIZE_MAX;           // from this node on they all stand in one /64
  // From this node on they begin a network of their own unless the others answer, of whom each knows node 0.
  // The others know this node.
  std::size_t first_of_second_network = SIZE_MAX;
  // Nodes choose and change their places on the rings.
  bool balance = false;
  ring::IdRules ids{.kappa = 8};
  Duration balance_every = std::chrono::seconds(60);
  std::uint64_t history_bytes = 1ULL << 40U;
  std::function<std::uint64_t(std::size_t node)> storage_capacity = [](std::size_t) {
    return std::uint64_t{1} << 30U;
  };
  // Posts that a node acknowledges and drops: as an owner of storage, and as a relay.
  Drops drops_stored = nullptr;
  Drops drops_relayed = nullptr;
  // What a node writes into its history in place of that: see ForgingHistory.
  Forges forges_stored = nullptr;
  // What a node answers in place of the program, to a request that it lies about: its node, and the request.
  std::function<std::optional<HttpResponse>(std::size_t node, const HttpRequest& request)> lie = nullptr;
  // Sees each request that reaches a node that runs.
  std::function<void(std::size_t node, const HttpRequest& request)> onlooker = nullptr;
  unsigned configured_nodes = 3;               // that each knows from the start: the first ones
  Duration database_pause = Duration::zero();  // at most, that a caller waits for the database
  node::Bounds bounds = {};
  // Takes what the nodes say, line by line, with the seconds since the world began and the number of the
  // node: "at=12.345 node=3 time=… level=…", where the time is what its own clock shows. None: they say
  // nothing.
  std::function<void(const std::string& line)> log = nullptr;
};

// For WorldOptions::log.
void to_stderr(const std::string& line);

// What runs on a machine: a node, the instance whose posts it takes, an Endpoint, a server of People, or
// nothing of all that.
enum class HostKind : std::uint8_t { kNode, kInstance, kSubscriber, kBystander, kPeople };

class World {
 public:
  World(std::uint64_t seed, WorldOptions options);
  ~World();

  // --- nodes ------------------------------------------------------------------------------------------
  // Node i is tags.n<i>.example; its instance, whose posts it takes, is n<i>.example.
  // If it cannot, because of its disk, it tries again until it can.
  void start_node(std::size_t i);
  // The machine stops at once; its disk keeps what was synced.
  void crash_node(std::size_t i);
  // The node hands over what it owns, leaves both rings, and its machine is switched off for good. False if
  // that took more than ten minutes.
  bool leave_node(std::size_t i);
  [[nodiscard]] bool is_up(std::size_t i) const;
  // Up, and no longer opening its database: there is a node().
  [[nodiscard]] bool is_running(std::size_t i) const { return running(i) != nullptr; }
  [[nodiscard]] node::Node& node(std::size_t i);
  [[nodiscard]] std::vector<std::size_t> up() const;
  // Groups that cannot talk to each other; node and instance i are in parts[i]. Empty heals.
  void partition(std::map<std::size_t, int> parts) { parts_ = std::move(parts); }
  // What machines of the first set send to those of the second is lost, but not the other way round. Empty
  // heals.
  void cut(std::set<std::size_t> from, std::set<std::size_t> to) { cut_ = {std::move(from), std::move(to)}; }
  // The instance of node i is down: it answers 503 and publishes when it is up again.
  void set_instance_down(std::size_t i, bool down);
  // Whoever fetches something of it waits for so long.
  void set_instance_late(std::size_t i, Duration late);
  // Whether its author wishes to be kept in the archive, says its profile.
  void set_indexable(std::size_t i, bool indexable);
  // It stops at once: it has heard no answer to what it was just sending, and nobody reaches it until it is
  // set_instance_down(i, false).
  void crash_instance(std::size_t i);
  // Checks both rings after every event, from now on.
  void watch();
  // Whether what happens from now on is inside the assumptions of RingWatch; only after watch().
  void set_inside(bool inside);
  // The first broken invariant that watch() has seen, with the ring's name.
  [[nodiscard]] std::optional<std::string> broken() const;
  // How often a ring was checked.
  [[nodiscard]] std::uint64_t checks() const;
  // Inside the assumptions of RingWatch; only after watch().
  [[nodiscard]] bool may_crash(std::size_t i) const;
  // Every node is a member of both rings and serves all it owns; every key has exactly one serving owner.
  [[nodiscard]] bool is_settled() { return unsettled().empty(); }
  // Settled, and nothing waits to be sent anywhere.
  [[nodiscard]] bool is_quiet() { return unrest().empty(); }
  // Why it is not settled, in words for people; empty if it is.
  [[nodiscard]] std::string unsettled() { return unsettled(up()); }
  // The same of these nodes only.
  [[nodiscard]] std::string unsettled(const std::vector<std::size_t>& among);
  // Which ring has pointers that are not yet what they stay when nothing happens any more; empty if none has.
  [[nodiscard]] std::string unideal() const;
  [[nodiscard]] std::string unrest();
  // The most relays of any hashtag, as far as any node knows; not fewer than there are at rest.
  [[nodiscard]] unsigned relays();

  // --- people -----------------------------------------------------------------------------------------
  struct Post {
    std::size_t origin = 0;
    std::string uri;
    std::vector<std::string> tags;
    bool acknowledged = false;
    bool deleted = false;  // and the deletion acknowledged
    bool deletion_sent = false;
    Instant published{};
    WallTime dated{};  // as its note says
    // Hashtags that it had and has no more, edited or deleted, and when its author wished so.
    std::map<std::string, Instant> left = {};
    // Those that it has had twice, and since when it has, or had, them again.
    std::map<std::string, Instant> back = {};
    // What its instance has to say of it, and how much of that the node has taken, in order.
    unsigned said = 0;
    unsigned taken = 0;

    [[nodiscard]] bool was_under(const std::string& tag) const;
    [[nodiscard]] bool is_under(const std::string& tag) const {
      return was_under(tag) && !left.contains(tag);
    }
    // It is not under the hashtag, or was not for a while.
    [[nodiscard]] bool was_without(const std::string& tag) const {
      return left.contains(tag) || back.contains(tag);
    }
  };
  // The instance of node i publishes; `done` runs when the node has answered 2xx. Failures are retried for
  // ever, as servers do.
  std::size_t publish(std::size_t i, std::vector<std::string> tags);
  void remove(std::size_t post);
  // The author changes the hashtags of a post, with which one that has left it may come back.
  void edit(std::size_t post, std::vector<std::string> tags);
  [[nodiscard]] const std::vector<Post>& posts() const { return posts_; }

  // How many documents were fetched from the instance of each node.
  [[nodiscard]] const std::map<std::size_t, std::uint64_t>& fetches() const { return fetches_; }

  // Another subscriber that is no node. Its number is its own.
  std::size_t add_endpoint();
  // It follows a hashtag at that node. True if the node has taken it.
  [[nodiscard]] Task<bool> follow(std::size_t endpoint, std::size_t owner, std::string tag);
  [[nodiscard]] const std::map<std::size_t, Endpoint>& endpoints() const { return endpoints_; }

  // A server of people. Its number is its own.
  std::size_t add_people(bool shares_inbox);
  // Somebody there wants to follow the actor of a hashtag at a node, or does not any more, and the server
  // says so until the node has taken it.
  void wish(std::size_t server, const People::Subject& subject, bool follows);
  void set_people_down(std::size_t server, bool down) { people_.at(server).set_down(down); }
  // The server is told that, as if by a node.
  void forge_to_people(std::size_t server, std::string body);
  [[nodiscard]] const std::map<std::size_t, People>& people() const { return people_; }

  // A server that takes no part: it answers 404 to everything. Its host name.
  std::string add_bystander();
  // How many requests of each machine have reached it.
  [[nodiscard]] const std::map<std::size_t, std::uint64_t>& asked_of_bystander() const {
    return asked_of_bystander_;
  }

  // The key with which node i signs.
  [[nodiscard]] const crypto::PrivateKey& key(std::size_t i) const;
  // Delivers an activity in the name of node `from`, of which that node knows nothing: afterwards the two
  // disagree, as they do when one of them has restored a backup. False unless it was taken.
  bool forge(std::size_t from, std::size_t to, std::string body);
  // The same of any request; nobody waits for the answer.
  void forge_later(std::size_t from, std::size_t to, std::string target, std::string body);

  // Lets time pass until `done`, at most `limit`. Whether it was.
  template <class Done>
  bool run_until(Duration limit, Done done) {
    const Instant end = loop.now() + limit;
    while (loop.now() < end && !done()) loop.run_for(std::chrono::milliseconds(500));
    return done();
  }
  // Runs a coroutine on behalf of the world and waits for it, letting time pass; nothing after `limit`.
  template <class T>
  std::optional<T> await(Task<T> task, Duration limit) {
    return loop.await(ring_sim::kWorld, std::move(task), limit);
  }
  // The same of what node i does, which ends with it.
  template <class T>
  std::optional<T> await_on(std::size_t i, Task<T> task, Duration limit) {
    return loop.await(owner_of(i), std::move(task), limit);
  }
  // The tag's whole history read page by page through node i; nothing if a page failed.
  std::optional<std::vector<storage::HistoryEntry>> history(std::size_t i, const std::string& tag,
                                                            std::size_t page_size);
  // The disk of node i.
  [[nodiscard]] Disk& disk(std::size_t i);
  // The node's wall clock is wrong by that much, from now on and after a restart.
  void set_clock(std::size_t i, Duration skew);
  // The history on the disk of node i, to look at and to tamper with.
  [[nodiscard]] storage::HistoryStore& history_store(std::size_t i);
  // What it keeps as a publisher, relay and subscriber.
  [[nodiscard]] delivery::Store& relay_store(std::size_t i);
  [[nodiscard]] static std::string node_origin(std::size_t i);
  [[nodiscard]] static std::string author_of(std::size_t i);
  // What node i has received or relayed under a tag, in order; nothing if its disk cannot be read now.
  std::optional<std::vector<delivery::TagEvent>> told(std::size_t i, const std::string& tag);
  // What that comes to: every live post once, removed ones not.
  std::multiset<std::string> feed(std::size_t i, const std::string& tag);
  // The same with what it was told of each post.
  std::vector<delivery::TagEvent> feed_events(std::size_t i, const std::string& tag);

  ring_sim::Loop loop;
  ring_sim::NetworkFaults faults;
  std::uint64_t messages = 0;

 private:
  class SimHttp;
  struct Host;
  struct Origin;
  [[nodiscard]] ring_sim::OwnerId owner_of(std::size_t i) const;
  config::Config config_of(std::size_t i) const;
  [[nodiscard]] std::unique_ptr<Log> log_of(std::size_t i, const Clock& clock) const;
  [[nodiscard]] IpAddress address_of(std::size_t i, HostKind kind) const;
  Task<Result<void>> boot(std::size_t i);
  Task<void> boot_or_restart(std::size_t i);
  Task<bool> send_forged(std::size_t from, std::size_t to, std::string target, std::string body);
  Task<void> deliver_post(std::size_t post, unsigned turn, std::string body, bool deletion);
  Task<void> deliver_wish(std::size_t server, People::Subject subject, unsigned turn, std::string body);
  void say(std::size_t post, std::string body, bool deletion = false);
  Task<HttpResponse> origin_answer(std::size_t i, HttpRequest request);
  Origin& origin(std::size_t i);
  // Nothing if the node is down, or still starting.
  [[nodiscard]] node::Node* running(std::size_t i) const;
  [[nodiscard]] ring_sim::RingView view(Ring ring) const;
  void check_after_event();
  Duration delay();
  // A connection, with what was on it.
  bool breaks();
  bool passes(std::optional<std::size_t> from, std::optional<std::size_t> to);

  Rng rng_;
  const WorldOptions options_;
  Workers workers_;
  ring_sim::OwnerId last_owner_ = 0;
  std::map<std::size_t, std::unique_ptr<Host>> hosts_;
  std::map<std::size_t, std::unique_ptr<Origin>> origins_;
  static constexpr std::size_t kFirstEndpoint = 10'000;
  static constexpr std::size_t kFirstPeople = 20'000;
  static constexpr std::size_t kBystander = 9'999;
  std::map<std::size_t, Endpoint> endpoints_;
  std::map<std::size_t, People> people_;
  std::map<std::string, std::pair<std::size_t, HostKind>> names_;  // by host name
  std::map<std::size_t, std::uint64_t> asked_of_bystander_;
  std::map<std::size_t, std::uint64_t> fetches_;
  std::vector<Post> posts_;
  std::map<std::size_t, int> parts_;
  std::pair<std::set<std::size_t>, std::set<std::size_t>> cut_;
  std::map<ring_sim::OwnerId, std::size_t> host_of_owner_;
  std::map<Ring, ring_sim::RingWatch> watches_;
};

// What is left of what was told of posts: an Add too many is left when its removal has come.
std::vector<delivery::TagEvent> living_of(const std::vector<delivery::TagEvent>& told);

}  // namespace tagring::sim
