#include "budget/lingering.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace tagring::budget {

Task<void> Lingering::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

void Lingering::let_go(const std::string& name, const std::string& host) {
  take_up(name);
  left_[name] = {clock_.now() + options_.after, host};
  if (!host.empty()) manager_.count(options_.resource, manager_.who(host));
  if (!std::exchange(watching_, true)) tasks_.spawn("lingering", drop_due());
}

void Lingering::take_up(const std::string& name) {
  const auto left = left_.extract(name);
  if (!left.empty() && !left.mapped().host.empty())
    manager_.give_back(options_.resource, manager_.who(left.mapped().host));
}

bool Lingering::is_of(const std::string& name, const std::string& host) const {
  const auto left = left_.find(name);
  return left != left_.end() && left->second.host == host;
}

Task<void> Lingering::drop_due() {
  while (!left_.empty()) {
    const Instant next = std::ranges::min(left_ | std::views::values, {}, &Left::until).until;
    co_await clock_.sleep_until(next);
    std::vector<std::string> due;
    for (const auto& [name, left] : left_) {
      if (left.until <= clock_.now()) due.push_back(name);
    }
    Result<void> done;
    if (!due.empty()) done = co_await drop_(due);
    for (const std::string& name : due) {
      const auto left = left_.find(name);
      if (left == left_.end() || left->second.until > clock_.now())
        continue;  // somebody has had it meanwhile
      if (done) {
        take_up(name);
      } else {
        left->second.until = clock_.now() + options_.after;
      }
    }
    const Instant later = clock_.now() + options_.every;
    co_await clock_.sleep_until(later);
  }
  watching_ = false;
}

}  // namespace tagring::budget
