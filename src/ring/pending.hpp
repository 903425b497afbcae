// Keeps an operation of a vserver marked as pending while it runs, also if whoever waits for it is cancelled.
#pragma once

#include "base/assert.hpp"

namespace tagring::ring {

class Pending {
 public:
  explicit Pending(bool& flag) : flag_(flag) {
    TR_ASSERT(!flag_);
    flag_ = true;
  }
  ~Pending() { flag_ = false; }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

 private:
  bool& flag_;
};

}  // namespace tagring::ring
