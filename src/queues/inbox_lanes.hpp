// What goes to inboxes one by one: activities that do not concern each other do not wait for each other.
//
// Items of one thread (a post, say) go in the order in which they were pushed, one at a time, a moment apart:
// servers that take an activity before they act on it would see an Undo before what it undoes. Threads do not
// wait: while one has no answer, the next begins soon, and one that fails is tried again by itself, after a
// randomised exponential backoff. An inbox where several threads fail is taken to be down: then one item at a
// time tries it, of the thread that has failed least, and with the first that it takes, or with a signed
// activity from its host, all others go at once. A thread that failed again and again while others were taken
// says nothing of the inbox any more.
//
// Lanes hold no truth: what is in them is on disk, and comes back from there after a restart.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime.hpp"
#include "base/task.hpp"
#include "base/time.hpp"
#include "http/url.hpp"
#include "queues/alarm.hpp"
#include "queues/delivery_queues.hpp"
#include "queues/host_pauses.hpp"
#include "queues/places.hpp"

namespace tagring::queues {

template <class Item>
class InboxLanes {
 public:
  static constexpr Duration kApart = std::chrono::milliseconds(900);       // items of one thread
  static constexpr Duration kImpatience = std::chrono::milliseconds(300);  // before the next thread begins
  static constexpr std::size_t kAtOnce = 8;                                // requests to one inbox
  static constexpr std::size_t kDown = 3;   // threads that fail at an inbox that is down
  static constexpr unsigned kStubborn = 3;  // failures of a thread, with something taken between any two

  struct Outcome {
    bool done = true;  // taken, refused for good, or given up
    std::string why;   // not
    // Nothing was sent, which says nothing of the inbox: to be looked at again so much later.
    std::optional<Duration> later{};
    // Else there was nothing to send, which says nothing of the inbox either.
    bool sent = true;
    // Not done; but what waits in the thread besides need not wait for that.
    bool soon = false;
  };
  using Send = std::function<Task<Outcome>(std::string inbox, Item item)>;

  InboxLanes(QueueOptions options, HostPauses& hosts, const Runtime& runtime, Rng rng, Send send)
      : options_(options),
        hosts_(hosts),
        clock_(runtime.clock),
        executor_(runtime.executor),
        rng_(rng),
        send_(std::move(send)),
        places_(options.singles_max),
        tasks_(runtime.executor) {}

  // To be sent `wait` from now at the soonest. `tried`: it may have been sent before.
  void push(const std::string& inbox, const std::string& thread, Item item, Duration wait = {},
            bool tried = false) {
    Inbox& box = inboxes_[inbox];
    if (!box.host) {
      box.host = hosts_.of(host_of(inbox));
      box.alarm = std::make_unique<Alarm>(clock_, executor_);
    }
    const auto [turn, fresh] = box.turns.try_emplace(thread, next_turn_);
    if (fresh) ++next_turn_;
    Thread& lane = box.threads[turn->second];
    if (fresh) lane.name = thread;
    if (lane.items.empty()) lane.next = std::max(lane.next, clock_.now() + wait);
    lane.items.push_back({std::move(item), tried});
    ++size_;
    if (std::exchange(box.driven, true)) {
      box.alarm->ring();
    } else {
      tasks_.spawn("inbox", drive(inbox));
    }
  }

  // What waits in that thread after a failure need wait only so long from now, unless the inbox is down, or
  // its host has asked for a pause.
  void hasten(const std::string& inbox, const std::string& thread, Duration wait = {}) {
    const auto box = inboxes_.find(inbox);
    if (box == inboxes_.end()) return;
    const auto turn = box->second.turns.find(thread);
    if (turn == box->second.turns.end()) return;
    Thread& lane = box->second.threads[turn->second];
    lane.next = std::min(lane.next, std::max(lane.rest, clock_.now() + wait));
    box->second.alarm->ring();
  }

  // Takes back what waits for an inbox in a thread and `fits`: whether all of that was sent never, or may
  // have been.
  enum class TakenBack : std::uint8_t { kNothing, kUnsent, kTried };
  template <class Fits>
  TakenBack take_back(const std::string& inbox, const std::string& thread, Fits fits) {
    const auto box = inboxes_.find(inbox);
    if (box == inboxes_.end()) return TakenBack::kNothing;
    const auto turn = box->second.turns.find(thread);
    if (turn == box->second.turns.end()) return TakenBack::kNothing;
    Thread& lane = box->second.threads[turn->second];
    TakenBack taken = TakenBack::kNothing;
    // The one under way has left the queue.
    std::erase_if(lane.items, [&](const Waiting& waiting) {
      if (!fits(waiting.item)) return false;
      taken = std::max(taken, waiting.tried ? TakenBack::kTried : TakenBack::kUnsent);
      --size_;
      return true;
    });
    leave(box->second, turn->second);
    box->second.alarm->ring();
    return taken;
  }

  [[nodiscard]] Task<void> stop() {
    tasks_.cancel();
    co_await tasks_.join();
  }

  // Items waiting or under way.
  [[nodiscard]] std::size_t size() const { return size_ + active_; }
  [[nodiscard]] bool idle() const { return size_ == 0 && active_ == 0; }
  // By inbox.
  [[nodiscard]] std::map<std::string, QueueStatus> status() const {
    std::map<std::string, QueueStatus> result;
    for (const auto& [inbox, box] : inboxes_) {
      QueueStatus& status = result[inbox];
      unsigned worst = box.failures;
      for (const auto& [turn, lane] : box.threads) {
        status.waiting += lane.items.size();
        worst = std::max(worst, lane.failures);
      }
      if (worst == 0) continue;
      status.failures = worst;
      status.reason = box.reason;
      status.failing_since = box.failing_since;
      status.is_down = is_down(box);
    }
    return result;
  }

 private:
  struct Waiting {
    Item item;
    bool tried = false;
  };
  struct Thread {
    std::string name;
    std::deque<Waiting> items;
    bool under_way = false;
    unsigned failures = 0;           // in a row
    Instant failed_first;            // of those
    unsigned spells = 0;             // those between which the inbox took something else
    std::uint64_t taken_before = 0;  // by the inbox, at the last of them
    Instant next;                    // not before
    Instant rest;                    // what is pushed until then comes after what was sent
    [[nodiscard]] bool is_stubborn() const { return spells >= kStubborn; }
  };
  struct Inbox {
    std::map<std::uint64_t, Thread> threads;              // by turn: who came first goes first
    std::map<std::string, std::uint64_t> turns;           // by name
    std::set<std::pair<Instant, std::uint64_t>> resting;  // threads without items, until when
    std::shared_ptr<HostPauses::Host> host;
    std::unique_ptr<Alarm> alarm;  // of what concerns this inbox alone
    std::size_t under_way = 0;
    Instant begun;            // when the last request was
    std::uint64_t taken = 0;  // items
    std::size_t failing = 0;  // threads that are evidence of its being down
    unsigned failures = 0;    // in a row, of such threads
    Instant failed_first;     // of those
    Instant tried;            // when the last of them was begun
    Instant next;             // not before, while it is down
    std::string reason;
    WallTime failing_since;
    bool driven = false;
    bool queued = false;  // in line for a place
    bool called = false;  // has one, and has not begun
  };
  static constexpr Instant kNever = Instant::max();

  static bool is_down(const Inbox& box) { return box.failing >= kDown; }
  // Of the inbox being down: it has failed since anything was taken.
  static bool is_evidence(const Inbox& box, const Thread& lane) {
    return lane.failures > 0 && !lane.is_stubborn() && lane.taken_before == box.taken;
  }

  // A thread without items goes, but not before what comes next in it would be apart from what was sent.
  void leave(Inbox& box, std::uint64_t turn) {
    const auto lane = box.threads.find(turn);
    if (!lane->second.items.empty() || lane->second.under_way) return;
    if (lane->second.rest > clock_.now()) {
      box.resting.emplace(lane->second.rest, turn);
      return;
    }
    if (is_evidence(box, lane->second)) --box.failing;
    box.turns.erase(lane->second.name);
    box.threads.erase(lane);
  }
  void leave_rested(Inbox& box) {
    while (!box.resting.empty() && box.resting.begin()->first <= clock_.now()) {
      const std::uint64_t turn = box.resting.begin()->second;
      box.resting.erase(box.resting.begin());
      if (box.threads.contains(turn)) leave(box, turn);
    }
  }

  // The thread that may go on and has failed least, the first of those; or when to look again.
  std::pair<std::uint64_t, Instant> next_thread(Inbox& box) {
    const Instant now = clock_.now();
    const Instant rested = box.resting.empty() ? kNever : box.resting.begin()->first;
    if (box.under_way >= (is_down(box) ? 1 : kAtOnce)) return {0, rested};
    Instant soonest = box.host->deliver_again;
    if (is_down(box)) soonest = std::max(soonest, box.next);
    if (box.under_way > 0) soonest = std::max(soonest, box.begun + kImpatience);
    if (soonest > now) return {0, std::min(soonest, rested)};
    soonest = rested;
    const std::pair<const std::uint64_t, Thread>* best = nullptr;
    for (const auto& entry : box.threads) {
      const Thread& lane = entry.second;
      if (lane.under_way || lane.items.empty()) continue;
      if (lane.next > now) {
        soonest = std::min(soonest, lane.next);
      } else if (best == nullptr || lane.failures < best->second.failures) {
        best = &entry;
        if (lane.failures == 0) break;
      }
    }
    return best == nullptr ? std::pair{std::uint64_t{0}, soonest} : std::pair{best->first, now};
  }

  // Whoever is heard from is up: it is tried then, but not again and again while it only speaks.
  Instant heard_at(const Inbox& box) const {
    const bool is_tried = is_down(box) && box.under_way > 0;  // then it is heeded when that has failed
    const bool speaks = box.failures > 0 && box.host->heard > box.tried;
    return speaks && !is_tried ? box.tried + HostPauses::kHeardEvery : kNever;
  }
  void heed(Inbox& box) {
    if (heard_at(box) > clock_.now()) return;
    box.tried = box.next = clock_.now();
    go_on(box);
  }
  void go_on(Inbox& box) {
    const Instant now = clock_.now();
    for (auto& [turn, lane] : box.threads) {
      if (lane.failures > 0 && !lane.is_stubborn()) lane.next = std::min(lane.next, now);
    }
  }

  Task<void> drive(std::string inbox) {
    for (;;) {
      Inbox& box = inboxes_[inbox];
      leave_rested(box);
      if (box.threads.empty()) {
        hand_on(box);
        inboxes_.erase(inbox);
        co_return;
      }
      heed(box);
      const auto [turn, when] = next_thread(box);
      const bool wants_place = when <= clock_.now();
      if (!wants_place || !get_place(inbox, box)) {
        if (!wants_place) hand_on(box);
        const std::shared_ptr<HostPauses::Host> host = box.host;
        const Instant latest = std::min(heard_at(box), clock_.now() + std::chrono::hours(1));
        // Of many inboxes on one host those wait for its alarm to whom it says something new.
        const bool listens = box.failures > 0 && host->heard <= box.tried;
        co_await box.alarm->wait_until(wants_place ? latest : std::min(when, latest),
                                       listens ? &host->alarm : nullptr);
      } else {
        Thread& lane = box.threads[turn];
        lane.under_way = true;
        ++box.under_way;
        ++active_;
        box.begun = clock_.now();
        Waiting waiting = std::move(lane.items.front());
        lane.items.pop_front();
        --size_;
        tasks_.spawn("delivery", deliver(inbox, turn, std::move(waiting)));
      }
    }
  }

  Task<void> deliver(std::string inbox, std::uint64_t turn, Waiting waiting) {
    const Instant begun = clock_.now();
    Outcome outcome = co_await send_(inbox, waiting.item);
    Inbox& box = inboxes_[inbox];
    Thread& lane = box.threads[turn];
    lane.under_way = false;
    --box.under_way;
    --active_;
    const bool taken = outcome.done && outcome.sent;
    if (taken) {
      note_taken(box, lane);
    } else if (!outcome.done) {
      waiting.tried |= !outcome.later;
      lane.items.push_front(std::move(waiting));
      ++size_;
      if (outcome.later) {
        lane.next = clock_.now() + *outcome.later;
      } else {
        note_failure(box, lane, begun);
        box.reason = std::move(outcome.why);
        if (outcome.soon) lane.next = clock_.now();
      }
    }
    leave(box, turn);
    box.alarm->ring();
    if (taken) box.host->alarm.ring();
    places_.give_back(box.host->domain);
    call_next();
  }

  void note_taken(Inbox& box, Thread& lane) {
    const bool was_down = is_down(box);
    lane.failures = lane.spells = 0;
    lane.next = lane.rest = clock_.now() + kApart;
    box.failures = 0;
    box.failing = 0;
    ++box.taken;
    box.host->heard = clock_.now();  // by the other queues, too
    if (was_down) go_on(box);
  }

  void note_failure(Inbox& box, Thread& lane, Instant begun) {
    const bool was_evidence = is_evidence(box, lane);
    if (lane.failures == 0 || lane.taken_before != box.taken) ++lane.spells;
    lane.taken_before = box.taken;
    const Instant now = clock_.now();
    if (lane.failures == 0) lane.failed_first = now;
    lane.next = now + options_.backoff.wait(++lane.failures, rng_, now - lane.failed_first);
    if (lane.is_stubborn()) return;
    if (!was_evidence) ++box.failing;
    box.tried = std::max(box.tried, begun);  // whoever spoke while it hung is up
    if (box.failures++ == 0) {
      box.failing_since = clock_.wall_now();
      box.failed_first = now;
    }
    if (is_down(box))
      box.next = now + options_.backoff.wait(box.failures - static_cast<unsigned>(kDown) + 1, rng_,
                                             now - box.failed_first);
  }

  bool get_place(const std::string& inbox, Inbox& box) {
    if (std::exchange(box.called, false)) return true;
    if (!box.queued) box.queued = !places_.take(box.host->domain, inbox);
    return !box.queued;
  }
  // Who is called has the place from then on: others are awake before, and would take it.
  void call_next() {
    while (const std::optional<Places::Next> next = places_.next()) {
      const auto box = inboxes_.find(next->who);
      if (box == inboxes_.end() || !std::exchange(box->second.queued, false)) {
        places_.give_back(next->domain);
      } else {
        box->second.called = true;
        box->second.alarm->ring();
      }
    }
  }
  // Who was called for nothing.
  void hand_on(Inbox& box) {
    if (!std::exchange(box.called, false)) return;
    places_.give_back(box.host->domain);
    call_next();
  }

  QueueOptions options_;
  HostPauses& hosts_;
  Clock& clock_;
  Executor executor_;
  Rng rng_;
  const Send send_;
  std::map<std::string, Inbox> inboxes_;
  std::uint64_t next_turn_ = 1;
  std::size_t active_ = 0;
  std::size_t size_ = 0;
  Places places_;  // of inboxes
  TaskGroup tasks_;
};

}  // namespace tagring::queues
