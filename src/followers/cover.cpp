#include "followers/cover.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace tagring::followers {
namespace {

constexpr std::size_t kExactMax = 10;  // groups: 1024 choices

Audience left_of(const std::vector<Audience>& groups, const Audience& reached) {
  Audience left;
  for (const Audience& group : groups) {
    std::ranges::set_difference(group, reached, std::inserter(left, left.end()));
  }
  return left;
}

std::vector<std::size_t> exact_cover(const std::vector<Audience>& groups, const Audience& left) {
  std::optional<unsigned> best;
  for (unsigned choice = 0; choice < 1U << groups.size(); ++choice) {
    const int size = std::popcount(choice);
    // Of equal size, that with the first groups: their bits are the lowest, so it comes first.
    if (best && size >= std::popcount(*best)) continue;
    const bool covers = std::ranges::all_of(left, [&](std::string_view who) {
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if ((choice >> i & 1U) != 0 && groups[i].contains(who)) return true;
      }
      return false;
    });
    if (covers) best = choice;
  }
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if ((best.value_or(0) >> i & 1U) != 0) chosen.push_back(i);
  }
  return chosen;
}

}  // namespace

std::vector<std::size_t> smallest_cover(const std::vector<Audience>& groups, const Audience& reached) {
  Audience left = left_of(groups, reached);
  if (left.empty()) return {};
  if (groups.size() <= kExactMax) return exact_cover(groups, left);
  std::vector<std::size_t> chosen;
  while (!left.empty()) {
    const auto gain = [&](const Audience& group) {
      return std::ranges::count_if(group, [&](std::string_view who) { return left.contains(who); });
    };
    const auto most = std::ranges::max_element(groups, {}, gain);
    for (const std::string_view who : *most) left.erase(who);
    chosen.push_back(static_cast<std::size_t>(most - groups.begin()));
  }
  return chosen;
}

}  // namespace tagring::followers
