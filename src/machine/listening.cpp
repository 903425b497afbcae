#include "machine/listening.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/ranges.h>
#include <fstream>
#include <map>
#include <string_view>

#include "machine/owner.hpp"
#include "proxies/networks.hpp"

namespace tagring::machine {
namespace {

namespace fs = std::filesystem;

// The first that is there counts.
constexpr std::array kUnitFolders = {"etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system",
                                     "lib/systemd/system"};
constexpr const char* kSocketUnit = "tagring.socket";
constexpr const char* kAnotherStream =
    "\"systemctl edit tagring.socket\" sets another ListenStream, \"systemctl disable --now tagring.socket\" "
    "does without";

std::string_view trimmed(std::string_view text) {
  constexpr const char* kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// systemd.socket(5): "443", "192.0.2.1:443", "[2001:db8::1]:443", or a path. None for what no node takes.
std::optional<InheritedSocket> parse_stream(std::string_view text) {
  InheritedSocket socket;
  if (text.starts_with('/')) {
    socket.path = text;
    return socket;
  }
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    const auto address = IpAddress::parse(host);
    if (!address) return std::nullopt;
    socket.address = *address;
    text = text.substr(colon + 1);
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), socket.port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return socket;
}

// The unit, and then what was added to it, in the order in which systemd reads them.
std::vector<fs::path> unit_files(const fs::path& root) {
  std::vector<fs::path> files;
  std::map<std::string, fs::path> added;
  std::error_code error;
  for (const char* folder : kUnitFolders) {
    const fs::path unit = root / folder / kSocketUnit;
    if (files.empty() && fs::exists(unit, error)) files.push_back(unit);
    for (const auto& entry : fs::directory_iterator(unit.string() + ".d", error))
      if (entry.path().extension() == ".conf") added.emplace(entry.path().filename(), entry.path());
  }
  for (const auto& [name, file] : added) files.push_back(file);
  return files;
}

bool has_tcp(const config::Config& config) { return !config.is_plain() || config.listen_socket.empty(); }

const IpAddress kAnyV4 = IpAddress::from_v4({0, 0, 0, 0});

bool is_any(const IpAddress& address) { return address == IpAddress() || address == kAnyV4; }

bool is_loopback(const IpAddress& address) {
  static const proxies::Networks own = {*proxies::Network::parse("127.0.0.0/8"),
                                        *proxies::Network::parse("::1")};
  return proxies::is_in(own, address);
}

// Whether that is not where connections come, as far as the configuration says. Without listen.address they
// come to node.address, or, where a router translates that, to a private one; to another address of this
// machine only if something in front passes them on.
bool is_elsewhere(const config::Config& config, const IpAddress& held) {
  if (config.listen_address) return !is_any(*config.listen_address) && held != *config.listen_address;
  const bool has_proxy = config.is_plain() || !config.trusted_proxies.empty();
  if (is_any(held) || held == config.address || has_proxy) return false;
  return is_loopback(held) || !proxies::is_private(held);
}

std::string name_of(const InheritedSocket& socket) {
  if (!socket.path.empty()) return socket.path;
  if (socket.address == IpAddress()) return fmt::format("port {}", socket.port);
  return fmt::format("port {} of {}", socket.port,
                     socket.address == kAnyV4 ? "every IPv4 address" : socket.address.text());
}

}  // namespace

std::vector<InheritedSocket> sockets_of_unit(const std::string& config_file, const fs::path& root) {
  constexpr std::string_view kKey = "ListenStream";
  std::error_code error;
  const fs::path enabled = root / "etc/systemd/system/sockets.target.wants" / kSocketUnit;
  const bool is_enabled = fs::exists(fs::symlink_status(enabled, error));
  if (!is_enabled || how_to_stop(config_file, root).empty()) return {};  // no unit runs this one
  std::vector<InheritedSocket> held;
  for (const fs::path& file : unit_files(root)) {
    std::ifstream text(file);
    for (std::string line; std::getline(text, line);) {
      const std::size_t equals = line.find('=');
      if (equals == std::string::npos || trimmed(std::string_view(line).substr(0, equals)) != kKey) continue;
      const std::string_view value = trimmed(std::string_view(line).substr(equals + 1));
      if (value.empty()) held.clear();
      if (const auto socket = parse_stream(value)) held.push_back(*socket);
    }
  }
  return held;
}

// Another port than that of the configuration would be served, and nobody would know why nobody comes.
std::optional<health::Check> unfit(const config::Config& config, const std::string& config_file,
                                   const std::vector<InheritedSocket>& held) {
  // It would take connections on the machine that stands by, and nobody would answer them.
  if (config.standby && !held.empty())
    return health::bad("listen", "with database.standby nobody may listen for the node",
                       "\"systemctl disable --now tagring.socket\"");
  for (const InheritedSocket& socket : held) {
    const bool is_asked_for = socket.path.empty() ? has_tcp(config) && socket.port == config.listen_port
                                                  : socket.path == config.listen_socket;
    if (is_asked_for) continue;
    const std::string there = socket.path.empty() ? fmt::format("port {}", socket.port) : socket.path;
    const std::string here =
        has_tcp(config) ? fmt::format("port {}", config.listen_port) : config.listen_socket.string();
    return health::bad("listen",
                       fmt::format("systemd's tagring.socket has {}, but [listen] in {} asks for {}", there,
                                   config_file, here),
                       kAnotherStream);
  }
  return std::nullopt;
}

std::string listening_at(const config::Config& config, const std::vector<InheritedSocket>& held,
                         std::optional<IpAddress> bound) {
  std::vector<std::string> all;
  for (const InheritedSocket& socket : held) all.push_back(name_of(socket) + ", held by tagring.socket");
  const auto is_held = [&](bool is_unix) {
    return std::ranges::any_of(held,
                               [&](const InheritedSocket& socket) { return socket.path.empty() != is_unix; });
  };
  if (!config.listen_socket.empty() && !is_held(true)) all.push_back(config.listen_socket.string());
  if (has_tcp(config) && !is_held(false)) {
    const bool is_open = !bound && !config.listen_address;  // HttpServerOptions::or_any
    const IpAddress address = bound.value_or(config.listen_address.value_or(config.address));
    all.push_back(name_of({.number = -1, .address = address, .port = config.listen_port, .path = {}}) +
                  (is_open ? ", or of all if this machine has not that" : ""));
  }
  return fmt::format("{}", fmt::join(all, "; "));
}

health::Check look_at_listening(const config::Config& config, const std::string& config_file,
                                const std::vector<InheritedSocket>& held, std::optional<IpAddress> bound) {
  if (std::optional<health::Check> wrong = unfit(config, config_file, held)) return *std::move(wrong);
  const std::string at = listening_at(config, held, bound);
  const bool is_wrong = std::ranges::any_of(held, [&](const InheritedSocket& socket) {
    return socket.path.empty() && is_elsewhere(config, socket.address);
  });
  if (!is_wrong) return health::well("listen", at);
  if (config.listen_address)
    return health::bad(
        "listen", fmt::format("{}: listen.address, {}, does not count", at, config.listen_address->text()),
        kAnotherStream);
  return health::bad(
      "listen",
      fmt::format("{}: what comes to node.address, {}, does not get there", at, config.address.text()),
      fmt::format("{}; if something in front passes on to it, name it in listen.address, too",
                  kAnotherStream));
}

}  // namespace tagring::machine
