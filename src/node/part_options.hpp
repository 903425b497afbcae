// What the parts of a node are told of its configuration.
#pragma once

#include <optional>

#include "fediverse/fasp.hpp"
#include "fediverse/signature.hpp"
#include "node/balancer.hpp"
#include "node/config.hpp"
#include "node/identity.hpp"
#include "node/node.hpp"
#include "node/retention.hpp"
#include "node/ring_service.hpp"
#include "node/storage_sets.hpp"
#include "node/tag_sources.hpp"
#include "relay/lanes.hpp"

namespace tagring::node {

// Where the node stood, of the places that it may have.
std::optional<Places> saved_places(const Config& config, const Environment& world);
Balancer::Options balancer_options(const Config& config);
StorageSets::Options storage_options(const Config& config);
RingService::Options ring_options(const Config& config, std::uint64_t incarnation, const Environment& world);
fediverse::SignaturePolicy signature_policy(const Identity& identity);
relay::LaneOptions lane_options();
Retention::Options retention_options(const Config& config);
fediverse::FaspProvider fasp_provider(const Config& config);
TagSources::Options tag_options(const Config& config, const Environment& world);

}  // namespace tagring::node
