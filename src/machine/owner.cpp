#include "machine/owner.hpp"

#include <algorithm>
#include <array>
#include <fmt/ranges.h>
#include <fstream>
#include <functional>
#include <pwd.h>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace tagring::machine {
namespace {

namespace fs = std::filesystem;

// packaging/tagring.service
constexpr const char* kUnitsFile = "etc/tagring/tagring.toml";
constexpr std::array kUnits = {"etc/systemd/system/tagring.service", "usr/lib/systemd/system/tagring.service",
                               "lib/systemd/system/tagring.service"};

// The unit that runs the node; empty if none does.
fs::path unit_of(const std::string& config_file, const fs::path& root) {
  std::error_code error;
  if (!fs::equivalent(config_file, root / kUnitsFile, error)) return {};
  const auto* const unit =
      std::ranges::find_if(kUnits, [&](const char* path) { return fs::exists(root / path, error); });
  return unit == kUnits.end() ? fs::path() : root / *unit;
}

std::string user_in(const fs::path& unit) {
  constexpr std::string_view kUser = "User=";
  std::ifstream text(unit);
  for (std::string line; std::getline(text, line);)
    if (line.starts_with(kUser)) return line.substr(kUser.size());
  return {};
}

// Those that start with the machine, as systemctl takes them: of a node of several processes, what runs here
// of it. The socket comes first: systemd refuses to start it beside the service.
std::string units_here(const fs::path& root) {
  std::set<std::string, std::greater<>> enabled;
  std::error_code error;
  for (const char* target : {"sockets.target.wants", "multi-user.target.wants"}) {
    for (const auto& link : fs::directory_iterator(root / "etc/systemd/system" / target, error)) {
      const std::string name = link.path().filename();
      const bool is_ours = name.starts_with("tagring.") || name.starts_with("tagring-core@") ||
                           name.starts_with("tagring-front@");
      if (is_ours) enabled.insert(name.substr(0, name.rfind(".service")));
    }
  }
  return enabled.empty() ? "tagring" : fmt::format("{}", fmt::join(enabled, " "));
}

std::string start_as(const Owner& owner, const std::string& config_file) {
  const std::string run = fmt::format("tagring run --config {}", config_file);
  if (owner.user == ::geteuid()) return run;
  if (owner.name.empty()) return fmt::format("setpriv --reuid {} --clear-groups {}", owner.user, run);
  return fmt::format("{} -u {} {}{}", ::geteuid() == 0 ? "runuser" : "sudo", owner.name,
                     ::geteuid() == 0 ? "-- " : "", run);
}

}  // namespace

std::optional<Owner> owner_of(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  Owner owner{.user = status.st_uid, .group = status.st_gid, .name = {}};
  if (const passwd* user = ::getpwuid(owner.user);
      user != nullptr) {  // NOLINT(concurrency-mt-unsafe): there is one thread
    owner.name = user->pw_name;
    owner.group = user->pw_gid;
  }
  return owner;
}

std::optional<Owner> node_user(const fs::path& data, const std::string& config_file, const fs::path& root) {
  std::optional<Owner> owner = owner_of(data);
  if (owner && owner->user != 0) return owner;
  const std::string name = user_in(unit_of(config_file, root));
  const passwd* user = name.empty()
                           ? nullptr
                           : ::getpwnam(name.c_str());  // NOLINT(concurrency-mt-unsafe): there is one thread
  return user == nullptr ? owner : Owner{.user = user->pw_uid, .group = user->pw_gid, .name = name};
}

std::string how_to_start(const fs::path& data, const std::string& config_file, const fs::path& root) {
  if (!unit_of(config_file, root).empty()) return "systemctl start " + units_here(root);
  const std::optional<Owner> owner = owner_of(data);
  return start_as(owner.value_or(Owner{.user = ::geteuid(), .group = 0, .name = {}}), config_file);
}

std::string how_to_stop(const std::string& config_file, const fs::path& root) {
  return unit_of(config_file, root).empty() ? "" : "systemctl stop " + units_here(root);
}

Result<void> check_runner(const fs::path& data, const std::string& config_file) {
  const std::optional<Owner> owner = owner_of(data);
  if (::geteuid() != 0 || !owner || owner->user == 0) return {};
  return fail(
      ErrorCode::kDenied,
      fmt::format("{} belongs to {}, who could not open what root writes there: type \"{}\"", data.string(),
                  owner->name.empty() ? fmt::format("user {}", owner->user) : owner->name,
                  how_to_start(data, config_file)));
}

}  // namespace tagring::machine
