#include "machine/listening.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/ranges.h>
#include <fstream>
#include <map>
#include <string_view>

#include "machine/owner.hpp"

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

bool is_any(const IpAddress& address) {
  return address == IpAddress() || address == IpAddress::from_v4({0, 0, 0, 0});
}

std::string name_of(const InheritedSocket& socket) {
  if (!socket.path.empty()) return socket.path;
  return is_any(socket.address) ? fmt::format("port {}", socket.port)
                                : fmt::format("port {} of {}", socket.port, socket.address.text());
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

std::string listening_at(const config::Config& config, const std::vector<InheritedSocket>& held) {
  std::vector<std::string> all;
  for (const InheritedSocket& socket : held) all.push_back(name_of(socket) + ", held by tagring.socket");
  const auto is_held = [&](bool is_unix) {
    return std::ranges::any_of(held,
                               [&](const InheritedSocket& socket) { return socket.path.empty() != is_unix; });
  };
  if (!config.listen_socket.empty() && !is_held(true)) all.push_back(config.listen_socket.string());
  if (has_tcp(config) && !is_held(false)) {
    const IpAddress address = config.listen_address.value_or(IpAddress());
    all.push_back(name_of({.number = -1, .address = address, .port = config.listen_port, .path = {}}));
  }
  return fmt::format("{}", fmt::join(all, "; "));
}

health::Check look_at_listening(const config::Config& config, const std::string& config_file,
                                const std::vector<InheritedSocket>& held) {
  if (std::optional<health::Check> wrong = unfit(config, config_file, held)) return *std::move(wrong);
  const std::string at = listening_at(config, held);
  const IpAddress asked = config.listen_address.value_or(IpAddress());
  const bool is_elsewhere = std::ranges::any_of(held, [&](const InheritedSocket& socket) {
    return socket.path.empty() && !is_any(asked) && socket.address != asked;
  });
  if (is_elsewhere)
    return health::bad("listen", fmt::format("{}: listen.address, {}, does not count", at, asked.text()),
                       kAnotherStream);
  return health::well("listen", at);
}

}  // namespace tagring::machine
