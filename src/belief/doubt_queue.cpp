#include "belief/doubt_queue.hpp"

#include "base/counted.hpp"
#include "ring/contact.hpp"

namespace tagring::belief {
namespace {
constexpr std::size_t kLatelyMax = 10'000;
}

Task<void> DoubtQueue::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

void DoubtQueue::add(const Tag& tag, const std::string& host) {
  const auto known = lately_.find(tag);
  if (known != lately_.end() && clock_.now() - known->second < kAgainAfter) return;
  const std::string domain = ring::domain_of(host);
  const auto of_domain = of_domain_.find(domain);
  const bool is_full =
      waiting_.size() >= kWaitingMax || (of_domain != of_domain_.end() && of_domain->second >= kOfDomainMax);
  if (is_full) return;
  make_room(lately_, kLatelyMax);
  lately_[tag] = clock_.now();
  ++of_domain_[domain];
  waiting_.push_back({tag, domain});
  if (working_ >= kAtOnceMax) return;
  ++working_;
  tasks_.spawn("consider", work());
}

Task<void> DoubtQueue::work() {
  while (!waiting_.empty()) {
    Doubt doubt = std::move(waiting_.front());
    waiting_.pop_front();
    co_await consider_(std::move(doubt.tag));
    const auto of_domain = of_domain_.find(doubt.domain);
    if (--of_domain->second == 0) of_domain_.erase(of_domain);
  }
  --working_;
}

}  // namespace tagring::belief
