#include "redundancy/partition.hpp"

#include <charconv>
#include <fmt/format.h>

namespace tagring::redundancy {

std::string Partition::name() const { return slot == 0 ? tag : fmt::format("{}/{}", tag, slot); }

Result<Partition> Partition::parse(std::string_view name) {
  const std::size_t mark = name.find('/');
  Partition shelf{std::string(name.substr(0, mark)), 0};
  if (mark == std::string_view::npos) return shelf;
  const std::string_view number = name.substr(mark + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), shelf.slot);
  const bool is_number = error == std::errc() && end == number.data() + number.size();
  if (!is_number || shelf.slot >= kSlots || shelf.name() != name)
    return fail(ErrorCode::kInvalid, "a part of a history has no number from 1 to 255");
  return shelf;
}

}  // namespace tagring::redundancy
