// What the parts of a node are told of its configuration.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "budget/manager.hpp"
#include "config/config.hpp"
#include "federation/identity.hpp"
#include "fediverse/fasp.hpp"
#include "instances/instances.hpp"
#include "instances/moderation.hpp"
#include "instances/tag_sources.hpp"
#include "node/environment.hpp"
#include "overlay/balancer.hpp"
#include "overlay/ring_service.hpp"
#include "overlay/stored_load.hpp"
#include "queues/delivery_queues.hpp"
#include "signatures/signature.hpp"
#include "storage/retention.hpp"
#include "storage/storage_redundancy.hpp"

namespace tagring::node {

// Where the node stood, of the places that it may have.
std::optional<overlay::Places> saved_places(const config::Config& config, const Environment& world);
overlay::Balancer::Options balancer_options(const config::Config& config);
// `history` outlives what is made with it.
storage::StorageRedundancy::Options storage_options(const config::Config& config,
                                                    const overlay::StoredLoad& history);
overlay::RingService::Options ring_options(const config::Config& config, std::uint64_t incarnation,
                                           const Environment& world);
// Servers of the node's own, for budget::Manager: its instances, and what it was before, which hears of many
// followers at once.
std::vector<std::string> own_hosts(const config::Config& config);
signatures::SignaturePolicy signature_policy(const federation::Identity& identity);
queues::QueueOptions queue_options(const config::Config& config, const Bounds& bounds);
instances::Instances::Options instance_options(const config::Config& config, budget::Manager& budget);
instances::Moderation::Options moderation_options(const config::Config& config, budget::Manager& budget);
storage::Retention::Options retention_options(const config::Config& config, const Environment& world);
fediverse::FaspProvider fasp_provider(const config::Config& config);
instances::TagSources::Options tag_options(const config::Config& config, const Environment& world);

}  // namespace tagring::node
