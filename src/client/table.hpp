// Lists of things that have the same members, for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace tagring::client {

// A row a line, below the names of the members that any of them has. Where `width` is given, what does not
// fit goes on below, in its column. Words stay whole, for people to compare and copy: where those of a row
// have no room beside each other, each row has a line for each of its members, and an empty one behind it.
// Characters that could do something to a terminal are blanks.
std::string table_of(const json::array& rows, std::optional<std::size_t> width);

// Who sees the names of the members: scripts know some lists without.
enum class Heading : std::uint8_t { kEverywhere, kOnTerminals };

// Prints it as the terminal has room, the heading bold; whole, if it is none. Nothing if there are no rows.
void print_table(const json::array& rows, Heading heading = Heading::kEverywhere);

// What is to be said of some of the rows, below them, each in lines that fit. Nothing if there is nothing.
// What could do something to a terminal is blank here, too.
void print_remarks(const std::vector<std::string>& remarks);

}  // namespace tagring::client
