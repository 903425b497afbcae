#include "belief/trace.hpp"

#include <array>
#include <fmt/format.h>

#include "crypto/hash.hpp"

namespace tagring::belief {
namespace {

constexpr std::array kSteps = {"published", "relay", "storage", "entered", "announced"};

}  // namespace

void trace(Log& log, Step step, const TagEvent& event, std::string_view with, std::string_view refused) {
  if (!log.writes(LogLevel::kDebug)) return;
  log.debug("post", {{"trace", fmt::format("{:016x}", crypto::hash64(event.uri))},
                     {"step", kSteps.at(static_cast<std::size_t>(step))},
                     {"op", event.op == Op::kAdd ? "add" : "remove"},
                     {"tag", event.tag.canonical()},
                     {"with", with},
                     {"refused", refused},
                     {"post", event.uri}});
}

}  // namespace tagring::belief
