// Configuration of a node: one struct, one parser (TOML). Unknown keys and contradictions are errors that
// name the key. docs/config.md explains every key; a test holds the two together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "administrators/administrator.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "budget/manager.hpp"
#include "http/ip.hpp"
#include "proxies/networks.hpp"
#include "ring/contact.hpp"

namespace tagring::config {

// How many deliveries a second its cores sign and send.
std::uint32_t deliveries_of_this_machine();

struct Config {
  // [node]
  std::string host;                     // public host name, what certificates and IDs are about
  std::uint16_t port = 443;             // public port
  IpAddress address;                    // public address: its /64 is part of the node's IDs
  std::string contact;                  // an e-mail address that is shown to everybody; may be empty
  std::string moved_from;               // origin of the node that this one goes on for; may be empty
  std::filesystem::path data = "data";  // directory for the database and the control socket
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kLogfmt;
  std::filesystem::path admin_token_file;           // empty: the control socket is the only way in
  std::vector<administrators::Token> admin_tokens;  // what the file holds; load() fills it in

  // [listen]
  std::optional<IpAddress> listen_address;  // default: `address`
  std::uint16_t listen_port = 0;            // default: `port`
  std::filesystem::path certificate;
  std::filesystem::path key;
  std::filesystem::path listen_socket;  // a Unix socket for a proxy on this machine; empty: none
  proxies::Networks trusted_proxies;    // believed whom they bring requests of
  bool proxy_protocol = false;          // connections of theirs begin with a PROXY header

  // [metrics]
  IpAddress metrics_address = IpAddress::from_v4({127, 0, 0, 1});
  std::uint16_t metrics_port = 0;       // 0: /metrics is not served by itself
  std::uint16_t metrics_core_port = 0;  // of a core, in its place; 0: that of all

  // [database]
  std::string postgres;  // a connection string of libpq; empty: SQLite, in `data`
  bool standby = false;  // a second process waits beside the one that runs, and takes over

  // [ring]
  std::string network = "tagring";         // nodes of other networks are strangers
  ring::IdRules ids;                       // also part of the network's agreement
  unsigned vservers = 4;                   // on each ring at the start, 1…64
  std::vector<std::string> bootstrap;      // origins of nodes, or of instances whose NodeInfo names one
  std::vector<std::string> bootstrap_srv;  // domains whose SRV records name nodes
  bool create = false;                     // start a new network if no bootstrap node answers
  unsigned relay_replicas = 2;             // powers of two, part of the network's agreement
  unsigned storage_replicas = 4;
  Duration stabilise = std::chrono::seconds(5);
  Duration reconcile = std::chrono::minutes(30);
  bool secure_lookups = true;  // owners are looked up along several paths (docs/attacks.md)

  // [relay]
  // What one relay may send: one post to one follower is a delivery.
  std::uint32_t deliveries_per_second = deliveries_of_this_machine();
  std::uint32_t cooldown_seconds = 60;  // of a set of relays, before it is halved

  // [balance]
  bool balance = true;                              // choose and change places on the rings (paper §6.2)
  std::uint64_t relay_capacity = 1 << 20;           // bytes a second to subscribers
  std::uint64_t storage_capacity = 5'000'000'000;   // bytes of history
  unsigned hashtag_share = 10;                      // percent of storage_capacity that one hashtag may take
  std::uint32_t storage_cooldown_seconds = 86'400;  // of a set of storage owners, before it is halved
  unsigned balance_upper = 99;                      // percent of a capacity above which a node is overloaded
  unsigned balance_lower = 90;                      // below which it takes more
  unsigned balance_epsilon = 50;                    // percent: what a move must gain for what it carries
  unsigned balance_relief =
      60;  // percent of what a move carries that must have been above someone's capacity
  Duration balance_every = std::chrono::hours(1);
  Duration balance_patience = std::chrono::hours(6);
  std::uint64_t balance_rate = 1 << 20;  // bytes a second that moves carry, over time

  // [storage]
  std::uint32_t keep_days = 365;    // younger posts go only if nothing else makes room
  std::uint64_t history_bytes = 0;  // 0: twice storage_capacity

  // [publish]
  std::vector<std::string>
      instances;  // hosts that may use the node as a relay; default: the registrable domain and what is below
  bool open = false;    // so may all others, without being asked for
  bool people = false;  // people who follow the node's actor may publish
  std::uint32_t tags_per_instance = 1000;
  std::uint32_t hashtags_of_a_post = 30;
  std::uint32_t posts_an_hour = 60;  // of one author under one hashtag
  bool boost_own_posts = false;      // to who follows a hashtag on the server that a post comes from
  bool archive_all = false;          // of authors, too, who do not say `indexable`
  std::uint32_t replay_max_age_days = 90;
  std::uint32_t replay_max_posts = 5000;
  std::filesystem::path followed_tags_tokens;  // instances/tag_tokens.hpp
  std::string mastodon_database_host;          // whose database it is
  std::string mastodon_database_dsn;
  std::uint32_t tag_poll_minutes = 10;

  // [followers]
  bool followers_sync = true;                  // FEP-8fcf, both ends (docs/followers.md)
  bool followers_require_coverage = true;      // believe only headers that are signed
  std::uint32_t followers_grace_minutes = 10;  // younger follows are not removed
  // Why followers_sync is off although it was not turned off; empty if nothing is in the way.
  std::string followers_conflict;

  // [fasp] (docs/fasp.md)
  std::string fasp_privacy_policy;  // what servers are told; both may be empty
  std::string fasp_contact_email;

  // [budget]: what others may cost this node
  budget::Budgets budgets = budget::default_budgets();

  // [network]
  bool allow_private_addresses = false;                 // for tests and for networks of one's own
  std::optional<IpAddress> source;                      // that connections come from
  std::filesystem::path ca_file;                        // trusted besides the system's
  std::map<std::string, std::vector<IpAddress>> hosts;  // names that are not looked up

  [[nodiscard]] std::uint64_t room_for_history() const {  // bytes
    return history_bytes == 0 ? 2 * storage_capacity : history_bytes;
  }
  [[nodiscard]] std::string origin() const;  // "https://host[:port]"
  // A proxy speaks TLS with the world, and plain HTTP with the node.
  [[nodiscard]] bool is_plain() const { return certificate.empty(); }
  [[nodiscard]] std::uint16_t port_of_cores_metrics() const {
    return metrics_core_port != 0 ? metrics_core_port : metrics_port;
  }
  // Others are named to find the network through.
  [[nodiscard]] bool has_bootstrap() const { return !bootstrap.empty() || !bootstrap_srv.empty(); }

  // kInvalid with the offending key and what to do about it. Relative paths are relative to `directory`.
  static Result<Config> parse(std::string_view toml, const std::filesystem::path& directory);
  // The same, and reads admin_token_file, which only its owner may read.
  static Result<Config> load(const std::filesystem::path& file);
  // The folder `data` that a file names, whatever else may be wrong with it: a node that runs has been
  // started with what it was before.
  static Result<std::filesystem::path> data_in(const std::filesystem::path& file);
};

// The host name of an instance, in its one spelling, of what people write for it: also its URL. kInvalid for
// what is none, and for public suffixes, below which everybody has a name.
Result<std::string> instance_name(std::string_view text);

// Every key that the parser knows, sorted: "node.host", "ring.network", …
std::vector<std::string> config_keys();

// Whether a text is a connection string of PostgreSQL, a URL or "key=value …", and not the path of a file.
bool names_postgres(std::string_view text);

}  // namespace tagring::config
