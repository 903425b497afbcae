// What liars answer and send as neighbours on the rings, to honest nodes; among themselves they speak the
// truth, and so know who stands where. In turns, a minute each, a liar
//   - says that who asks is its predecessor, so that nobody in between is found;
//   - says that it has never heard of whoever asks, and owns all from its last accomplice on;
//   - answers that it is there, and nothing else.
// It names no others than accomplices, takes note of nobody, and of all of them who stands next behind a key
// claims the whole ring. To what comes of that it answers as an owner does, keeps nothing, and hands over
// nothing but inventions.
#include <algorithm>
#include <chrono>

#include "delivery/store.hpp"
#include "handover/transfer.hpp"
#include "hashtag/tag.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"
#include "overlay/ring_service.hpp"
#include "ring/codec.hpp"
#include "sim/lies.hpp"
#include "storage/entries_json.hpp"
#include "storage/history_service.hpp"

namespace tagring::sim {
namespace {

constexpr const char* kNeighbour = "neighbour";
constexpr std::size_t kNamedOnWay = 4;  // as an honest one has

enum class Manner : std::uint8_t { kHides, kDenies, kIsSilent };

Manner manner_of(std::size_t liar, Instant now) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(now.time_since_epoch()).count();
  return static_cast<Manner>((static_cast<std::uint64_t>(minutes) + liar) % 3);
}

HttpResponse reply_with(const ring::Reply& reply) {
  HttpResponse response;
  response.headers.add("Content-Type", "application/json");
  response.body = ring::encode(reply);
  return response;
}

}  // namespace

std::optional<HttpResponse> Lies::answer_as_neighbour(std::size_t node, const HttpRequest& request) {
  if (!honest_asker(request)) return std::nullopt;
  const std::string_view path = path_of(request.target);
  std::optional<HttpResponse> lie;
  if (path == overlay::RingService::kPath) {
    lie = answer_on_ring(node, request);
  } else if (path == handover::Transfer::kPath) {
    lie = withhold(request);
  } else {
    lie = answer_as_new_owner(node, request);
  }
  if (lie) ++told_[kNeighbour];
  return lie;
}

std::optional<HttpResponse> Lies::answer_on_ring(std::size_t node, const HttpRequest& request) {
  const Result<ring::Envelope> envelope = ring::decode_envelope(request.body);
  if (!envelope || !world_->is_running(node)) return std::nullopt;
  const auto& [ring, body] = envelope->request;
  const ring::Vserver* vserver = world_->node(node).rings().of(ring).find(envelope->to);
  if (vserver == nullptr || !vserver->is_member() || vserver->self().incarnation != envelope->incarnation)
    return std::nullopt;
  if (std::holds_alternative<ring::Ping>(body)) return std::nullopt;
  const Manner manner = manner_of(node, world_->loop.now());
  if (manner == Manner::kIsSilent) return error_response({ErrorCode::kUnavailable, "not now"});
  if (const auto* find = std::get_if<ring::Find>(&body))
    return reply_with(false_way(ring, vserver->self(), find->key));
  if (std::holds_alternative<ring::GetNeighbours>(body))
    return reply_with(
        false_neighbours(ring, vserver->self(), *honest_asker(request), manner == Manner::kDenies));
  if (std::holds_alternative<ring::GetLoad>(body)) return std::nullopt;
  return reply_with(ring::Done{});
}

// About hashtags that are others'.
std::optional<HttpResponse> Lies::answer_as_new_owner(std::size_t node, const HttpRequest& request) const {
  const auto owns = [&](const std::string& tag) {
    const auto all = owners_.find(tag);
    return all == owners_.end() || all->second.relays.contains(node) || all->second.stores.contains(node);
  };
  if (path_of(request.target) == storage::HistoryService::kPath) {
    if (owns(query_value(query_of(request.target), "tag"))) return std::nullopt;
    return json_response({{"entries", json::array()}, {"more", false}});
  }
  if (request.target != "/inbox") return std::nullopt;
  std::vector<std::string> named;
  std::ranges::copy_if(tags_, std::back_inserter(named),
                       [&](const std::string& tag) { return request.body.contains(tag + '"'); });
  if (named.empty() || std::ranges::any_of(named, owns)) return std::nullopt;
  return json_response({{"accepted", named.size()}, {"refused", json::array()}});
}

// Posts that never were in place of those that it has.
std::optional<HttpResponse> Lies::withhold(const HttpRequest& transfer) {
  const Result<json::object> body = json::parse_object(transfer.body);
  const std::string kind = body ? json::text_of(*body, "kind") : "";
  const bool is_first = body && json::text_of(*body, "after").empty();
  json::array items;
  if (kind == "feed") {
    if (is_first) items = false_feed(tags_of(transfer));
  } else if (kind == "history") {
    Entries entries;
    for (const std::string& tag : is_first ? tags_of(transfer) : std::vector<std::string>()) {
      const delivery::TagEvent event = invent(tag, honest_host());
      entries.push_back({event.tag, event.uri, event.author, event.published});
    }
    items = storage::to_json(entries, true);
  } else if (kind != "followers" && kind != "sets") {
    return std::nullopt;
  }
  return json_response({{"items", std::move(items)}});
}

std::optional<std::size_t> Lies::honest_asker(const HttpRequest& request) const {
  for (const std::size_t i : world_->up()) {
    if (is_liar(i) || !world_->is_running(i)) continue;
    for (const auto& vserver : world_->node(i).rings().of(Ring::kRelay).vservers())
      if (vserver->self().address.prefix64() == request.peer.prefix64()) return i;
  }
  return std::nullopt;
}

std::vector<ring::Contact> Lies::accomplices(Ring ring, const RingId& from) const {
  std::vector<ring::Contact> contacts;
  for (const std::size_t liar : liars_) {
    if (!world_->is_running(liar)) continue;
    for (const auto& vserver : world_->node(liar).rings().of(ring).vservers())
      if (vserver->is_member()) contacts.push_back(vserver->self());
  }
  std::ranges::sort(contacts, {}, [&](const auto& contact) { return clockwise_distance(from, contact.id); });
  return contacts;
}

ring::FindReply Lies::false_way(Ring ring, const ring::Contact& asked, const RingId& key) const {
  std::vector<ring::Contact> clockwise = accomplices(ring, key);
  if (clockwise.front().id == asked.id) return {Segment{asked.id, asked.id}, {}};
  ring::FindReply reply;
  for (auto it = clockwise.rbegin(); it != clockwise.rend() && reply.closer.size() < kNamedOnWay; ++it)
    if (in_open(asked.id, it->id, key)) reply.closer.push_back(*it);
  reply.closer.push_back(clockwise.front());
  return reply;
}

ring::Neighbours Lies::false_neighbours(Ring ring, const ring::Contact& asked, std::size_t asker,
                                        bool denies) const {
  ring::Neighbours reply;
  reply.successors = accomplices(ring, asked.id);
  std::erase_if(reply.successors, [&](const ring::Contact& contact) { return contact.id == asked.id; });
  if (denies) {
    if (!reply.successors.empty()) reply.predecessor = reply.successors.back();
    return reply;
  }
  for (const auto& vserver : world_->node(asker).rings().of(ring).vservers()) {
    const ring::Contact& contact = vserver->self();
    if (!reply.predecessor || in_open(reply.predecessor->id, contact.id, asked.id))
      reply.predecessor = contact;
  }
  return reply;
}

// To all honest nodes, that accomplices stand before them.
void Lies::tell_as_neighbour(std::size_t liar) {
  for (const std::size_t to : world_->up()) {
    if (is_liar(to) || !world_->is_running(to)) continue;
    for (const Ring ring : {Ring::kRelay, Ring::kStorage}) {
      for (const auto& vserver : world_->node(to).rings().of(ring).vservers()) {
        const std::vector<ring::Contact> known = accomplices(ring, vserver->self().id);
        if (!vserver->is_member() || known.empty()) continue;
        ring::Envelope envelope{world_->node(to).rings().network(),
                                vserver->self().id,
                                vserver->self().incarnation,
                                {ring, ring::Notify{known.back()}}};
        world_->forge_later(liar, to, std::string(overlay::RingService::kPath), ring::encode(envelope));
        ++told_[kNeighbour];
      }
    }
  }
}

}  // namespace tagring::sim
