// Bounds in memory: what is under way is counted, and what is remembered makes room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
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

// What many have in one place that is bounded, by whom it is of: an address, or a registered domain. Where
// all is taken, who has most gives way to who has less: as long as those who fill it are fewer than the
// places, whoever is new finds one, and who has much is cut to a fair share. As many as there are places shut
// out everybody else. Whose something is, is for the caller to know: who has proved to be the one, and never
// who is merely named.
template <class Items>
class Shares {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t of(const std::string& who) const {
    const Items* its = find(who);
    return its == nullptr ? 0 : its->size();
  }
  // Null if they have nothing.
  [[nodiscard]] const Items* find(const std::string& who) const {
    const auto its = items_.find(who);
    return its == items_.end() ? nullptr : &its->second;
  }
  // There must be somebody.
  [[nodiscard]] const std::string& heaviest() const { return by_size_.rbegin()->second; }
  // Sees to it that there is room for one more of `who`'s, where there are `most` at most: who has most gives
  // way by `drop`, which takes one of theirs away. False if nobody has so much more that they would not only
  // change places, or two could drive out each other's without end.
  template <class Drop>
  [[nodiscard]] bool make_room(const std::string& who, std::size_t most, Drop drop) {
    if (size_ < most) return true;
    if (empty() || by_size_.rbegin()->first <= of(who) + 1) return false;
    change(heaviest(), drop);
    return true;
  }
  // Whose something goes for one more of `who`'s, where what is new always takes the place of something:
  // theirs who have most; or, if nobody has so much more, that of `who`; or, of those who have as little as
  // one who is new, whose is the first by `before`. There must be somebody.
  template <class Before>
  [[nodiscard]] const std::string& gives_way_to(const std::string& who, Before before) const {
    if (by_size_.rbegin()->first > of(who) + 1) return heaviest();
    const auto its = items_.find(who);
    if (its != items_.end()) return its->first;
    return std::ranges::min_element(items_, before, &Of::value_type::second)->first;
  }
  // Those who have something.
  [[nodiscard]] std::size_t holders() const { return items_.size(); }
  // Those who have something take turns: who comes after that one. There must be somebody.
  [[nodiscard]] const std::string& next_after(const std::string& who) const {
    const auto next = items_.upper_bound(who);
    return (next == items_.end() ? items_.begin() : next)->first;
  }

  // All changes to what somebody has are made here, in `make`, which gets it.
  template <class Make>
  auto change(const std::string& who, Make make) {
    const Resized resized(*this, items_.try_emplace(who).first);
    return make(resized.its->second);
  }
  template <class Make>
  void change_all(Make make) {
    for (auto next = items_.begin(); next != items_.end();) {
      const Resized resized(*this, next++);
      make(resized.its->second);
    }
  }

 private:
  using Of = std::map<std::string, Items>;
  // Counts anew when somebody's have been changed; who has nothing is forgotten.
  struct Resized {
    Resized(Shares& all, Of::iterator changed) : shares(all), its(changed), before(its->second.size()) {}
    ~Resized() {
      const std::size_t now = its->second.size();
      if (now != before) {
        shares.by_size_.erase({before, its->first});
        if (now > 0) shares.by_size_.emplace(now, its->first);
        shares.size_ = shares.size_ - before + now;
      }
      if (now == 0) shares.items_.erase(its);
    }
    Resized(const Resized&) = delete;
    Resized& operator=(const Resized&) = delete;
    Shares& shares;
    Of::iterator its;
    std::size_t before;
  };

  Of items_;
  std::set<std::pair<std::size_t, std::string>> by_size_;
  std::size_t size_ = 0;
};

// The same where nothing that is there can be taken away again: one may have more as long as they have less
// than is left (Choudhury and Hahne, "Dynamic queue length thresholds", 1998). One alone has half of the
// places at most, two a third each: there is always one for who has none, unless those who fill it are as
// many as a good part of the places.
class DynamicThreshold {
 public:
  explicit DynamicThreshold(std::size_t most) : most_(most) {}
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t of(const std::string& who) const {
    const auto its = counts_.find(who);
    return its == counts_.end() ? 0 : its->second;
  }
  [[nodiscard]] bool has_room(const std::string& who) const {
    return size_ < most_ && of(who) < most_ - size_;
  }
  void add(const std::string& who) {
    ++counts_[who];
    ++size_;
  }
  // They must have one.
  void remove(const std::string& who) {
    const auto its = counts_.find(who);
    if (--its->second == 0) counts_.erase(its);
    --size_;
  }

 private:
  std::size_t most_;
  std::size_t size_ = 0;
  std::map<std::string, std::size_t> counts_;
};

}  // namespace tagring
