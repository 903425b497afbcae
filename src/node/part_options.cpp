#include "node/part_options.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "health/machine.hpp"
#include "http/url.hpp"
#include "redundancy/storage_place.hpp"
#include "ring/contact.hpp"

namespace tagring::node {
namespace {

// For 2,200 deliveries a second, which are as many as a node's loop makes (docs/scaling.md). Each of them has
// a connection.
constexpr std::size_t kSinglesMax = 1'100;

std::vector<ring::Contact> make_contacts(const config::Config& config, std::uint64_t incarnation) {
  std::vector<ring::Contact> contacts;
  const Result<std::string> domain = ring::registrable_domain(config.host);
  TR_ASSERT(domain);  // Config has checked it
  const unsigned possible = config.balance ? config.ids.kappa : config.vservers;
  for (unsigned vserver = 0; vserver < possible; ++vserver) {
    ring::Contact contact;
    contact.host = config.host;
    contact.port = config.port;
    contact.address = config.address;
    contact.vserver = static_cast<std::uint8_t>(vserver);
    // Room for rejoining without a restart.
    contact.incarnation = incarnation << 16U;
    contact.id = ring::make_node_id(config.ids.scheme, config.address.prefix64(), *domain, contact.vserver);
    contacts.push_back(std::move(contact));
  }
  return contacts;
}

}  // namespace

std::optional<overlay::Places> saved_places(const config::Config& config, const Environment& world) {
  if (!config.balance || !world.places) return std::nullopt;
  std::optional<overlay::Places> places = overlay::Places::parse(*world.places);
  if (!places) return std::nullopt;
  for (overlay::Places::OfRing* of_ring : {&places->relay, &places->storage})
    std::erase_if(of_ring->taken, [&](std::uint8_t number) { return number >= config.ids.kappa; });
  return places;
}

overlay::Balancer::Options balancer_options(const config::Config& config) {
  overlay::Balancer::Options options;
  options.enabled = config.balance;
  options.vservers = config.vservers;
  options.relay_capacity = static_cast<double>(config.relay_capacity);
  options.storage_capacity = static_cast<double>(config.storage_capacity);
  options.relay_replicas = config.relay_replicas;
  options.storage_replicas = redundancy::copies_in_storage(config.storage_replicas);
  options.parameters.upper = config.balance_upper / 100.0;
  options.parameters.lower = config.balance_lower / 100.0;
  options.parameters.overload = 10;
  options.parameters.epsilon = config.balance_epsilon / 100.0;
  options.parameters.relief = config.balance_relief / 100.0;
  options.every = config.balance_every;
  options.patience = config.balance_patience;
  options.bytes_per_second = static_cast<double>(config.balance_rate);
  return options;
}

storage::StorageRedundancy::Options storage_options(const config::Config& config,
                                                    const overlay::StoredLoad& history) {
  storage::StorageRedundancy::Options options;
  options.policy.at_rest = config.storage_replicas;
  // In posts, as other owners count them, and not in this node's bytes: how many these are is measured.
  const double bytes = static_cast<double>(config.storage_capacity) * config.hashtag_share / 100.0;
  options.bearable = [bytes, &history] {
    const double posts = bytes / static_cast<double>(history.bytes_of_entry());
    return std::min(storage::StorageRedundancy::kPartMax, posts * overlay::StoredLoad::kBytesOfEntry);
  };
  options.policy.settle =
      std::min<Duration>(options.policy.settle, std::chrono::seconds(config.storage_cooldown_seconds));
  options.policy.cooldown = std::chrono::seconds(config.storage_cooldown_seconds);
  return options;
}

overlay::RingService::Options ring_options(const config::Config& config, std::uint64_t incarnation,
                                           const Environment& world) {
  overlay::RingService::Options options;
  options.network = config.network;
  options.tuning.ids = config.ids;
  options.tuning.stabilise_every = config.stabilise;
  options.tuning.fix_finger_every = config.stabilise;
  options.tuning.secure_lookups = config.secure_lookups;
  options.membership.join_retry = std::min<Duration>(config.stabilise, std::chrono::seconds(2));
  options.membership.split_check_every = config.stabilise * 12;
  options.contacts = make_contacts(config, incarnation);
  if (config.balance) {
    // A new node begins in one place, and looks from there for the others.
    const std::optional<overlay::Places> places = saved_places(config, world);
    options.relay_places = places ? places->relay.taken : std::vector<std::uint8_t>{0};
    options.storage_places = places ? places->storage.taken : std::vector<std::uint8_t>{0};
  }
  options.bootstrap = config.bootstrap;
  options.bootstrap_srv = config.bootstrap_srv;
  options.services = world.services;
  options.may_create = config.create;
  options.address_book = world.address_book.value_or("");
  options.save_address_book = world.save_address_book;
  return options;
}

std::vector<std::string> own_hosts(const config::Config& config) {
  std::vector<std::string> own = config.instances;
  if (!config.moved_from.empty()) own.push_back(host_of(config.moved_from));
  return own;
}

signatures::SignaturePolicy signature_policy(const federation::Identity& identity) {
  signatures::SignaturePolicy policy;
  policy.authorities = {identity.authority()};
  return policy;
}

// What a node says it can deliver it can only if as much is under way, also to servers that take half a
// second to answer.
queues::QueueOptions queue_options(const config::Config& config, const Bounds& bounds) {
  queues::QueueOptions options;
  options.batch_max = bounds.batch;
  options.gather = Duration(20);
  options.singles_max =
      std::clamp<std::size_t>(config.deliveries_per_second / 2, options.singles_max, kSinglesMax);
  return options;
}

instances::Instances::Options instance_options(const config::Config& config, budget::Manager& budget) {
  return {config.instances, config.open, config.people, config.tags_per_instance, &budget};
}

instances::Moderation::Options moderation_options(const config::Config& config, budget::Manager& budget) {
  return {config.hashtags_of_a_post, config.posts_an_hour, config.host, config.boost_own_posts, &budget};
}

storage::Retention::Options retention_options(const config::Config& config, const Environment& world) {
  storage::Retention::Options options;
  options.bytes_max = config.room_for_history();
  options.keep = std::chrono::days(config.keep_days);
  if (health::Machine* machine = world.machine) options.room = [machine] { return machine->room(); };
  return options;
}

fediverse::FaspProvider fasp_provider(const config::Config& config) {
  fediverse::FaspProvider provider;
  provider.name = "tagring on " + config.host;
  provider.privacy_policy = config.fasp_privacy_policy;
  provider.contact_email = config.fasp_contact_email.empty() ? config.contact : config.fasp_contact_email;
  provider.capabilities = {{"data_sharing", "0.1"}, {"hashtag_subscription", "0.1"}};
  return provider;
}

instances::TagSources::Options tag_options(const config::Config& config, const Environment& world) {
  instances::TagSources::Options options;
  options.tags_max = config.tags_per_instance;
  options.every = std::chrono::minutes(config.tag_poll_minutes);
  options.read_tokens = world.read_tag_tokens;
  if (world.read_followed_tags) options.database_host = config.mastodon_database_host;
  options.database_dsn = config.mastodon_database_dsn;
  options.read_database = world.read_followed_tags;
  return options;
}

}  // namespace tagring::node
