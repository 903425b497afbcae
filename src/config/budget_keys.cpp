#include "config/budget_keys.hpp"

#include <string_view>
#include <utility>

namespace tagring::config {
namespace {

using budget::Limit;
using budget::Resource;

struct BudgetKey {
  std::string_view name;
  budget::Resource resource;
  std::uint64_t Limit::* limit;
};

// Of a resource: in all, of each and of a group of these, in that order.
constexpr BudgetKey kBudgetKeys[] = {
    {"connections", Resource::kConnections, &Limit::total},
    {"connections_per_address", Resource::kConnections, &Limit::each},
    {"connections_per_48", Resource::kConnections, &Limit::group},
    {"arrivals_per_address", Resource::kArrivals, &Limit::each},
    {"arrivals_per_48", Resource::kArrivals, &Limit::group},
    {"handshakes", Resource::kHandshakes, &Limit::total},
    {"handshakes_per_address", Resource::kHandshakes, &Limit::each},
    {"handshakes_per_48", Resource::kHandshakes, &Limit::group},
    {"handshakes_in_20_ms", Resource::kBegun, &Limit::total},
    {"body_octets", Resource::kBodies, &Limit::total},
    {"body_octets_per_address", Resource::kBodies, &Limit::each},
    {"body_octets_per_48", Resource::kBodies, &Limit::group},
    {"loop_us", Resource::kLoop, &Limit::total},
    {"loop_us_per_address", Resource::kLoop, &Limit::each},
    {"loop_us_per_48", Resource::kLoop, &Limit::group},
    {"database_us", Resource::kDatabase, &Limit::total},
    {"database_us_per_address", Resource::kDatabase, &Limit::each},
    {"database_us_per_48", Resource::kDatabase, &Limit::group},
    {"reads", Resource::kReads, &Limit::total},
    {"reads_per_address", Resource::kReads, &Limit::each},
    {"reads_per_48", Resource::kReads, &Limit::group},
    {"streams", Resource::kStreams, &Limit::total},
    {"streams_per_address", Resource::kStreams, &Limit::each},
    {"streams_per_48", Resource::kStreams, &Limit::group},
    {"stream_tags", Resource::kStreamTags, &Limit::total},
    {"stream_tags_per_address", Resource::kStreamTags, &Limit::each},
    {"stream_tags_per_48", Resource::kStreamTags, &Limit::group},
    {"look_ups", Resource::kLookUps, &Limit::total},
    {"look_ups_per_address", Resource::kLookUps, &Limit::each},
    {"look_ups_per_48", Resource::kLookUps, &Limit::group},
    {"claims", Resource::kClaims, &Limit::total},
    {"claims_per_host", Resource::kClaims, &Limit::each},
    {"claims_per_domain", Resource::kClaims, &Limit::group},
    {"proofs", Resource::kProofs, &Limit::total},
    {"proofs_per_address", Resource::kProofs, &Limit::each},
    {"proofs_per_48", Resource::kProofs, &Limit::group},
    {"ways", Resource::kWays, &Limit::total},
    {"ways_per_address", Resource::kWays, &Limit::each},
    {"ways_per_48", Resource::kWays, &Limit::group},
    {"guesses", Resource::kGuesses, &Limit::total},
    {"guesses_per_address", Resource::kGuesses, &Limit::each},
    {"guesses_per_48", Resource::kGuesses, &Limit::group},
    {"calls", Resource::kCalls, &Limit::total},
    {"calls_per_address", Resource::kCalls, &Limit::each},
    {"calls_per_48", Resource::kCalls, &Limit::group},
    {"key_fetches_a_minute", Resource::kKeyFetches, &Limit::total},
    {"key_fetches_per_address", Resource::kKeyFetches, &Limit::each},
    {"key_fetches_per_48", Resource::kKeyFetches, &Limit::group},
    {"key_requests_a_minute", Resource::kKeyHosts, &Limit::total},
    {"key_requests_per_host", Resource::kKeyHosts, &Limit::each},
    {"key_requests_per_domain", Resource::kKeyHosts, &Limit::group},
    {"checks", Resource::kChecks, &Limit::total},
    {"checks_per_host", Resource::kChecks, &Limit::each},
    {"checks_per_domain", Resource::kChecks, &Limit::group},
    {"vain_checks_per_domain", Resource::kVainChecks, &Limit::group},
    {"events_an_hour_per_domain", Resource::kEvents, &Limit::group},
    {"names", Resource::kNames, &Limit::total},
    {"names_per_host", Resource::kNames, &Limit::each},
    {"names_per_domain", Resource::kNames, &Limit::group},
    {"ring_names", Resource::kRingNames, &Limit::total},
    {"ring_names_per_host", Resource::kRingNames, &Limit::each},
    {"ring_names_per_domain", Resource::kRingNames, &Limit::group},
    {"waiting", Resource::kWaiting, &Limit::total},
    {"waiting_per_domain", Resource::kWaiting, &Limit::group},
    {"letters", Resource::kLetters, &Limit::total},
    {"letters_per_domain", Resource::kLetters, &Limit::group},
    {"wanted", Resource::kWanted, &Limit::total},
    {"wanted_per_domain", Resource::kWanted, &Limit::group},
    {"reports", Resource::kReports, &Limit::total},
    {"reports_per_domain", Resource::kReports, &Limit::group},
    {"links", Resource::kLinks, &Limit::total},
    {"links_per_domain", Resource::kLinks, &Limit::group},
    {"author_blocks", Resource::kAuthorBlocks, &Limit::total},
    {"author_blocks_per_domain", Resource::kAuthorBlocks, &Limit::group},
    {"follow_note_octets", Resource::kFollowNotes, &Limit::total},
    {"follow_note_octets_per_domain", Resource::kFollowNotes, &Limit::group},
    {"reader_requests", Resource::kReaderAsks, &Limit::total},
    {"reader_requests_per_address", Resource::kReaderAsks, &Limit::each},
    {"reader_requests_per_48", Resource::kReaderAsks, &Limit::group},
    {"reader_requests_to_hosts", Resource::kReaderHosts, &Limit::total},
    {"reader_requests_per_host", Resource::kReaderHosts, &Limit::each},
    {"reader_requests_per_domain", Resource::kReaderHosts, &Limit::group},
    {"node_follows", Resource::kNodeFollows, &Limit::total},
    {"node_follows_per_domain", Resource::kNodeFollows, &Limit::group},
};

}  // namespace

std::map<std::string, std::uint64_t*> budget_keys(budget::Budgets& budgets) {
  std::map<std::string, std::uint64_t*> keys;
  for (const BudgetKey& key : kBudgetKeys)
    keys.emplace("budget." + std::string(key.name),
                 &(budgets.at(static_cast<std::size_t>(key.resource)).*key.limit));
  return keys;
}

std::string_view word_on_gone_key(std::string_view key) {
  static constexpr std::pair<std::string_view, std::string_view> kGone[] = {
      {"budget.arrivals",
       "there is no such key any more, take it out; budget.handshakes_in_20_ms has taken its place "
       "(docs/config.md)"}};
  for (const auto& [name, word] : kGone)
    if (name == key) return word;
  return {};
}

}  // namespace tagring::config
