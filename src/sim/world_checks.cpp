// What an onlooker sees of the whole: are the rings whole, is everything at rest, and what do people read?
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "delivery/store.hpp"
#include "hashtag/tag.hpp"
#include "node/node.hpp"
#include "ring/codec.hpp"
#include "ring/membership.hpp"
#include "ring/vserver.hpp"
#include "ring_sim/loop.hpp"
#include "ring_sim/oracle.hpp"
#include "ring_sim/watch.hpp"
#include "sim/world.hpp"
#include "storage/history.hpp"

namespace tagring::sim {

ring_sim::RingView World::view(Ring ring) const {
  ring_sim::RingView result;
  for (const std::size_t i : up()) {
    node::Node* node = running(i);
    if (node == nullptr) continue;
    for (const auto& vserver : node->rings().of(ring).vservers()) {
      if (vserver->is_member()) result.emplace(vserver->self().id, vserver.get());
    }
  }
  return result;
}

void World::watch() {
  const ring::Tuning tuning;
  for (const Ring ring : {Ring::kRelay, Ring::kStorage})
    watches_.emplace(ring, ring_sim::RingWatch(tuning.successors, tuning.call_timeout));
}

void World::set_inside(bool inside) {
  for (auto& [ring, watch] : watches_) watch.set_inside(inside);
}

void World::check_after_event() {
  if (watches_.empty()) return;
  const ring_sim::OwnerId owner = loop.last_event_owner();
  const auto host = host_of_owner_.find(owner);
  node::Node* node = host == host_of_owner_.end() ? nullptr : running(host->second);
  for (auto& [ring, watch] : watches_) {
    const ring::Membership* membership = node == nullptr ? nullptr : &node->rings().of(ring);
    watch.after_event(owner, membership, loop.now(), [this, which = ring] { return view(which); });
  }
}

std::optional<std::string> World::broken() const {
  for (const auto& [ring, watch] : watches_) {
    if (watch.broken()) return fmt::format("{} ring: {}", ring::to_string(ring), *watch.broken());
  }
  return std::nullopt;
}

std::uint64_t World::checks() const {
  std::uint64_t sum = 0;
  for (const auto& [ring, watch] : watches_) sum += watch.checks();
  return sum;
}

bool World::may_crash(std::size_t i) const {
  node::Node* node = running(i);
  if (node == nullptr) return false;
  return std::ranges::all_of(std::array{Ring::kRelay, Ring::kStorage}, [&](Ring ring) {
    std::vector<RingId> gone;
    for (const auto& vserver : node->rings().of(ring).vservers()) gone.push_back(vserver->self().id);
    return watches_.at(ring).may_crash(view(ring), gone, loop.now());
  });
}

std::string World::unsettled(const std::vector<std::size_t>& among) {
  for (const Ring ring : {Ring::kRelay, Ring::kStorage}) {
    std::map<RingId, Segment> segments;
    for (const std::size_t i : among) {
      if (running(i) == nullptr) return fmt::format("node {} is starting", i);
      for (const auto& vserver : node(i).rings().of(ring).vservers()) {
        const auto serving = vserver->serving();
        if (!serving || vserver->missing())
          return fmt::format("node {} does not serve all its part of the {} ring", i, ring::to_string(ring));
        segments[vserver->self().id] = *serving;
      }
    }
    if (segments.empty()) return fmt::format("the {} ring has no member", ring::to_string(ring));
    // Each begins where the one before it ends.
    RingId before = segments.rbegin()->first;
    for (const auto& [id, segment] : segments) {
      if (segments.size() > 1 && segment.from != before)
        return fmt::format("parts of the {} ring do not meet at {}", ring::to_string(ring),
                           before.short_hex());
      before = id;
    }
  }
  return {};
}

std::string World::unideal() const {
  for (const Ring ring : {Ring::kRelay, Ring::kStorage}) {
    if (!ring_sim::is_ideal(view(ring), ring::Tuning{}.successors))
      return fmt::format("the {} ring has pointers that do not stay", ring::to_string(ring));
  }
  return {};
}

std::string World::unrest() {
  if (std::string reason = unsettled(); !reason.empty()) return reason;
  for (const std::size_t i : up()) {
    if (!node(i).is_idle()) {
      json::object left = node(i).status();
      for (const char* name : {"budget", "rings", "relay_sets", "storage_sets", "inbox"}) left.erase(name);
      return fmt::format("node {} has something to send: {}", i, json::serialize(left));
    }
    if (!node(i).subscriber().is_settled()) return fmt::format("node {} is not subscribed everywhere", i);
  }
  for (const Post& post : posts_) {
    if (post.taken != post.said) return fmt::format("{} is not acknowledged", post.uri);
  }
  for (const auto& [number, server] : people_) {
    for (const auto& [subject, wish] : server.wishes()) {
      if (!wish.is_taken()) return fmt::format("{} is not taken", wish.id);
    }
  }
  return {};
}

unsigned World::relays() {
  unsigned most = options_.relay_replicas;
  for (const std::size_t i : up()) {
    for (const json::value& set : node(i).status().at("relay_sets").get_array())
      most = std::max(most, set.at("relays").to_number<unsigned>());
  }
  return most;
}

// --- reading -----------------------------------------------------------------------------------------------

std::optional<std::vector<storage::HistoryEntry>> World::history(std::size_t i, const std::string& tag,
                                                                 std::size_t page_size) {
  std::vector<storage::HistoryEntry> all;
  std::optional<storage::HistoryCursor> cursor;
  while (is_running(i)) {
    auto page = await_on(i, node(i).history().query(Tag::from_canonical(tag), cursor, page_size),
                         std::chrono::seconds(30));
    if (!page || !*page) return std::nullopt;
    all.insert(all.end(), (*page)->entries.begin(), (*page)->entries.end());
    if (!(*page)->more) return all;
    cursor = (*page)->next;
  }
  return std::nullopt;
}

std::multiset<std::string> World::feed(std::size_t i, const std::string& tag) {
  std::multiset<std::string> live;
  for (const delivery::TagEvent& event : feed_events(i, tag)) live.insert(event.uri);
  return live;
}

std::optional<std::vector<delivery::TagEvent>> World::told(std::size_t i, const std::string& tag) {
  std::vector<delivery::TagEvent> events;
  std::uint64_t after = 0;
  for (;;) {
    auto page = await_on(i, relay_store(i).feed(after, 1000), std::chrono::seconds(30));
    if (!page || !*page) return std::nullopt;
    if ((*page)->empty()) return events;
    after = (*page)->back().seq;
    for (delivery::FeedEntry& entry : **page) {
      if (entry.event.tag.canonical() == tag) events.push_back(std::move(entry.event));
    }
  }
}

std::vector<delivery::TagEvent> World::feed_events(std::size_t i, const std::string& tag) {
  const auto events = told(i, tag);
  TR_ASSERT(events);
  return living_of(*events);
}

std::vector<delivery::TagEvent> living_of(const std::vector<delivery::TagEvent>& told) {
  std::multimap<std::string, delivery::TagEvent> live;
  for (const delivery::TagEvent& event : told) {
    if (event.is_edit() || event.is_repeat()) continue;
    if (event.op == delivery::Op::kAdd) {
      live.emplace(event.uri, event);
    } else if (const auto known = live.find(event.uri); known != live.end()) {
      live.erase(known);
    }
  }
  std::vector<delivery::TagEvent> events;
  for (auto& [uri, event] : live) events.push_back(std::move(event));
  return events;
}

}  // namespace tagring::sim
