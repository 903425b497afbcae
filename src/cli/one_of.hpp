// What somebody meant who typed a word that there is not.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>
#include <vector>

namespace tagring::cli {

// ", did you mean \"list\"?" for the word that is the fewest letters away, or begins so; empty if none is
// near.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

// For options of a few words: the word must be one of them.
CLI::Validator one_of(std::vector<std::string> known);

}  // namespace tagring::cli
