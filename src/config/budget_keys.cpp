#include "config/budget_keys.hpp"

namespace tagring::config {

// Of a resource: in all, of each and of a group of these, in that order.
std::map<std::string, std::uint64_t*> budget_keys(budget::Budgets& budgets) {
  using budget::Resource;
  const auto of = [&budgets](Resource resource) -> budget::Limit& {
    return budgets.at(static_cast<std::size_t>(resource));
  };
  return {
      {"budget.connections", &of(Resource::kConnections).total},
      {"budget.connections_per_address", &of(Resource::kConnections).each},
      {"budget.connections_per_48", &of(Resource::kConnections).group},
      {"budget.arrivals_per_address", &of(Resource::kArrivals).each},
      {"budget.arrivals_per_48", &of(Resource::kArrivals).group},
      {"budget.handshakes", &of(Resource::kHandshakes).total},
      {"budget.handshakes_per_address", &of(Resource::kHandshakes).each},
      {"budget.handshakes_per_48", &of(Resource::kHandshakes).group},
      {"budget.handshakes_in_20_ms", &of(Resource::kBegun).total},
      {"budget.body_octets", &of(Resource::kBodies).total},
      {"budget.body_octets_per_address", &of(Resource::kBodies).each},
      {"budget.body_octets_per_48", &of(Resource::kBodies).group},
      {"budget.loop_us", &of(Resource::kLoop).total},
      {"budget.loop_us_per_address", &of(Resource::kLoop).each},
      {"budget.loop_us_per_48", &of(Resource::kLoop).group},
      {"budget.database_us", &of(Resource::kDatabase).total},
      {"budget.database_us_per_address", &of(Resource::kDatabase).each},
      {"budget.database_us_per_48", &of(Resource::kDatabase).group},
      {"budget.reads", &of(Resource::kReads).total},
      {"budget.reads_per_address", &of(Resource::kReads).each},
      {"budget.reads_per_48", &of(Resource::kReads).group},
      {"budget.streams", &of(Resource::kStreams).total},
      {"budget.streams_per_address", &of(Resource::kStreams).each},
      {"budget.streams_per_48", &of(Resource::kStreams).group},
      {"budget.stream_tags", &of(Resource::kStreamTags).total},
      {"budget.stream_tags_per_address", &of(Resource::kStreamTags).each},
      {"budget.stream_tags_per_48", &of(Resource::kStreamTags).group},
      {"budget.look_ups", &of(Resource::kLookUps).total},
      {"budget.look_ups_per_address", &of(Resource::kLookUps).each},
      {"budget.look_ups_per_48", &of(Resource::kLookUps).group},
      {"budget.key_fetches_a_minute", &of(Resource::kKeyFetches).total},
      {"budget.key_fetches_per_address", &of(Resource::kKeyFetches).each},
      {"budget.key_fetches_per_48", &of(Resource::kKeyFetches).group},
      {"budget.key_requests_a_minute", &of(Resource::kKeyHosts).total},
      {"budget.key_requests_per_host", &of(Resource::kKeyHosts).each},
      {"budget.key_requests_per_domain", &of(Resource::kKeyHosts).group},
      {"budget.checks_per_host", &of(Resource::kChecks).each},
      {"budget.checks_per_domain", &of(Resource::kChecks).group},
      {"budget.vain_checks_per_domain", &of(Resource::kVainChecks).group},
      {"budget.events_an_hour_per_domain", &of(Resource::kEvents).group},
      {"budget.waiting", &of(Resource::kWaiting).total},
      {"budget.waiting_per_domain", &of(Resource::kWaiting).group},
      {"budget.letters", &of(Resource::kLetters).total},
      {"budget.letters_per_domain", &of(Resource::kLetters).group},
      {"budget.wanted", &of(Resource::kWanted).total},
      {"budget.wanted_per_domain", &of(Resource::kWanted).group},
      {"budget.reports", &of(Resource::kReports).total},
      {"budget.reports_per_domain", &of(Resource::kReports).group},
      {"budget.links", &of(Resource::kLinks).total},
      {"budget.links_per_domain", &of(Resource::kLinks).group},
      {"budget.author_blocks", &of(Resource::kAuthorBlocks).total},
      {"budget.author_blocks_per_domain", &of(Resource::kAuthorBlocks).group},
      {"budget.reader_requests_per_address", &of(Resource::kReaderAsks).each},
      {"budget.reader_requests_per_48", &of(Resource::kReaderAsks).group},
      {"budget.reader_requests_per_host", &of(Resource::kReaderHosts).each},
      {"budget.reader_requests_per_domain", &of(Resource::kReaderHosts).group},
      {"budget.node_follows", &of(Resource::kNodeFollows).total},
      {"budget.node_follows_per_domain", &of(Resource::kNodeFollows).group},
  };
}

}  // namespace tagring::config
