// Counts what is under way for as long as it lives, however that ends.
#pragma once

#include <cstddef>

namespace tagring {

class Counted {
 public:
  explicit Counted(std::size_t& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::size_t& count_;
};

}  // namespace tagring
