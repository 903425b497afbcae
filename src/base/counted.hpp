// Bounds in memory: what is under way is counted, and what is remembered makes room.
#pragma once

#include <cstddef>

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

// Before something is added to a map or set of `most` entries at most: one goes. Not all of them, or whoever
// fills it makes the node forget what it needs of others.
template <class Container>
void make_room(Container& container, std::size_t most) {
  if (container.size() >= most) container.erase(container.begin());
}

}  // namespace tagring
