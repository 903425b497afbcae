// Queues towards destinations, one request at a time each.
//
// Batching adapts by itself: towards an idle destination an item leaves at once; while a request is under
// way, items gather, and the next request carries all of them. A destination that fails is tried again after
// a randomised exponential backoff, with its items in order. One that takes a part of a batch does not fail:
// it may have a limit, and the rest follows after the first wait. One that answers, but wants what it got
// later, is asked again before long, and at once if there is something else for it; where order does not
// matter (QueueOptions::puts_aside), everything else goes before. One whose host is heard from is up, and is
// tried; one that asks for a pause gets it. After each request whoever waits for a place (places.hpp) comes
// before one that has more.
//
// Lanes hold no truth: what is in them is on disk, and comes back from there after a restart.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/task.hpp"
#include "base/time.hpp"
#include "queues/alarm.hpp"
#include "queues/backoff.hpp"
#include "queues/host_pauses.hpp"
#include "queues/places.hpp"
#include "ring/contact.hpp"

namespace tagring::queues {

struct QueueOptions {
  std::size_t batch_max = 500;            // items of one request
  std::size_t batch_bytes_max = 700'000;  // what they weigh together, or one item
  std::size_t concurrent_max = 128;       // batches under way, all lanes together
  Duration gather =
      Duration::zero();  // random wait up to this before a request that follows another: more per request
  Backoff backoff;
  std::size_t singles_max = 128;  // requests of one item each that are under way (inbox_lanes.hpp)
  // Nothing waits for what a destination that answers wants later, so that order is not kept.
  bool puts_aside = false;
};

struct QueueStatus {
  std::size_t waiting = 0;
  unsigned failures = 0;  // in a row
  // If there are any: the last one, as blame() had it, and when the first was.
  std::string reason;
  WallTime failing_since;
  bool is_down = false;  // more fails there than what one item may be the reason of
};

template <class Item>
class DeliveryQueues {
 public:
  // Sends a batch to a destination. Returns the items that must be tried again there, in order.
  using Send = std::function<Task<std::vector<Item>>(std::string destination, std::vector<Item> batch)>;
  // About how many bytes an item takes in a request.
  using Weigh = std::function<std::size_t(const Item& item)>;

  // Of a destination; null, or no such function, where it has none.
  using HostOf = std::function<std::shared_ptr<HostPauses::Host>(const std::string& destination)>;

  struct Sender {
    Send send;
    Weigh weigh = {};
    HostOf host_of = {};
  };

  DeliveryQueues(Clock& clock, Executor executor, Rng rng, QueueOptions options, Sender sender)
      : clock_(clock),
        executor_(executor),
        rng_(rng),
        options_(options),
        sender_(std::move(sender)),
        places_(options.concurrent_max),
        tasks_(std::move(executor)) {}

  // An idle lane waits a random time below `spread` before it sends: what goes to many destinations at once
  // must not bring them all to fetch the same post in the same moment.
  void push(const std::string& destination, Item item, Duration spread = Duration::zero()) {
    Lane& lane = lanes_[destination];
    if (lane.domain.empty()) lane.domain = domain_at(destination);
    lane.items.push_back(std::move(item));
    ++size_;
    if (!lane.running && spread > Duration::zero()) {
      lane.running = true;
      tasks_.spawn("lane", wait_and_start(destination, random_below(spread)));
    } else {
      wake(destination, lane);
    }
  }

  // For Send: why it returns what must be tried again.
  void blame(const std::string& destination, std::string reason) {
    const auto lane = lanes_.find(destination);
    if (lane != lanes_.end()) lane->second.reason = std::move(reason);
  }

  // For Send: the destination has answered; what is returned it wants later.
  void answered(const std::string& destination) {
    const auto lane = lanes_.find(destination);
    if (lane != lanes_.end()) lane->second.answers = true;
  }

  [[nodiscard]] Task<void> stop() {
    tasks_.cancel();
    co_await tasks_.join();
  }

  // Items waiting, those under way not included.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool idle() const { return size_ == 0 && places_.taken() == 0; }

  // Something for that destination waits or is under way.
  [[nodiscard]] bool contains(const std::string& destination) const { return lanes_.contains(destination); }

  // By destination.
  [[nodiscard]] std::map<std::string, QueueStatus> status() const {
    std::map<std::string, QueueStatus> result;
    for (const auto& [destination, lane] : lanes_) {
      QueueStatus& status = result[destination];
      status.waiting = lane.items.size() + lane.aside.size();
      if (lane.failures == 0) continue;
      status.failures = lane.failures;
      status.reason = lane.reason;
      status.failing_since = lane.failing_since;
    }
    return result;
  }

 private:
  static constexpr Duration kAnswersLater = std::chrono::seconds(45);
  // Nodes are few, and wait for what is theirs: none of them keeps it away for longer.
  static constexpr Duration kPauseMax = std::chrono::minutes(1);
  struct Lane {
    std::string domain;  // of the destination
    std::deque<Item> items;
    std::deque<Item> aside;  // QueueOptions::puts_aside
    Instant aside_until;     // if there are any
    bool running = false;
    bool answers = false;
    std::shared_ptr<Alarm> alarm;  // while it waits for another try, and answers
    unsigned failures = 0;
    Instant failed_first;
    std::string reason;
    WallTime failing_since;
  };

  Duration random_below(Duration limit) {
    return Duration(static_cast<Duration::rep>(rng_.below(static_cast<std::uint64_t>(limit.count()))));
  }

  std::string domain_at(const std::string& destination) const {
    const std::shared_ptr<HostPauses::Host> host = sender_.host_of ? sender_.host_of(destination) : nullptr;
    return host ? host->domain : ring::domain_of(destination);
  }

  void wake(const std::string& destination, Lane& lane) {
    if (lane.alarm) lane.alarm->ring();
    if (lane.running || lane.items.empty()) return;
    lane.running = true;
    start(destination);
  }

  Task<void> wait_and_start(std::string destination, Duration wait) {
    const Instant then = clock_.now() + wait;
    co_await clock_.sleep_until(then);
    start(destination);
  }

  void start(const std::string& destination) {
    if (places_.take(lanes_[destination].domain, destination)) tasks_.spawn("lane", run(destination));
  }

  std::vector<Item> take(Lane& lane) {
    const std::size_t most = std::min(lane.items.size(), options_.batch_max);
    std::size_t count = 0;
    for (std::size_t bytes = 0; count < most; ++count) {
      bytes += sender_.weigh ? sender_.weigh(lane.items[count]) : 0;
      if (count > 0 && bytes > options_.batch_bytes_max) break;
    }
    std::vector<Item> batch(std::make_move_iterator(lane.items.begin()),
                            std::make_move_iterator(lane.items.begin() + static_cast<std::ptrdiff_t>(count)));
    lane.items.erase(lane.items.begin(), lane.items.begin() + static_cast<std::ptrdiff_t>(count));
    size_ -= count;
    return batch;
  }

  // What must be tried again.
  void keep(Lane& lane, std::vector<Item> again) {
    if (lane.failures++ == 0) {
      lane.failing_since = clock_.wall_now();
      lane.failed_first = clock_.now();
    }
    size_ += again.size();
    const bool is_put_aside = options_.puts_aside && lane.answers;
    if (is_put_aside && lane.aside.empty())
      lane.aside_until = clock_.now() + std::min(wait_of(lane), kAnswersLater);
    std::deque<Item>& to = is_put_aside ? lane.aside : lane.items;
    to.insert(is_put_aside ? to.end() : to.begin(), std::make_move_iterator(again.begin()),
              std::make_move_iterator(again.end()));
  }

  void take_back_in_time(Lane& lane) {
    if (lane.aside.empty() || clock_.now() < lane.aside_until) return;
    lane.items.insert(lane.items.begin(), std::make_move_iterator(lane.aside.begin()),
                      std::make_move_iterator(lane.aside.end()));
    lane.aside.clear();
  }

  // After a failure.
  Duration wait_of(const Lane& lane) {
    return options_.backoff.wait(lane.failures, rng_, clock_.now() - lane.failed_first);
  }

  // With a place, which goes back after each batch, to who waits for one.
  Task<void> run(std::string destination) {
    const std::string domain = lanes_[destination].domain;
    for (;;) {
      lanes_[destination].answers = false;
      std::vector<Item> batch = take(lanes_[destination]);
      if (lanes_[destination].failures == 0) lanes_[destination].reason.clear();
      const std::size_t sent = batch.size();
      const Instant begun = clock_.now();
      std::vector<Item> again = co_await sender_.send(destination, std::move(batch));
      Lane& lane = lanes_[destination];  // the map may have changed while we waited
      if (again.size() < sent) lane.failures = 0;
      const bool failed = !again.empty();
      if (failed) keep(lane, std::move(again));
      if (lane.items.empty() && lane.aside.empty()) break;
      release(domain);
      if (failed && !lane.answers) {
        co_await wait_to_try(destination, wait_of(lane), begun);
      } else if (failed && !options_.puts_aside) {
        co_await wait_for_more(destination, std::min(wait_of(lane), kAnswersLater));
      } else if (lane.items.empty()) {
        co_await wait_or_ring(destination, lane.aside_until);
      } else if (options_.gather > Duration::zero()) {
        const Instant next = clock_.now() + random_below(options_.gather + Duration(1));
        co_await clock_.sleep_until(next);
      }
      take_back_in_time(lanes_[destination]);
      if (!places_.take(domain, destination)) co_return;
      if (lanes_[destination].items.empty()) break;
    }
    lanes_[destination].running = false;
    if (lanes_[destination].failures == 0) lanes_.erase(destination);
    release(domain);
  }

  // `begun`: when it was tried last. Whoever has spoken since then is up.
  Task<void> wait_to_try(std::string destination, Duration wait, Instant begun) {
    const Instant tried = clock_.now();
    const std::shared_ptr<HostPauses::Host> host = sender_.host_of ? sender_.host_of(destination) : nullptr;
    if (!host) {
      const Instant next = tried + wait;
      co_await clock_.sleep_until(next);
      co_return;
    }
    const Instant pause = std::min(host->deliver_again, tried + kPauseMax);
    Instant next = std::max(tried + wait, pause);
    while (clock_.now() < next) {
      if (host->heard > begun) {  // what it says besides changes nothing
        next = std::clamp(begun + HostPauses::kHeardEvery, pause, next);
        co_await clock_.sleep_until(next);
      } else {
        co_await host->alarm.wait_until(next);
      }
    }
  }

  // Until it is time, or something else is there to be sent; but not again and again.
  Task<void> wait_for_more(std::string destination, Duration wait) {
    const std::size_t before = lanes_[destination].items.size();
    const Instant next = clock_.now() + wait;
    const Instant soonest = std::min(next, clock_.now() + options_.backoff.first);
    co_await clock_.sleep_until(soonest);
    if (lanes_[destination].items.size() > before) co_return;
    co_await wait_or_ring(destination, next);
  }

  Task<void> wait_or_ring(std::string destination, Instant until) {
    const auto alarm = std::make_shared<Alarm>(clock_, executor_);
    lanes_[destination].alarm = alarm;
    co_await alarm->wait_until(until);
    lanes_[destination].alarm = nullptr;
  }

  void release(const std::string& domain) {
    places_.give_back(domain);
    while (std::optional<Places::Next> next = places_.next()) tasks_.spawn("lane", run(std::move(next->who)));
  }

  Clock& clock_;
  Executor executor_;
  Rng rng_;
  QueueOptions options_;
  const Sender sender_;
  std::map<std::string, Lane> lanes_;
  Places places_;  // of lanes
  std::size_t size_ = 0;
  TaskGroup tasks_;
};

}  // namespace tagring::queues
