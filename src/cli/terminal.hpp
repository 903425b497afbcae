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

// How many characters of a text stand beside each other; of UTF-8.
std::size_t columns_of(std::string_view text);
// The first of them, that many at most.
std::string_view first_columns(std::string_view text, std::size_t count);

// The text, which begins in the column `indent`, with what does not fit into `width` on lines below, as far
// from the edge. A word that is longer than a line stays whole, for people to copy. As it is if no width is
// given.
std::string wrapped(std::string_view text, std::size_t indent, std::optional<std::size_t> width);

// Waits for that long, or until whoever reads standard output is gone, as "| head" is after ten lines. True
// if it is gone.
bool wait_for_reader_to_go(std::chrono::milliseconds patience);

}  // namespace tagring::cli
