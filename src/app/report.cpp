#include <cstdio>
#include <fmt/core.h>

#include "app/commands.hpp"

namespace tagring::app {

int report(const Error& error) {
  fmt::print(stderr, "tagring: {}\n", error.message);
  return error.code == ErrorCode::kInvalid ? kExitBadInput : kExitFailed;
}

}  // namespace tagring::app
