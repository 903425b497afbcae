#include "admin/settings.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "config/budget_keys.hpp"
#include "proxies/networks.hpp"
#include "ring/contact.hpp"

namespace tagring::admin {
namespace {

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr char kDocument[] = {
#embed "../../docs/config.md"
};
#pragma clang diagnostic pop

json::value list(const std::vector<std::string>& texts) { return json::array(texts.begin(), texts.end()); }

json::value texts_of(const proxies::Networks& networks) {
  json::array texts;
  for (const proxies::Network& network : networks) texts.emplace_back(network.text());
  return texts;
}

json::object addresses(const std::map<std::string, std::vector<IpAddress>>& hosts) {
  json::object result;
  for (const auto& [name, all] : hosts) {
    json::array texts;
    for (const IpAddress& address : all) texts.emplace_back(address.text());
    result[name] = std::move(texts);
  }
  return result;
}

std::map<std::string, json::value, std::less<>> balance_values(const config::Config& config) {
  return {
      {"balance.enabled", config.balance},
      {"balance.relay_capacity", config.relay_capacity},
      {"balance.storage_capacity", config.storage_capacity},
      {"balance.hashtag_percent", config.hashtag_share},
      {"balance.cooldown_seconds", config.storage_cooldown_seconds},
      {"balance.upper_percent", config.balance_upper},
      {"balance.lower_percent", config.balance_lower},
      {"balance.epsilon_percent", config.balance_epsilon},
      {"balance.relief_percent", config.balance_relief},
      {"balance.every_ms", config.balance_every.count()},
      {"balance.patience_ms", config.balance_patience.count()},
      {"balance.octets_per_second", config.balance_rate},
  };
}

std::map<std::string, json::value, std::less<>> values(const config::Config& config) {
  std::map<std::string, json::value, std::less<>> all = {
      {"node.host", config.host.c_str()},
      {"node.contact", config.contact.c_str()},
      {"node.moved_from", config.moved_from.c_str()},
      {"node.port", config.port},
      {"node.address", config.address.text().c_str()},
      {"node.data", config.data.c_str()},
      {"node.log_level", name_of(config.log_level)},
      {"node.log_format", name_of(config.log_format)},
      {"node.admin_token_file", config.admin_token_file.c_str()},
      {"listen.address", config.listen_address.value_or(config.address).text().c_str()},
      {"listen.port", config.listen_port},
      {"listen.certificate", config.certificate.c_str()},
      {"listen.key", config.key.c_str()},
      {"listen.socket", config.listen_socket.c_str()},
      {"listen.trusted_proxies", texts_of(config.trusted_proxies)},
      {"listen.proxy_protocol", config.proxy_protocol},
      {"metrics.address", config.metrics_address.text().c_str()},
      {"metrics.port", config.metrics_port},
      {"metrics.core_port", config.metrics_core_port},
      {"database.postgres", config.postgres.empty() ? "" : "set"},
      {"database.standby", config.standby},
      {"ring.network", config.network.c_str()},
      {"ring.id_scheme", json::value(ring::name_of(config.ids.scheme))},
      {"ring.kappa", config.ids.kappa},
      {"ring.vservers", config.vservers},
      {"ring.bootstrap", list(config.bootstrap)},
      {"ring.bootstrap_srv", list(config.bootstrap_srv)},
      {"ring.create", config.create},
      {"ring.relay_replicas", config.relay_replicas},
      {"ring.storage_replicas", config.storage_replicas},
      {"ring.stabilise_ms", config.stabilise.count()},
      {"ring.reconcile_ms", config.reconcile.count()},
      {"ring.secure_lookups", config.secure_lookups},
      {"relay.deliveries_per_second", config.deliveries_per_second},
      {"relay.cooldown_seconds", config.cooldown_seconds},
      {"storage.keep_days", config.keep_days},
      {"storage.max_octets", config.room_for_history()},
      {"publish.instances", list(config.instances)},
      {"publish.hashtags_of_a_post", config.hashtags_of_a_post},
      {"publish.posts_an_hour", config.posts_an_hour},
      {"publish.open", config.open},
      {"publish.people", config.people},
      {"publish.boost_own_posts", config.boost_own_posts},
      {"publish.archive_all", config.archive_all},
      {"publish.tags_per_instance", config.tags_per_instance},
      {"publish.replay_max_age_days", config.replay_max_age_days},
      {"publish.replay_max_posts", config.replay_max_posts},
      {"publish.followed_tags_tokens", config.followed_tags_tokens.c_str()},
      {"publish.mastodon_database", config.mastodon_database_host.c_str()},
      {"publish.tag_poll_minutes", config.tag_poll_minutes},
      {"followers.sync", config.followers_sync},
      {"followers.require_coverage", config.followers_require_coverage},
      {"followers.grace_minutes", config.followers_grace_minutes},
      {"fasp.privacy_policy", config.fasp_privacy_policy.c_str()},
      {"fasp.contact_email", config.fasp_contact_email.c_str()},
      {"network.allow_private_addresses", config.allow_private_addresses},
      {"network.source", (config.source ? config.source->text() : "").c_str()},
      {"network.ca_file", config.ca_file.c_str()},
      {"network.hosts", addresses(config.hosts)},
  };
  all.merge(balance_values(config));
  auto budgets = config.budgets;
  for (const auto& [key, limit] : config::budget_keys(budgets)) all[key] = *limit;
  return all;
}

std::string_view trim(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" `");
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(" `") + 1 - start);
}

// "| `host` | text | none, required | The public … |" in its cells.
std::array<std::string_view, 4> cells_of(std::string_view row) {
  std::array<std::string_view, 4> cells;
  row.remove_prefix(1);
  for (std::string_view& cell : cells) {
    const std::size_t end = std::min(row.find('|'), row.size());
    cell = row.substr(0, end);
    row.remove_prefix(std::min(end + 1, row.size()));
  }
  return cells;
}

}  // namespace

bool counts_at_once(std::string_view key) {
  // What of these Node::adopt does not carry out, the program does: it has the log and the server.
  static constexpr std::array<std::string_view, 11> kKeys = {"node.log_level",
                                                             "node.admin_token_file",
                                                             "listen.trusted_proxies",
                                                             "listen.certificate",
                                                             "listen.key",
                                                             "publish.instances",
                                                             "publish.open",
                                                             "publish.people",
                                                             "publish.tags_per_instance",
                                                             "publish.hashtags_of_a_post",
                                                             "publish.posts_an_hour"};
  return key.starts_with("budget.") || std::ranges::find(kKeys, key) != kKeys.end();
}

std::vector<std::string> changed_settings(const config::Config& before, const config::Config& after) {
  std::vector<std::string> changed;
  const auto former = values(before);
  for (const auto& [key, value] : values(after))
    if (former.at(key) != value) changed.push_back(key);
  // Shown nowhere, since there may be a password in it.
  if (before.mastodon_database_dsn != after.mastodon_database_dsn &&
      before.mastodon_database_host == after.mastodon_database_host)
    changed.emplace_back("publish.mastodon_database");
  if (before.postgres != after.postgres && before.postgres.empty() == after.postgres.empty())
    changed.emplace_back("database.postgres");
  return changed;
}

json::array describe_settings(const config::Config& config) {
  const auto known = values(config);
  json::array result;
  std::string section;
  std::string_view rest(kDocument, sizeof kDocument);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.starts_with("## [")) section = std::string(line.substr(4, line.find(']') - 4)) + ".";
    if (!line.starts_with("| `")) continue;
    const auto [name, type, otherwise, meaning] = cells_of(line);
    const std::string key = section + std::string(trim(name));
    const auto value = known.find(key);
    if (value == known.end()) continue;
    result.push_back(json::object{{"key", key},
                                  {"value", value->second},
                                  {"type", trim(type)},
                                  {"default", trim(otherwise)},
                                  {"meaning", meaning.substr(std::min<std::size_t>(1, meaning.size()))},
                                  {"at_once", counts_at_once(key)}});
  }
  return result;
}

}  // namespace tagring::admin
