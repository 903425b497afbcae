// What others wrote, made fit for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace tagring {

// Well-formed UTF-8 that others wrote, for a terminal or a log: on one line, and nothing that either would
// obey. Controls, and what changes the direction of writing, are blanks.
std::string printable(std::string_view text);

}  // namespace tagring
