#include "cli/one_of.hpp"

#include <algorithm>
#include <fmt/ranges.h>

#include "base/suggest.hpp"

namespace tagring::cli {

CLI::Validator one_of(std::vector<std::string> known) {
  const std::string all = fmt::format("{}", fmt::join(known, ", "));
  const auto check = [known = std::move(known), all](const std::string& word) -> std::string {
    if (std::ranges::find(known, word) != known.end()) return {};
    return fmt::format("\"{}\" is none of {}{}", word, all, did_you_mean(word, known));
  };
  return {check, fmt::format("{{{}}}", all), "one of"};
}

}  // namespace tagring::cli
