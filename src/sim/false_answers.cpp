// What liars answer in place of the program.
#include <fmt/format.h>

#include "delivery/wire.hpp"
#include "handover/transfer.hpp"
#include "hashtag/tag.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"
#include "redundancy/storage_hints.hpp"
#include "relay/relay_redundancy.hpp"
#include "sim/lies.hpp"
#include "storage/history_service.hpp"
#include "storage/storage_redundancy.hpp"
#include "subscriber/catch_up.hpp"

namespace tagring::sim {
namespace {

constexpr std::uint64_t kLastVersion = std::uint64_t{1} << 53U;
constexpr unsigned kMostOwners = 256;

bool is_at(const HttpRequest& request, std::string_view path) { return path_of(request.target) == path; }

}  // namespace

std::optional<HttpResponse> Lies::answer(std::size_t node, const HttpRequest& request) {
  if (world_ == nullptr || !is_liar(node)) return std::nullopt;
  std::optional<HttpResponse> lie;
  if (roles_.keeper) lie = answer_as_keeper(request);
  if (!lie && is_at(request, handover::Transfer::kPath)) lie = answer_transfer(request);
  if (!lie && roles_.relay && is_at(request, subscriber::CatchUp::kPath)) {
    const Result<json::object> body = json::parse_object(request.body);
    if (body) {
      std::vector<std::string> tags;
      json::for_each(json::find(*body, "tags"), [&](const json::value& tag) {
        if (tag.is_string()) tags.emplace_back(tag.get_string());
      });
      json::array feed = false_feed(tags);
      told_["relay"] += feed.size();
      lie = json_response({{"items", std::move(feed)}});
    }
  }
  if (!lie && roles_.neighbour) lie = answer_as_neighbour(node, request);
  return lie;
}

// Every other request about posts only: else nobody would hear what the stores say.
std::optional<HttpResponse> Lies::answer_as_keeper(const HttpRequest& request) {
  const std::string tag = query_value(query_of(request.target), "tag");
  const bool is_read = is_at(request, storage::HistoryService::kPath);
  const bool is_add = request.target == "/inbox" && request.body.contains("/storage\"");
  if (is_read || is_add) {
    if (++answered_ % 2 == 0) return std::nullopt;
    ++told_["keeper"];
    json::array sets;
    for (const std::string& one : tags_) sets.push_back(false_set(one).front());
    if (is_add)
      return json_response({{"accepted", 1}, {"refused", json::array()}, {"stores", std::move(sets)}});
    return json_response({{"entries", json::array()}, {"more", false}, {"stores", std::move(sets)}});
  }
  if (is_at(request, storage::StorageRedundancy::kPath) && request.method == "GET") {
    ++told_["keeper"];
    json::object set = false_set(tag).front().as_object();
    set["shelves"] = json::array();
    set["bearable"] = 0;
    set["merged"] = kLastVersion;
    return json_response(set);
  }
  if (is_at(request, relay::RelayRedundancy::kPath)) {
    json::object count = {{"relays", 4}, {"lately", 8}};
    const Result<json::object> body = json::parse_object(request.body);
    if (body && json::get_string(*body, "action") == "list")
      count["followers"] = false_followers(json::text_of(*body, "tag"), false);
    ++told_["keeper"];
    return json_response(count);
  }
  return std::nullopt;
}

// Those that it asks for.
std::vector<std::string> Lies::tags_of(const HttpRequest& transfer) const {
  std::vector<std::string> tags;
  const Result<json::object> body = json::parse_object(transfer.body);
  if (!body) return tags;
  const auto from = RingId::from_hex(json::text_of(*body, "from"));
  const auto to = RingId::from_hex(json::text_of(*body, "to"));
  if (!from || !to) return tags;
  for (const std::string& tag : tags_) {
    const RingId key = Tag::from_canonical(tag).key();
    if (Segment{*from, *to}.contains(key)) tags.push_back(tag);
  }
  return tags;
}

std::optional<HttpResponse> Lies::answer_transfer(const HttpRequest& request) {
  const Result<json::object> body = json::parse_object(request.body);
  if (!body) return std::nullopt;
  const std::string kind = json::text_of(*body, "kind");
  const std::vector<std::string> tags = tags_of(request);
  json::array items;
  if (kind == "followers" && roles_.keeper) {
    for (const std::string& tag : tags) items.push_back(false_followers(tag, true).front());
  } else if (kind == "sets" && roles_.keeper) {
    for (const std::string& tag : tags) items.push_back(false_set(tag).front());
  } else if (kind == "feed" && roles_.relay) {
    if (json::text_of(*body, "after").empty()) items = false_feed(tags);
  } else {
    return std::nullopt;
  }
  told_[kind == "feed" ? "relay" : "keeper"] += items.size();
  return json_response({{"items", std::move(items)}});
}

json::array Lies::false_set(const std::string& tag) const {
  const redundancy::StorageSet set{Tag::from_canonical(tag), kLastVersion, kMostOwners, kMostOwners,
                                   world_->loop.wall_now()};
  return redundancy::to_json(std::vector{set});
}

json::array Lies::false_followers(const std::string& tag, bool of_transfer) const {
  const std::string origin = "https://" + bystander_;
  json::object item = {{"actor", origin + "/actor"}, {"inbox", origin + "/inbox"}};
  if (of_transfer) {
    item["tag"] = tag;
    item["follow_id"] = origin + "/follows/1";
  } else {
    item["at"] = to_ms(world_->loop.wall_now());
  }
  return {std::move(item)};
}

json::array Lies::false_feed(const std::vector<std::string>& tags) {
  std::vector<delivery::FeedEntry> feed;
  for (const std::string& tag : tags) {
    for (Events events : {removals(some(tag, 1)), false_adds(tag)}) {
      for (delivery::TagEvent& event : events) feed.push_back({feed.size() + 1, std::move(event)});
    }
  }
  return delivery::to_json(feed);
}

}  // namespace tagring::sim
