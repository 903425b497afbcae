#include "http/message.hpp"

#include <algorithm>

#include "base/bytes.hpp"

namespace tagring {

std::optional<std::string> Headers::find(std::string_view name) const {
  for (const auto& [field, value] : fields_) {
    if (ascii_iequals(field, name)) return value;
  }
  return std::nullopt;
}

std::optional<std::string> Headers::joined(std::string_view name) const {
  std::optional<std::string> all;
  for (const auto& [field, value] : fields_) {
    if (!ascii_iequals(field, name)) continue;
    all = all ? *all + ", " + value : value;
  }
  return all;
}

std::size_t Headers::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(fields_, [&](const auto& field) { return ascii_iequals(field.first, name); }));
}

void Headers::set(std::string_view name, std::string value) {
  std::erase_if(fields_, [&](const auto& field) { return ascii_iequals(field.first, name); });
  fields_.emplace_back(std::string(name), std::move(value));
}

void Headers::add_vary(std::string_view field) {
  const std::string others = joined("Vary").value_or("");
  if ((", " + others + ",").contains(", " + std::string(field) + ",")) return;
  set("Vary", others.empty() ? std::string(field) : others + ", " + std::string(field));
}

}  // namespace tagring
