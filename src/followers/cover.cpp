#include "followers/cover.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

namespace tagring::followers {
namespace {

constexpr std::size_t kExactMax = 10;  // groups: 1024 choices

using Places = std::vector<std::size_t>;  // of groups, ascending
// How many who are not reached yet are in exactly these groups. Whoever is in the same ones is reached by the
// same choices, and there may be very many of them.
using Kinds = std::map<Places, std::size_t>;

Kinds kinds_of(const std::vector<Audience>& groups, const Audience& reached) {
  std::map<std::string_view, Places> groups_of;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const std::string_view who : groups[i])
      if (!reached.contains(who)) groups_of[who].push_back(i);
  }
  Kinds kinds;
  for (const auto& [who, places] : groups_of) ++kinds[places];
  return kinds;
}

std::vector<std::size_t> exact_cover(std::size_t groups, const Kinds& left) {
  std::vector<unsigned> masks;
  for (const auto& [places, count] : left) {
    unsigned mask = 0;
    for (const std::size_t i : places) mask |= 1U << i;
    masks.push_back(mask);
  }
  std::optional<unsigned> best;
  for (unsigned choice = 0; choice < 1U << groups; ++choice) {
    // Of equal size, that with the first groups: their bits are the lowest, so it comes first.
    if (best && std::popcount(choice) >= std::popcount(*best)) continue;
    if (std::ranges::all_of(masks, [&](unsigned mask) { return (choice & mask) != 0; })) best = choice;
  }
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < groups; ++i) {
    if ((best.value_or(0) >> i & 1U) != 0) chosen.push_back(i);
  }
  return chosen;
}

}  // namespace

std::vector<std::size_t> smallest_cover(const std::vector<Audience>& groups, const Audience& reached) {
  Kinds left = kinds_of(groups, reached);
  if (left.empty()) return {};
  if (groups.size() <= kExactMax) return exact_cover(groups.size(), left);
  std::vector<std::size_t> chosen;
  while (!left.empty()) {
    std::vector<std::size_t> gains(groups.size());
    for (const auto& [places, count] : left)
      for (const std::size_t i : places) gains[i] += count;
    const auto most = static_cast<std::size_t>(std::ranges::max_element(gains) - gains.begin());
    std::erase_if(left, [&](const auto& kind) { return std::ranges::binary_search(kind.first, most); });
    chosen.push_back(most);
  }
  return chosen;
}

}  // namespace tagring::followers
