#include "balance/layout.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace tagring::balance {
namespace {

using Key = std::uint64_t Identity::*;
constexpr Key kKeys[] = {&Identity::node, &Identity::network, &Identity::domain};

// Where a segment begins and ends once the copies' distance is the whole circle.
class Fold {
 public:
  void add(const Segment& keys, unsigned copies) {
    const double part = part_of_hashtags(keys, copies);
    const double from = keys.from.fraction() * copies;
    const double begin = from - std::floor(from);
    const double rest = part - std::floor(part);
    everywhere_ += std::floor(part);
    steps_.emplace_back(begin, 1);
    if (begin + rest < 1) {
      steps_.emplace_back(begin + rest, -1);
      return;
    }
    steps_.emplace_back(0, 1);
    steps_.emplace_back(begin + rest - 1, -1);
  }

  // Over the circle, the mean of how many segments there are but one.
  [[nodiscard]] double surplus() {
    std::ranges::sort(steps_);
    double sum = 0;
    double at = 0;
    double layers = everywhere_;
    const auto go_to = [&](double next) {
      sum += std::max(0.0, layers - 1) * (next - at);
      at = next;
    };
    for (const auto& [next, change] : steps_) {
      go_to(next);
      layers += change;
    }
    go_to(1);
    return sum;
  }

 private:
  std::vector<std::pair<double, int>> steps_;
  double everywhere_ = 0;
};

double together_at(const Layout& layout, Key key, std::uint64_t whose) {
  Fold fold;
  for (const Owned& owned : layout.known) {
    if (owned.by.*key == whose) fold.add(owned.keys, layout.copies);
  }
  return fold.surplus();
}

double part_at(const Layout& layout, const RingId& vserver) {
  const auto at = std::ranges::find(layout.known, vserver, [](const Owned& owned) { return owned.keys.to; });
  return at == layout.known.end() ? 0 : part_of_hashtags(at->keys, layout.copies);
}

}  // namespace

double part_of_hashtags(const Segment& keys, unsigned copies) {
  if (keys.from == keys.to) return copies;
  return clockwise_distance(keys.from, keys.to).fraction() * copies;
}

double Layout::together_here() const { return together_at(*this, &Identity::node, self.node); }

std::size_t Layout::nodes() const {
  std::set<std::uint64_t> different;
  for (const Owned& owned : known) different.insert(owned.by.node);
  return different.size();
}

Layout Layout::moved(const RingId& from, const RingId& to) const {
  Layout after = *this;
  const auto left = std::ranges::find(after.known, from, [](const Owned& owned) { return owned.keys.to; });
  if (left != after.known.end()) {
    const RingId begin = left->keys.from;
    after.known.erase(left);
    const auto heir =
        std::ranges::find(after.known, from, [](const Owned& owned) { return owned.keys.from; });
    if (heir != after.known.end()) heir->keys.from = begin;
  }
  const auto split = std::ranges::find_if(after.known, [&](const Owned& o) { return o.keys.contains(to); });
  if (split == after.known.end()) return after;
  const RingId begin = std::exchange(split->keys.from, to);
  after.known.push_back({{begin, to}, self});
  return after;
}

Layout::Change Layout::change(const RingId& from, const RingId& to) const {
  const Layout after = moved(from, to);
  Change change{.parted = 0, .carried = part_at(*this, from) + part_at(after, to)};
  for (const Key key : kKeys) {
    // This node's, who inherits from it, and who has had what it takes.
    std::set<std::uint64_t> touched = {self.*key};
    for (const Owned& owned : known) {
      if (owned.keys.from == from || owned.keys.contains(to)) touched.insert(owned.by.*key);
    }
    for (const std::uint64_t whose : touched)
      change.parted += together_at(*this, key, whose) - together_at(after, key, whose);
  }
  return change;
}

}  // namespace tagring::balance
