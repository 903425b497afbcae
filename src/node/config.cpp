#include "node/config.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <sstream>
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "base/url.hpp"
#include "ring/contact.hpp"

namespace tagring::node {
namespace {

std::unexpected<Error> bad(std::string_view key, std::string_view why) {
  return fail(ErrorCode::kInvalid, fmt::format("{}: {}", key, why));
}

using Reader = std::function<Result<void>(const toml::node& value, std::string_view key)>;

Reader text(std::string& out) {
  return [&out](const toml::node& value, std::string_view key) -> Result<void> {
    if (!value.is_string()) return bad(key, "must be a text in quotes");
    out = value.as_string()->get();
    return {};
  };
}

Reader path(std::filesystem::path& out, std::filesystem::path directory) {
  return [&out, directory](const toml::node& value, std::string_view key) -> Result<void> {
    if (!value.is_string() || value.as_string()->get().empty()) return bad(key, "must be a path in quotes");
    out = directory / value.as_string()->get();
    return {};
  };
}

Reader flag(bool& out) {
  return [&out](const toml::node& value, std::string_view key) -> Result<void> {
    if (!value.is_boolean()) return bad(key, "must be true or false");
    out = value.as_boolean()->get();
    return {};
  };
}

template <class T>
Reader number(T& out, std::int64_t least, std::int64_t most) {
  return [&out, least, most](const toml::node& value, std::string_view key) -> Result<void> {
    const bool fits =
        value.is_integer() && value.as_integer()->get() >= least && value.as_integer()->get() <= most;
    if (!fits) return bad(key, fmt::format("must be a number from {} to {}", least, most));
    out = static_cast<T>(value.as_integer()->get());
    return {};
  };
}

Reader replicas(unsigned& out) {
  return [&out](const toml::node& value, std::string_view key) -> Result<void> {
    const std::int64_t count = value.is_integer() ? value.as_integer()->get() : 0;
    if (count < 1 || count > 16 || !std::has_single_bit(static_cast<std::uint64_t>(count))) {
      return bad(key, "must be 1, 2, 4, 8 or 16");
    }
    out = static_cast<unsigned>(count);
    return {};
  };
}

Reader milliseconds(Duration& out, std::int64_t least, std::int64_t most) {
  return [&out, least, most](const toml::node& value, std::string_view key) -> Result<void> {
    std::int64_t count = 0;
    TRY_VOID(number(count, least, most)(value, key));
    out = Duration(count);
    return {};
  };
}

template <class Address>  // IpAddress, or an optional one
Reader address(Address& out) {
  return [&out](const toml::node& value, std::string_view key) -> Result<void> {
    const auto parsed = value.is_string() ? IpAddress::parse(value.as_string()->get()) : std::nullopt;
    if (!parsed) return bad(key, "must be an IPv6 or IPv4 address in quotes");
    out = *parsed;
    return {};
  };
}

Reader texts(std::vector<std::string>& out) {
  return [&out](const toml::node& value, std::string_view key) -> Result<void> {
    if (!value.is_array()) return bad(key, "must be a list of texts");
    for (const toml::node& element : *value.as_array()) {
      if (!element.is_string()) return bad(key, "must be a list of texts");
      out.push_back(element.as_string()->get());
    }
    return {};
  };
}

Reader host_table(std::map<std::string, std::vector<IpAddress>>& out) {
  return [&out](const toml::node& value, std::string_view key) -> Result<void> {
    if (!value.is_table()) return bad(key, "must be a table: \"name\" = \"address\"");
    for (const auto& [name, element] : *value.as_table()) {
      IpAddress parsed;
      TRY_VOID(address(parsed)(element, fmt::format("{}.\"{}\"", key, name.str())));
      out[std::string(name.str())].push_back(parsed);
    }
    return {};
  };
}

std::map<std::string, Reader> readers(Config& config, const std::filesystem::path& directory) {
  return {
      {"node.host", text(config.host)},
      {"node.port", number(config.port, 1, 65535)},
      {"node.address", address(config.address)},
      {"node.data", path(config.data, directory)},
      {"node.log_level", text(config.log_level)},
      {"listen.address", address(config.listen_address)},
      {"listen.port", number(config.listen_port, 1, 65535)},
      {"listen.certificate", path(config.certificate, directory)},
      {"listen.key", path(config.key, directory)},
      {"ring.network", text(config.network)},
      {"ring.vservers", number(config.vservers, 1, 64)},
      {"ring.bootstrap", texts(config.bootstrap)},
      {"ring.create", flag(config.create)},
      {"ring.relay_replicas", replicas(config.relay_replicas)},
      {"ring.storage_replicas", replicas(config.storage_replicas)},
      {"ring.stabilise_ms", milliseconds(config.stabilise, 100, 600'000)},
      {"publish.instances", texts(config.instances)},
      {"publish.open", flag(config.open)},
      {"publish.people", flag(config.people)},
      {"publish.archive_all", flag(config.archive_all)},
      {"publish.tags_per_instance", number(config.tags_per_instance, 0, 100'000)},
      {"network.allow_private_addresses", flag(config.allow_private_addresses)},
      {"network.ca_file", path(config.ca_file, directory)},
      {"network.hosts", host_table(config.hosts)},
  };
}

Result<void> read_tables(const toml::table& root, const std::map<std::string, Reader>& known) {
  for (const auto& [section, value] : root) {
    if (!value.is_table()) return bad(section.str(), "unknown key outside a [section]");
    for (const auto& [name, element] : *value.as_table()) {
      const std::string key = fmt::format("{}.{}", section.str(), name.str());
      const auto reader = known.find(key);
      if (reader == known.end()) return bad(key, "unknown key; see docs/config.md for those that exist");
      TRY_VOID(reader->second(element, key));
    }
  }
  return {};
}

Result<void> check(Config& config) {
  if (config.host.empty()) return bad("node.host", "is missing: the public host name of this node");
  const Result<std::string> domain = ring::registrable_domain(config.host);
  if (!domain) return bad("node.host", domain.error().message);
  if (config.address == IpAddress{})
    return bad("node.address", "is missing: the public address of this node");
  if (config.certificate.empty() || config.key.empty()) {
    return bad("listen.certificate",
               "certificate and key are both needed: the PEM files of this node's host name");
  }
  if (!config.listen_address) config.listen_address = config.address;
  if (config.listen_port == 0) config.listen_port = config.port;
  if (config.bootstrap.empty() && !config.create) {
    return bad("ring.bootstrap",
               "is empty: name nodes to join through, or set create = true to start a network");
  }
  if (config.instances.empty()) config.instances.push_back(*domain);
  static const std::vector<std::string> kLevels = {"debug", "info", "warn", "error"};
  if (std::ranges::find(kLevels, config.log_level) == kLevels.end()) {
    return bad("node.log_level", "must be debug, info, warn or error");
  }
  if (!config.hosts.empty() && !config.allow_private_addresses) {
    return bad("network.hosts", "only with allow_private_addresses = true: production names come from DNS");
  }
  if (config.port != 443 && !config.allow_private_addresses) {
    return bad("node.port",
               "other nodes connect to port 443 only: listen elsewhere with listen.port, behind "
               "a proxy on 443; or set network.allow_private_addresses for a network of your own");
  }
  for (const std::string& origin : config.bootstrap) {
    const Result<Url> url = Url::parse(origin);
    if (!url || url->scheme != "https" || url->origin() != origin)
      return bad("ring.bootstrap",
                 fmt::format("'{}' is not an origin like https://tags.example.org", origin));
  }
  return {};
}

}  // namespace

std::string Config::origin() const {
  return port == 443 ? fmt::format("https://{}", host) : fmt::format("https://{}:{}", host, port);
}

std::vector<std::string> config_keys() {
  Config config;
  std::vector<std::string> keys;
  for (const auto& [key, reader] : readers(config, {})) keys.push_back(key);
  return keys;
}

Result<Config> Config::parse(std::string_view toml, const std::filesystem::path& directory) {
  const toml::parse_result parsed = toml::parse(toml);
  if (!parsed) {
    return fail(ErrorCode::kInvalid,
                fmt::format("line {}: {}", parsed.error().source().begin.line, parsed.error().description()));
  }
  Config config;
  config.data = directory / config.data;
  TRY_VOID(read_tables(parsed.table(), readers(config, directory)));
  TRY_VOID(check(config));
  return config;
}

Result<Config> Config::load(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) return fail(ErrorCode::kNotFound, fmt::format("cannot read {}", file.string()));
  std::ostringstream content;
  content << stream.rdbuf();
  Result<Config> config = parse(content.str(), file.parent_path());
  if (!config) return fail(config.error().code, fmt::format("{}: {}", file.string(), config.error().message));
  return config;
}

}  // namespace tagring::node
