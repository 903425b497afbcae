// Options that take one of a few words.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>
#include <vector>

namespace tagring::cli {

// The word must be one of them; else what may have been meant is said.
CLI::Validator one_of(std::vector<std::string> known);

}  // namespace tagring::cli
