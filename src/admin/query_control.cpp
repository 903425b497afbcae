#include "admin/query_control.hpp"

#include <algorithm>
#include <deque>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "delivery/results.hpp"
#include "delivery/wire.hpp"
#include "http/url.hpp"
#include "ring/codec.hpp"

namespace tagring::admin {
namespace {

constexpr std::size_t kFeedPage = 5'000;

json::object to_json(const Segment& segment) {
  return {{"from", segment.from.hex()}, {"to", segment.to.hex()}};
}

}  // namespace

void QueryControl::add_routes(Routes& routes) {
  routes.get("/ring", [this](const Request&) { return replied(rings()); });
  routes.get("/owners", [this](Request request) { return owners(std::move(request.query)); });
  routes.get("/history", [this](Request request) { return history(std::move(request.query)); });
  routes.get("/feed", [this](Request request) { return feed(std::move(request.query)); });
}

json::object QueryControl::rings() const {
  json::object result;
  for (const Ring which : {Ring::kRelay, Ring::kStorage}) {
    json::array vservers;
    for (const auto& vserver : rings_.of(which).vservers()) {
      json::object item = {{"self", ring::to_json(vserver->self())}, {"member", vserver->is_member()}};
      if (vserver->predecessor()) item["predecessor"] = ring::to_json(*vserver->predecessor());
      json::array successors;
      for (const ring::Contact& contact : vserver->successors().contacts())
        successors.push_back(ring::to_json(contact));
      item["successors"] = std::move(successors);
      if (const auto owned = vserver->owned()) item["owned"] = to_json(*owned);
      if (const auto serving = vserver->serving()) item["serving"] = to_json(*serving);
      item["estimated_size"] = vserver->estimated_size();
      vservers.push_back(std::move(item));
    }
    result[ring::to_string(which)] = std::move(vservers);
  }
  return result;
}

Task<Reply> QueryControl::owners(std::string query) {
  CO_TRY(const Tag tag, tag_in(std::string_view(query)));
  json::object result = {{"tag", tag.canonical()}, {"key", tag.key().hex()}};
  for (const Ring which : {Ring::kRelay, Ring::kStorage}) {
    json::array list;
    const unsigned replicas = history_.replicas(which);
    for (unsigned i = 0; i < replicas; ++i) {
      const Result<ring::Owner> owner =
          co_await rings_.of(which).find_owner(replica_key(tag.key(), i, replicas));
      if (owner) list.push_back(ring::to_json(owner->contact));
    }
    result[ring::to_string(which)] = std::move(list);
  }
  co_return result;
}

Task<Reply> QueryControl::history(std::string query) {
  CO_TRY(const Tag tag, tag_in(std::string_view(query)));
  std::optional<storage::HistoryCursor> cursor;
  if (const std::string text = query_value(query, "before"); !text.empty()) {
    Result<storage::HistoryCursor> parsed = storage::HistoryCursor::parse(text);
    if (!parsed) {
      co_return fail(ErrorCode::kInvalid,
                     fmt::format("'{}' is no cursor that an earlier answer gave; without one "
                                 "the newest posts come",
                                 cut_utf8(text, 80)));
    }
    cursor = std::move(*parsed);
  }
  CO_TRY(const std::uint64_t limit, number_in(query, "limit", 40));
  CO_TRY(const storage::HistoryPage page, co_await history_.query(tag, std::move(cursor), limit));
  json::object result = {{"tag", tag.canonical()}, {"entries", storage::to_json(page.entries, false)}};
  if (page.more && page.next) result["before"] = page.next->text();
  result["disputed"] = page.disputed;
  co_return result;
}

// The first that fit after a number, or, without one, the last.
Task<Reply> QueryControl::feed(std::string query) {
  CO_TRY(std::uint64_t limit, number_in(query, "limit", 1000));
  limit = std::clamp<std::uint64_t>(limit, 1, 10'000);
  std::optional<Tag> wanted;
  if (!query_value(query, "tag").empty()) {
    CO_TRY(wanted, tag_in(std::string_view(query)));
  }
  const bool from_a_number = !query_value(query, "after").empty();
  CO_TRY(std::uint64_t after, number_in(query, "after", 0));
  std::deque<delivery::FeedEntry> found;
  for (bool is_end = false; !is_end;) {
    CO_TRY(std::vector<delivery::FeedEntry> page, co_await store_.feed(after, kFeedPage));
    is_end = page.size() < kFeedPage;
    for (delivery::FeedEntry& entry : page) {
      after = entry.seq;
      if (wanted && entry.event.tag != *wanted) continue;
      if (entry.event.is_repeat()) continue;  // is there already: for nodes only
      found.push_back(std::move(entry));
      if (found.size() <= limit) continue;
      if (from_a_number) {
        found.pop_back();
        is_end = true;
        break;
      }
      found.pop_front();
    }
  }
  if (!from_a_number) std::ranges::reverse(found);
  co_return json::object{{"entries", delivery::to_json({found.begin(), found.end()})}};
}

}  // namespace tagring::admin
