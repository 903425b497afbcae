// Bounds in memory: what is under way is counted, and what is remembered makes room.
#pragma once

#include <cstddef>
#include <utility>

namespace tagring {

// Counts for as long as it lives, however that ends.
class Counted {
 public:
  explicit Counted(std::size_t& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::size_t& count_;
};

// Is in a set for as long as it lives, however that ends: not if somebody else's was there before.
template <class Set>
class Held {
 public:
  Held(Set& set, typename Set::value_type value) : set_(set), place_(set.insert(std::move(value))) {}
  ~Held() {
    if (place_.second) set_.erase(place_.first);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  [[nodiscard]] bool is_first() const { return place_.second; }

 private:
  Set& set_;
  std::pair<typename Set::iterator, bool> place_;
};

// Every eighth goes, or one of a few; `gone` sees each before.
template <class Container, class Gone>
void drop_some(Container& container, Gone gone) {
  constexpr std::size_t kStep = 8;
  const std::size_t step = container.size() < kStep ? 1 : kStep;
  std::size_t place = 0;
  for (auto entry = container.begin(); entry != container.end();) {
    if (++place % step != 0) {
      ++entry;
      continue;
    }
    gone(*entry);
    entry = container.erase(entry);
    if (step == 1) return;
  }
}

// Before something is added to a map or set of `most` entries at most: every eighth goes. Not all of them, or
// whoever fills it makes the node forget what it needs of others; nor the first, or that would be those of
// others again and again, for who fills it with what is sorted behind them.
template <class Container>
void make_room(Container& container, std::size_t most) {
  if (container.size() >= most) drop_some(container, [](const auto&) {});
}

}  // namespace tagring
