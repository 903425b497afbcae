// Lists of things that have the same members, for people.
#pragma once

#include <optional>
#include <string>

#include "base/json.hpp"

namespace tagring::client {

// A row a line, below the names of the members that any of them has. Where `width` is given no line is
// longer: the widest columns are cut, and end in "…". Characters that could do something to a terminal are
// blanks.
std::string table_of(const json::array& rows, std::optional<std::size_t> width);

}  // namespace tagring::client
