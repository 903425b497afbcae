#include "redundancy/partition.hpp"

#include <charconv>
#include <fmt/format.h>

namespace tagring::redundancy {

std::string Partition::name() const { return number == 0 ? tag : fmt::format("{}/{}", tag, number); }

Result<Partition> Partition::parse(std::string_view name) {
  const std::size_t mark = name.find('/');
  Partition partition{std::string(name.substr(0, mark)), 0};
  if (mark == std::string_view::npos) return partition;
  const std::string_view digits = name.substr(mark + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), partition.number);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  if (!is_number || partition.number >= kPartitionsMax || partition.name() != name)
    return fail(ErrorCode::kInvalid, "a part of a history has no number from 1 to 255");
  return partition;
}

}  // namespace tagring::redundancy
