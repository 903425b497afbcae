// What every fuzz target is made of. A target is one file with one function, fuzz(text): for whatever text,
// it ends, and what it asserts holds. Each becomes a libFuzzer binary of its own; fuzz/corpus/<name>/ has
// texts to begin with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.hpp"
#include "base/time.hpp"

namespace tagring::fuzzing {

void fuzz(std::string_view text);

// Some day in 2026: results do not depend on when the target runs.
inline constexpr WallTime kNow{std::chrono::seconds(1'780'000'000)};

// Takes what stands before the first `separator` (all, if there is none), and drops the separator.
inline std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

}  // namespace tagring::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tagring::fuzzing::fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
