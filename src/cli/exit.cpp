#include "cli/exit.hpp"

#include <cstdio>
#include <filesystem>
#include <fmt/core.h>

namespace tagring::cli {

int report(const Error& error) {
  fmt::print(stderr, "tagring: {}\n", error.message);
  return error.code == ErrorCode::kInvalid ? kExitBadInput : kExitFailed;
}

std::string default_config() {
  std::error_code error;
  const char* here = "tagring.toml";
  return std::filesystem::exists(here, error) ? here : "/etc/tagring/tagring.toml";
}

}  // namespace tagring::cli
