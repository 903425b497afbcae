#include "machine/systemd.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace tagring::machine {
namespace {

constexpr int kFirst = 3;  // SD_LISTEN_FDS_START

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

int inherited_socket() {
  if (number_of("LISTEN_PID") != ::getpid() || number_of("LISTEN_FDS") < 1) return -1;
  ::fcntl(kFirst, F_SETFD, FD_CLOEXEC);
  return kFirst;
}

std::optional<Duration> watchdog_interval() {
  const long long microseconds = number_of("WATCHDOG_USEC");
  const long long process = number_of("WATCHDOG_PID");
  if (microseconds <= 0 || (process != 0 && process != ::getpid())) return std::nullopt;
  return std::chrono::duration_cast<Duration>(std::chrono::microseconds(microseconds));
}

}  // namespace tagring::machine
