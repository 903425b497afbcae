#include "belief/doubts.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/counted.hpp"
#include "http/url.hpp"
#include "ring/contact.hpp"

namespace tagring::belief {

Doubts::Doubts(PostChecker& checker, const Runtime& runtime, std::size_t most)
    : checker_(checker), most_(most), clock_(runtime.clock), log_(runtime.log), tasks_(runtime.executor) {}

Task<void> Doubts::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

bool Doubts::has(const std::string& relay, const Tag& tag) const {
  const auto heard = heard_.find(relay);
  return heard != heard_.end() && heard->second.by_tag.contains(tag);
}

bool Doubts::has_forgotten(const std::string& relay, const Tag& tag) {
  return forgotten_.erase({relay, tag}) > 0;
}

std::vector<TagEvent> Doubts::hear(std::vector<TagEvent> events, const std::string& relay,
                                   const PostChecker::Relayed& relayed, Taker& taker) {
  std::vector<TagEvent> believed;
  for (TagEvent& event : events) {
    if (event.op == Op::kAdd && !checker_.check_blocks(event)) continue;
    if (event.changed > clock_.wall_now() + kSkewMax) event.changed = clock_.wall_now();
    if (checker_.hear(event, relay, relayed)) {
      believed.push_back(std::move(event));
      continue;
    }
    make_room();
    const auto [heard, is_first] = heard_.try_emplace(relay);
    if (is_first) heard->second.domain = ring::domain_of(host_of(relay));
    ++heard->second.by_tag[event.tag];
    ++waiting_;
    heard->second.doubts.push_back({std::move(event), &taker, clock_.now(), clock_.now() + kWait});
    if (is_first) tasks_.spawn("doubts", resolve(relay));
  }
  return believed;
}

// The oldest goes of whom most is heard, of the registered domain of which most is, so that nobody pushes out
// what others say.
void Doubts::make_room() {
  if (waiting_ < most_) return;
  std::map<std::string_view, std::size_t> of_domain;
  for (const auto& [relay, heard] : heard_) of_domain[heard.domain] += heard.doubts.size();
  const auto most = std::ranges::max_element(heard_, {}, [&](const auto& entry) {
    return std::pair(of_domain.at(entry.second.domain), entry.second.doubts.size());
  });
  Heard& heard = most->second;
  if (heard.doubts.empty()) return;
  tagring::make_room(forgotten_, kForgottenMax);
  forgotten_.emplace(most->first, heard.doubts.front().event.tag);
  forget(heard, heard.doubts.front().event.tag);
  heard.doubts.pop_front();
}

void Doubts::forget(Heard& heard, const Tag& tag) {
  const auto count = heard.by_tag.find(tag);
  if (--count->second == 0) heard.by_tag.erase(count);
  --waiting_;
}

Task<void> Doubts::resolve(std::string relay) {
  Heard& heard = heard_.at(relay);  // erased here only
  while (!heard.doubts.empty()) {
    // Nobody is asked about what another one has said as well.
    const Doubt& first = heard.doubts.front();
    const Duration pause = checker_.is_said_by_two(first.event) ? Duration::zero() : kBetween;
    const Instant due = std::max(first.due, clock_.now() + pause);
    co_await clock_.sleep_until(due);
    if (heard.doubts.empty()) break;
    Doubt doubt = std::move(heard.doubts.front());
    heard.doubts.pop_front();
    const Tag tag = doubt.event.tag;
    const bool is_decided = co_await resolve_one(doubt, relay);
    if (is_decided) {
      forget(heard, tag);
    } else {
      doubt.due = clock_.now() + kWait;
      heard.doubts.push_back(std::move(doubt));
    }
  }
  heard_.erase(relay);
}

Task<bool> Doubts::resolve_one(Doubt doubt, std::string relay) {
  Result<TagEvent> event = co_await checker_.look_into(doubt.event, std::move(relay));
  if (!event) co_return event.error().code != ErrorCode::kBusy || clock_.now() - doubt.heard >= kGivenUp;
  const std::string uri = event->uri;
  std::vector<TagEvent> believed = {std::move(*event)};
  const Result<void> taken = co_await doubt.taker->take_believed(std::move(believed));
  if (!taken) log_.error("post_not_written", {{"post", uri}, {"because", taken.error().message}});
  co_return taken.has_value() || clock_.now() - doubt.heard >= kGivenUp;
}

}  // namespace tagring::belief
