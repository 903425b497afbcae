#include "cli/exit.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/core.h>
#include <pwd.h>
#include <unistd.h>

namespace tagring::cli {

int report(const Error& error) {
  fmt::print(stderr, "tagring: {}\n", error.message);
  if (error.code == ErrorCode::kSuperseded) return kExitSuperseded;
  return error.code == ErrorCode::kInvalid ? kExitBadInput : kExitFailed;
}

std::string default_config() {
  std::error_code error;
  const char* here = "tagring.toml";
  return std::filesystem::exists(here, error) ? here : "/etc/tagring/tagring.toml";
}

std::string user_name() {
  const char* caller = std::getenv("SUDO_USER");  // NOLINT(concurrency-mt-unsafe): nobody sets any
  if (caller != nullptr && caller[0] != '\0') return caller;
  const passwd* user = ::getpwuid(::getuid());  // NOLINT(concurrency-mt-unsafe): there is one thread
  return user == nullptr ? "" : user->pw_name;
}

}  // namespace tagring::cli
