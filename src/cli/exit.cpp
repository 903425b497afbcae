#include "cli/exit.hpp"

#include <cstdio>
#include <fmt/core.h>

namespace tagring::cli {

int report(const Error& error) {
  fmt::print(stderr, "tagring: {}\n", error.message);
  return error.code == ErrorCode::kInvalid ? kExitBadInput : kExitFailed;
}

}  // namespace tagring::cli
