// What is on the other end of standard output: people have colours and a width, programs have neither.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tagring::cli {

enum class Colour : std::uint8_t { kRed, kGreen, kYellow, kBold };

// In that colour, on a terminal; as it is elsewhere, and if NO_COLOR is set (no-color.org).
std::string painted(Colour colour, std::string_view text);

// Columns of the terminal; none if it is none.
std::optional<std::size_t> terminal_width();

// Waits for that long, or until whoever reads standard output is gone, as "| head" is after ten lines. True
// if it is gone.
bool wait_for_reader_to_go(std::chrono::milliseconds patience);

}  // namespace tagring::cli
