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
  const auto drop_newest = [this](std::deque<Tag>& its) {
    lately_.erase(its.back());
    its.pop_back();
  };
  if (waiting_.of(domain) >= kOfDomainMax || !waiting_.make_room(domain, kWaitingMax, drop_newest)) return;
  make_room(lately_, kLatelyMax);
  lately_[tag] = clock_.now();
  waiting_.change(domain, [&](std::deque<Tag>& its) { its.push_back(tag); });
  if (working_ >= kAtOnceMax) return;
  ++working_;
  tasks_.spawn("consider", work());
}

Task<void> DoubtQueue::work() {
  while (!waiting_.empty()) {
    last_ = waiting_.next_after(last_);
    Tag next = waiting_.change(last_, [](std::deque<Tag>& its) {
      Tag first = std::move(its.front());
      its.pop_front();
      return first;
    });
    co_await consider_(std::move(next));
  }
  --working_;
}

}  // namespace tagring::belief
