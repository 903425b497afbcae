#include "machine/checks.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "health/names.hpp"
#include "machine/owner.hpp"
#include "net/tls.hpp"
#include "proxies/networks.hpp"

namespace tagring::machine {
namespace {

using health::bad;
using health::Check;
using health::Checks;
using health::well;

constexpr Duration kDnsTimeout = std::chrono::seconds(10);
constexpr std::uint64_t kFreeLeast = 1'000'000'000;
constexpr std::array kDatabaseFiles = {"tagring.db", "tagring.db-wal", "tagring.db-shm"};

std::string amount(std::uint64_t bytes) {
  const auto real = static_cast<double>(bytes);
  return bytes < kFreeLeast / 10 ? fmt::format("{:.1f} MB", real / 1e6)
                                 : fmt::format("{:.1f} GB", real / 1e9);
}

Task<Check> look_at_names(const config::Config& config, net::Resolver& resolver, const Clock& clock) {
  const Instant deadline = clock.now() + kDnsTimeout;
  const Result<std::vector<IpAddress>> found = co_await resolver.resolve(config.host, deadline);
  const std::string record =
      fmt::format("set its {} record to {}", config.address.is_v4() ? "A" : "AAAA", config.address.text());
  if (!found) co_return bad("dns", fmt::format("{}: {}", config.host, found.error().message), record);
  std::string all;
  bool is_there = false;
  for (const IpAddress& address : *found) {
    all += (all.empty() ? "" : ", ") + address.text();
    is_there = is_there || address.prefix64() == config.address.prefix64();
  }
  const std::string detail = fmt::format("{} is {}", config.host, all);
  const bool has_others = !health::other_addresses(config, *found).empty();
  if (is_there && has_others)
    co_return Check{"dns", true, detail, "what is at each, the node sees when it runs"};
  if (is_there) co_return well("dns", detail);
  // As Debian has a machine's own name in /etc/hosts, or a network its machines' in a DNS of its own.
  if (!proxies::is_private(config.address) && std::ranges::all_of(*found, proxies::is_private))
    co_return well("dns", detail + " here, as /etc/hosts may say: what others find cannot be seen from here");
  co_return bad("dns", detail, record + ", or correct node.address: others connect to that only");
}

Check look_at_disk(const config::Config& config) {
  const std::optional<health::Disk> disk = disk_of(config.data);
  if (!disk)
    return bad("disk", fmt::format("{} cannot be asked", config.data.string()),
               "see that the folder is there");
  // PostgreSQL's disks are looked at where they are.
  Check check = judge(*disk, config.postgres.empty() ? config.room_for_history() : 0);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(config.data, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.contains(kBeforeRestore) && !name.contains(kBeforeNewName)) continue;
    if (const std::uintmax_t size = entry.file_size(error); !error)
      check.detail +=
          fmt::format("; {} of it is {}, from before a {}, for you to remove", amount(size),
                      entry.path().string(), name.contains(kBeforeRestore) ? "restore" : "new name");
  }
  return check;
}

// Notes that others have rights to it that they should not have, and what takes these away.
void note_mode(const std::filesystem::path& path, unsigned forbidden, std::string_view mend,
               std::string& found, std::string& what_to_do) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || (status.st_mode & forbidden) == 0) return;
  found +=
      fmt::format("{}{} has mode {:o}", found.empty() ? "" : "; ", path.string(), status.st_mode & 07777U);
  what_to_do += fmt::format("{}chmod {} {}", what_to_do.empty() ? "" : "; ", mend, path.string());
}

// The folder and what the node has made there, so far as another user owns it: root wrote it, and the node
// cannot open it.
std::string owned_by_others(const std::filesystem::path& data, const Owner& own) {
  std::vector<std::filesystem::path> all = {data};
  for (const char* name : kDatabaseFiles) all.push_back(data / name);
  std::string files;
  for (const std::filesystem::path& file : all) {
    const std::optional<Owner> other = owner_of(file);
    if (other && other->user != own.user)
      files += fmt::format("{}{}", files.empty() ? "" : " ", file.string());
  }
  return files;
}

// What whoever asks may not write.
std::string not_writable(const std::filesystem::path& data) {
  if (::access(data.c_str(), W_OK | X_OK) != 0 && errno != ENOENT)
    return fmt::format("{}: {}", data.string(), std::strerror(errno));
  for (const char* name : kDatabaseFiles) {
    const std::filesystem::path file = data / name;
    if (::access(file.c_str(), R_OK | W_OK) != 0 && errno != ENOENT)
      return fmt::format("{}: {}", file.string(), std::strerror(errno));
  }
  return {};
}

Check look_at_permissions(const config::Config& config, const std::filesystem::path& config_file) {
  constexpr unsigned kOthers = S_IRWXG | S_IRWXO;
  std::string found;
  std::string what_to_do;
  note_mode(config.data, kOthers, "700", found, what_to_do);
  for (const char* name : kDatabaseFiles) note_mode(config.data / name, kOthers, "600", found, what_to_do);
  if (!config.is_plain()) note_mode(config.key, S_IRWXO | S_IWGRP, "640", found, what_to_do);
  const bool has_password = !config.mastodon_database_dsn.empty() || !config.postgres.empty();
  note_mode(config_file, S_IWGRP | S_IWOTH | (has_password ? S_IROTH : 0U), "640", found, what_to_do);
  const Owner own = node_user(config.data, config_file).value_or(Owner());
  if (const std::string files = owned_by_others(config.data, own); own.user != 0 && !files.empty()) {
    const std::string user = own.name.empty() ? fmt::format("{}", own.user) : own.name;
    return bad("permissions",
               fmt::format("{}: of another user than the node's, {}, who cannot write there", files, user),
               fmt::format("chown {}: {}, and start the node as that user", user, files));
  }
  if (const std::string what = not_writable(config.data); !what.empty()) {
    return bad("permissions", "cannot write to " + what,
               "let the node's user own the folder and what is in it, on a file system that is mounted to be "
               "written; under systemd, ReadWritePaths names it (systemctl edit tagring)");
  }
  if (found.empty()) return well("permissions", "nobody else can read keys and data");
  return bad("permissions", found, what_to_do);
}

}  // namespace

Result<crypto::CertificateFacts> certificate_of(const config::Config& config, WallTime now) {
  return crypto::check_certificate(config.certificate, config.ca_file, config.host, now);
}

Check look_at_certificate(const config::Config& config, WallTime now) {
  if (config.is_plain()) return well("certificate", "the proxy in front has it");
  const Result<crypto::CertificateFacts> facts = certificate_of(config, now);
  if (!facts) {
    const std::string& message = facts.error().message;
    const std::size_t colon = message.rfind(": ");
    const ErrorCode code = facts.error().code;
    const bool has_advice =
        (code == ErrorCode::kDenied || code == ErrorCode::kUnavailable) && colon != std::string::npos;
    return bad("certificate", message,
               has_advice ? message.substr(colon + 2) : "see listen.certificate in docs/config.md");
  }
  // OpenSSL names no reason for what the system refuses.
  if (::faccessat(AT_FDCWD, config.key.c_str(), R_OK, AT_EACCESS) != 0 && errno == EACCES)
    return bad("certificate",
               fmt::format("cannot read listen.key, {}: {}", config.key.string(), std::strerror(EACCES)),
               "let the node's group read it: chgrp and chmod 640, or ask as the node's user or root");
  if (const auto both = net::make_server_tls(config.certificate, config.key); !both)
    return bad("certificate", both.error().message,
               "listen.key is to be the private key of listen.certificate");
  return judge_lifetime(facts->from, facts->until, now, "for " + config.host,
                        "see why it was not renewed (certbot renew); the node takes a new one by itself");
}

Check judge_lifetime(WallTime from, WallTime until, WallTime now, std::string_view is, std::string mend) {
  const std::string detail = fmt::format("{} until {}", is, to_rfc3339(until));
  if (now <= crypto::CertificateFacts{from, until, {}}.late_from()) return well("certificate", detail);
  const auto days = std::chrono::duration_cast<std::chrono::days>(until - now).count();
  return bad("certificate", fmt::format("{}: {} days are left", detail, days), std::move(mend));
}

std::optional<health::Disk> disk_of(const std::filesystem::path& data) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(data, error);
  if (error) return std::nullopt;
  health::Disk disk{space.capacity, space.available, 0};
  for (const auto& entry : std::filesystem::directory_iterator(data, error)) {
    std::error_code ignored;
    if (const std::uintmax_t size = entry.file_size(ignored); !ignored) disk.used += size;
  }
  return disk;
}

Check judge(const health::Disk& disk, std::uint64_t history_max) {
  std::string detail = fmt::format("{} of {} free; the node's data takes {}", amount(disk.free),
                                   amount(disk.size), amount(disk.used));
  if (history_max > 0) detail += fmt::format(", and its history may take {}", amount(history_max));
  if (room_on(disk) > 0 && disk.free >= kFreeLeast) return well("disk", detail);
  return bad("disk", detail,
             fmt::format("make room: the node keeps off the last {} %, lets old posts go for that, and below "
                         "{} it may have to refuse new ones",
                         kReservePercent, amount(kFreeLeast)));
}

std::int64_t room_on(const health::Disk& disk) {
  return static_cast<std::int64_t>(disk.free) - static_cast<std::int64_t>(disk.size / 100 * kReservePercent);
}

Result<void> check_room(const health::Disk& disk, std::uint64_t bytes) {
  const std::int64_t room = room_on(disk);
  if (room > 0 && static_cast<std::uint64_t>(room) > bytes) return {};
  return fail(
      ErrorCode::kUnavailable,
      fmt::format("there is no room for {} more: {} are free beside the last {} % of the disk, which the "
                  "node keeps off",
                  amount(bytes), amount(static_cast<std::uint64_t>(std::max<std::int64_t>(room, 0))),
                  kReservePercent));
}

Task<Checks> look_at_machine(config::Config config, std::filesystem::path config_file,
                             net::Resolver* resolver, const Clock* clock) {
  Checks checks;
  checks.push_back(look_at_certificate(config, clock->wall_now()));
  checks.push_back(co_await look_at_names(config, *resolver, *clock));
  checks.push_back(look_at_disk(config));
  checks.push_back(look_at_permissions(config, config_file));
  co_return checks;
}

}  // namespace tagring::machine
