// Options that take a whole number.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdint>

namespace tagring::cli {

// From `least` to `most`, in digits. CLI11 itself takes -1 for the greatest number there is, and what is
// greater than that for that.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most = UINT64_MAX);

}  // namespace tagring::cli
