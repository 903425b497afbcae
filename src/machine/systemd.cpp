#include "machine/systemd.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace tagring::machine {
namespace {

constexpr int kFirst = 3;         // SD_LISTEN_FDS_START
constexpr long long kMost = 100;  // nobody hands over more

long long number_of(const char* name) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets any
  long long number = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), number);
  return number;
}

}  // namespace

void notify_systemd(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");  // NOLINT(concurrency-mt-unsafe)
  if (path == nullptr || path[0] == '\0') return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(std::strlen(path), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return;
  ::sendto(socket, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
  ::close(socket);
}

std::vector<InheritedSocket> inherited_sockets() {
  std::vector<InheritedSocket> all;
  if (number_of("LISTEN_PID") != ::getpid()) return all;
  const long long count = std::min(number_of("LISTEN_FDS"), kMost);
  for (int number = kFirst; number < kFirst + count; ++number) {
    ::fcntl(number, F_SETFD, FD_CLOEXEC);
    InheritedSocket socket{.number = number, .address = {}, .port = 0, .path = {}};
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getsockname(number, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
    if (address.ss_family == AF_UNIX) socket.path = reinterpret_cast<const sockaddr_un&>(address).sun_path;
    if (address.ss_family == AF_INET) {
      const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
      std::array<std::uint8_t, 4> bytes{};
      std::memcpy(bytes.data(), &v4.sin_addr, bytes.size());
      socket.address = IpAddress::from_v4(bytes);
      socket.port = ntohs(v4.sin_port);
    }
    if (address.ss_family == AF_INET6) {
      const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
      std::memcpy(socket.address.bytes.data(), &v6.sin6_addr, socket.address.bytes.size());
      socket.port = ntohs(v6.sin6_port);
    }
    all.push_back(std::move(socket));
  }
  return all;
}

bool stderr_is_journal() {
  const char* journal = std::getenv("JOURNAL_STREAM");  // NOLINT(concurrency-mt-unsafe)
  struct stat status{};
  // A program that this one's parent starts has the variable, too, wherever its stderr goes.
  return journal != nullptr && ::fstat(STDERR_FILENO, &status) == 0 &&
         journal == fmt::format("{}:{}", status.st_dev, status.st_ino);
}

std::optional<Duration> watchdog_interval() {
  const long long microseconds = number_of("WATCHDOG_USEC");
  const long long process = number_of("WATCHDOG_PID");
  if (microseconds <= 0 || (process != 0 && process != ::getpid())) return std::nullopt;
  return std::chrono::duration_cast<Duration>(std::chrono::microseconds(microseconds));
}

}  // namespace tagring::machine
