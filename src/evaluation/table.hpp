// Tables as text: tab-separated, with a header line.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tagring::evaluation {

// At least one part; empty ones are kept.
std::vector<std::string_view> split(std::string_view text, char separator);
// Finite, not negative, and nothing after it.
std::optional<double> number(std::string_view text);

class Table {
 public:
  // kInvalid unless there are a header line and a row.
  static Result<Table> parse(std::string_view text);
  // The place of the first of these columns that exists.
  [[nodiscard]] Result<std::size_t> column(const std::vector<std::string_view>& names) const;
  [[nodiscard]] std::size_t rows() const { return lines_.size() - 1; }
  // kInvalid with the number of the line.
  [[nodiscard]] Result<std::string_view> cell(std::size_t row, std::size_t column) const;
  [[nodiscard]] Result<double> number_at(std::size_t row, std::size_t column) const;

 private:
  std::vector<std::vector<std::string_view>> lines_;
};

}  // namespace tagring::evaluation
