// Options that take one of a few words.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <map>
#include <ranges>
#include <string>
#include <vector>

namespace tagring::cli {

// The word must be one of them; else what may have been meant is said.
CLI::Validator one_of(std::vector<std::string> known);

// Of the names of a table.
template <typename T>
CLI::Validator one_of(const std::map<std::string, T>& known) {
  const auto names = std::views::keys(known);
  return one_of(std::vector<std::string>(names.begin(), names.end()));
}

}  // namespace tagring::cli
