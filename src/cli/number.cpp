#include "cli/number.hpp"

#include <charconv>
#include <fmt/format.h>

#include "base/printable.hpp"

namespace tagring::cli {

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const std::string range = most == UINT64_MAX
                                ? fmt::format("{} to 2^64 - 1", least)  // 20 digits are not read
                                : fmt::format("{} to {}", least, most);
  const auto check = [least, most, range](const std::string& text) -> std::string {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    if (is_number && value >= least && value <= most) return {};
    return fmt::format("'{}' is no number from {}", printable(text), range);
  };
  return {check, range, "whole number"};
}

}  // namespace tagring::cli
