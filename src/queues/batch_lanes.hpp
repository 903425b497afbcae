// Like inbox_lanes.hpp, for inboxes that take many items in a request: what waits in a thread goes together,
// up to options.batch_max of it. So items of one thread wait for each other, and for those of no other; and
// an inbox that is down, or has asked for a pause, is tried by one thread at a time, or by none.
//
// A request that is not taken is followed by one of half as many items; who sends puts others first. So what
// an inbox never takes stands alone after some requests, and the rest of its thread goes past it.
//
// Lanes hold no truth: what is in them is on disk, and comes back from there after a restart.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "queues/inbox_lanes.hpp"

namespace tagring::queues {

template <class Item>
class BatchLanes {
 public:
  struct Outcome {
    std::vector<Item> again = {};  // in the order in which they are to be tried; the others are done with
    std::size_t tried = 0;         // items of the request; 0: there was nothing to send
    bool taken = false;            // all of these
    std::string why = {};          // the thread has failed, and waits; empty: there was an answer
  };
  // Makes one request of `most` items at most, of those that wait in that thread.
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
    batch->second.items.push_back(std::move(item));
    ++size_;
    if (fresh) lanes_.push(inbox, thread, thread, wait);
  }

  [[nodiscard]] Task<void> stop() { return lanes_.stop(); }

  // Items waiting or under way.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool idle() const { return size_ == 0 && lanes_.idle(); }
  // By inbox. Those under way do not wait.
  [[nodiscard]] std::map<std::string, QueueStatus> status() const {
    std::map<std::string, QueueStatus> result = lanes_.status();
    for (auto& [inbox, status] : result) status.waiting = 0;
    for (const auto& [place, batch] : batches_) result[place.first].waiting += batch.items.size();
    return result;
  }

 private:
  using Lanes = InboxLanes<std::string>;  // of threads, each of which stands there once
  struct Batch {
    std::size_t most;  // of the next request
    std::vector<Item> items = {};
  };

  Task<typename Lanes::Outcome> send_next(std::string inbox, std::string thread) {
    const auto place = batches_.find({inbox, thread});
    Batch& batch = place->second;  // nobody else takes it out
    std::vector<Item> items = std::exchange(batch.items, {});
    const std::size_t count = items.size();
    Outcome outcome = co_await send_(inbox, thread, std::move(items), batch.most);
    size_ -= count - outcome.again.size();
    if (outcome.taken) {
      batch.most = std::min(batch_max_, 2 * batch.most);
    } else if (outcome.tried > 0) {
      batch.most = std::max<std::size_t>(1, outcome.tried / 2);
    }
    batch.items.insert(batch.items.begin(), std::make_move_iterator(outcome.again.begin()),
                       std::make_move_iterator(outcome.again.end()));
    typename Lanes::Outcome told;
    told.sent = outcome.tried > 0;
    if (batch.items.empty()) {
      batches_.erase(place);
    } else if (outcome.why.empty()) {
      lanes_.push(inbox, thread, thread);
    } else {
      told.done = false;
      told.why = std::move(outcome.why);
    }
    co_return told;
  }

  std::size_t batch_max_;
  Send send_;
  std::map<std::pair<std::string, std::string>, Batch> batches_;  // of threads that wait or are under way
  std::size_t size_ = 0;
  Lanes lanes_;
};

}  // namespace tagring::queues
