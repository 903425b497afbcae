// Like inbox_lanes.hpp, for inboxes that take many items in a request: what waits in a thread goes together,
// up to options.batch_max of it. So items of one thread wait for each other, and for those of no other; and
// an inbox that is down, or has asked for a pause, is tried by one thread at a time, or by none.
//
// What has failed comes after what was not tried yet, and not in the same request. A request that may have
// been too much for the inbox is followed by one of half as many items. So what an inbox never takes stands
// alone after some requests, and then whatever is pushed goes past it at once.
//
// Lanes hold no truth: what is in them is on disk, and comes back from there after a restart.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "queues/inbox_lanes.hpp"

namespace tagring::queues {

template <class Item>
class BatchLanes {
 public:
  // What is in neither of the two vectors is done with.
  struct Outcome {
    std::vector<Item> left = {};    // not of the request, in the order in which they came
    std::vector<Item> failed = {};  // of the request, to be tried again
    std::size_t tried = 0;          // items of the request; 0: there was nothing to send
    bool taken = false;             // all of these
    bool divides = false;           // not taken, and fewer of them, or others, may be
    std::string why = {};           // the thread has failed, and waits; empty: there was an answer
  };
  // Makes one request of the first `most` items at most, of those that wait in that thread.
  using Send = std::function<Task<Outcome>(std::string inbox, std::string thread, std::vector<Item> items,
                                           std::size_t most)>;

  BatchLanes(QueueOptions options, HostPauses& hosts, const Runtime& runtime, Rng rng, Send send)
      : batch_max_(options.batch_max),
        send_(std::move(send)),
        lanes_(options, hosts, runtime, rng, [this](std::string inbox, std::string thread) {
          return send_next(std::move(inbox), std::move(thread));
        }) {}

  // To be sent `wait` from now at the soonest, if nothing of that thread waits already.
  void push(const std::string& inbox, const std::string& thread, Item item, Duration wait = {}) {
    const auto [batch, fresh] = batches_.try_emplace({inbox, thread}, Batch{batch_max_});
    batch->second.untried.push_back(std::move(item));
    ++size_;
    if (fresh) {
      lanes_.push(inbox, thread, thread, wait);
    } else if (batch->second.failed_alone) {
      lanes_.hasten(inbox, thread, wait);
    }
  }

  [[nodiscard]] Task<void> stop() { return lanes_.stop(); }

  // Items waiting or under way.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool idle() const { return size_ == 0 && lanes_.idle(); }
  // By inbox. Those under way do not wait.
  [[nodiscard]] std::map<std::string, QueueStatus> status() const {
    std::map<std::string, QueueStatus> result = lanes_.status();
    for (auto& [inbox, status] : result) status.waiting = 0;
    for (const auto& [place, batch] : batches_) result[place.first].waiting += batch.size();
    return result;
  }

 private:
  using Lanes = InboxLanes<std::string>;  // of threads, each of which stands there once
  struct Batch {
    std::size_t most;  // of the next request
    std::vector<Item> untried = {};
    std::vector<Item> failed = {};
    bool failed_alone = false;  // the item of the last request, which says nothing of others
    [[nodiscard]] std::size_t size() const { return untried.size() + failed.size(); }
  };

  Task<typename Lanes::Outcome> send_next(std::string inbox, std::string thread) {
    const auto place = batches_.find({inbox, thread});
    Batch& batch = place->second;  // nobody else takes it out
    std::vector<Item> items = std::exchange(batch.untried, {});
    const std::size_t most = items.empty() ? batch.most : std::min(batch.most, items.size());
    std::vector<Item> failed = std::exchange(batch.failed, {});
    const std::set<Item> failed_before(failed.begin(), failed.end());
    std::ranges::move(failed, std::back_inserter(items));
    const std::size_t count = items.size();
    Outcome outcome = co_await send_(inbox, thread, std::move(items), most);
    size_ -= count - outcome.left.size() - outcome.failed.size();
    note(batch, outcome);
    const bool comes_soon = batch.failed_alone && !batch.untried.empty();  // by what came meanwhile
    std::vector<Item> untried;
    for (Item& item : outcome.left)
      (failed_before.contains(item) ? batch.failed : untried).push_back(std::move(item));
    std::ranges::move(outcome.failed, std::back_inserter(batch.failed));
    std::ranges::move(batch.untried, std::back_inserter(untried));
    batch.untried = std::move(untried);
    typename Lanes::Outcome told;
    told.sent = outcome.tried > 0;
    if (batch.size() == 0) {
      batches_.erase(place);
    } else if (outcome.why.empty()) {
      lanes_.push(inbox, thread, thread);
    } else {
      told.done = false;
      told.why = std::move(outcome.why);
      told.soon = comes_soon;
    }
    co_return told;
  }

  void note(Batch& batch, const Outcome& outcome) const {
    if (outcome.tried == 0) return;
    batch.failed_alone = outcome.divides && outcome.tried == 1;
    if (outcome.taken) batch.most = std::min(batch_max_, 2 * batch.most);
    if (outcome.divides) batch.most = std::max<std::size_t>(1, outcome.tried / 2);
  }

  std::size_t batch_max_;
  const Send send_;
  std::map<std::pair<std::string, std::string>, Batch> batches_;  // of threads that wait or are under way
  std::size_t size_ = 0;
  Lanes lanes_;
};

}  // namespace tagring::queues
