#include "redundancy/partition.hpp"

#include <charconv>
#include <fmt/format.h>

namespace tagring::redundancy {

std::string Partition::name() const {
  return number == 0 ? tag.canonical() : fmt::format("{}/{}", tag.canonical(), number);
}

Partition Partition::from_name(std::string_view name) {
  const std::size_t mark = name.find('/');
  Partition partition(Tag::from_canonical(std::string(name.substr(0, mark))));
  if (mark != std::string_view::npos)
    std::from_chars(name.data() + mark + 1, name.data() + name.size(), partition.number);
  return partition;
}

Result<Partition> Partition::parse(std::string_view name) {
  TRY_VOID(Tag::parse_canonical(name.substr(0, name.find('/'))));
  Partition partition = from_name(name);
  if (partition.number >= kPartitionsMax || partition.name() != name)
    return fail(ErrorCode::kInvalid, "a part of a history has no number from 1 to 255");
  return partition;
}

}  // namespace tagring::redundancy
