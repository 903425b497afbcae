#include "admin/overview.hpp"

#include <algorithm>

#include "admin/settings.hpp"

namespace tagring::admin {
namespace {

constexpr std::size_t kFeedPage = 5'000;

std::uint64_t number_at(const json::value& item, std::string_view key) {
  return item.get_object().at(key).to_number<std::uint64_t>();
}

// The greatest first, by `rank` of each item; only so many.
template <class Rank>
json::array head_of(json::array items, Rank rank) {
  std::ranges::sort(items, std::greater<>(), rank);
  if (items.size() > Overview::kListMax) items.resize(Overview::kListMax);
  return items;
}

}  // namespace

Task<std::optional<Result<json::object>>> Overview::answer(std::string path) {
  if (path == "/subscriptions") co_return co_await subscriptions();
  if (path == "/storage") co_return co_await storage();
  if (path == "/receipts") co_return co_await receipts();
  if (path == "/followers") co_return followers();
  if (path == "/queues") co_return queues();
  if (path == "/settings") co_return json::object{{"settings", describe_settings(config_)}};
  co_return std::nullopt;
}

Task<Result<json::object>> Overview::subscriptions() {
  struct Count {
    std::uint64_t posts = 0;
    WallTime latest;
  };
  std::map<std::string, Count> counts;
  CO_TRY(std::uint64_t after, co_await store_.feed_start(clock_.wall_now() - kCounted));
  std::size_t counted = 0;
  bool complete = false;
  while (!complete && counted < kCountedMax) {
    CO_TRY(const std::vector<relay::FeedEntry> page, co_await store_.feed(after, kFeedPage));
    complete = page.size() < kFeedPage;
    counted += page.size();
    for (const relay::FeedEntry& entry : page) {
      after = entry.seq;
      if (entry.event.op != relay::Op::kAdd || !subscriber_.wants(entry.event.tag)) continue;
      Count& count = counts[entry.event.tag];
      ++count.posts;
      count.latest = std::max(count.latest, entry.event.published);
    }
  }
  json::array tags;
  for (const std::string& tag : subscriber_.wanted()) {
    const Count& count = counts[tag];
    const std::vector<std::string> owners = subscriber_.owners_of(tag);
    json::object item = {
        {"tag", tag}, {"posts", count.posts}, {"owners", json::array(owners.begin(), owners.end())}};
    if (count.posts > 0) item["latest"] = to_rfc3339(count.latest);
    tags.push_back(std::move(item));
  }
  co_return json::object{
      {"hours", kCounted.count()},
      {"complete", complete},
      {"hashtags", head_of(std::move(tags), [](const json::value& i) { return number_at(i, "posts"); })}};
}

json::object Overview::followers() const {
  json::array tags;
  followers_.visit_tags([&](const std::string& tag, const std::array<std::size_t, 5>& counts) {
    const auto of = [&counts](relay::Via via) { return counts.at(static_cast<std::size_t>(via)); };
    tags.push_back(json::object{{"tag", tag},
                                {"boosts", of(relay::Via::kBoost)},
                                {"nodes", of(relay::Via::kNode)},
                                {"relays", of(relay::Via::kRelay) + of(relay::Via::kTagRelay)},
                                {"fasps", of(relay::Via::kFasp)}});
  });
  const auto all = [](const json::value& i) {
    return number_at(i, "boosts") + number_at(i, "nodes") + number_at(i, "relays") + number_at(i, "fasps");
  };
  return {{"followers", followers_.size()}, {"hashtags", head_of(std::move(tags), all)}};
}

json::object Overview::queues() const {
  json::array queues;
  const auto add = [&queues](std::string_view kind,
                             const std::map<std::string, federation::QueueStatus>& lanes) {
    for (const auto& [destination, lane] : lanes) {
      json::object item = {{"kind", kind},
                           {"destination", destination},
                           {"waiting", lane.waiting},
                           {"failures", lane.failures}};
      if (lane.failures > 0) {
        item["reason"] = lane.reason;
        item["failing_since"] = to_rfc3339(lane.failing_since);
      }
      queues.push_back(std::move(item));
    }
  };
  add("owner", outbox_.lanes());
  add("announcements", announcer_.lanes());
  add("letters", mailbox_.lanes());
  add("look-ups", outbox_.look_ups());
  add("fetches", fasp_sharing_.lanes());
  return {{"queues", head_of(std::move(queues), [](const json::value& i) {
             return std::pair(number_at(i, "failures"), number_at(i, "waiting"));
           })}};
}

Task<Result<json::object>> Overview::storage() {
  CO_TRY(const storage::HistoryStore::Totals totals, co_await history_.totals());
  CO_TRY(const audit::ReceiptStore::Totals receipts, co_await receipts_.totals());
  co_return json::object{
      {"hashtags", totals.tags},
      {"entries", totals.entries},
      {"octets", totals.octets},
      {"history", json::object{{"octets", totals.entries * storage::HistoryStore::kBytesOfEntry},
                               {"octets_max", config_.room_for_history()},
                               {"keep_days", config_.keep_days},
                               {"let_go", totals.let_go}}},
      {"receipts", json::object{{"batches", receipts.batches}, {"octets", receipts.octets}}}};
}

// A row for each post of a batch: which of the two rings took it, and of how many the batch was.
Task<Result<json::object>> Overview::receipts() {
  CO_TRY(const std::vector<audit::KeptReceipt> kept, co_await receipts_.latest(kListMax));
  json::array rows;
  for (const audit::KeptReceipt& one : kept) {
    for (const storage::TakenItem& item : one.items) {
      if (rows.size() == kListMax) break;
      rows.push_back(json::object{{"at", to_rfc3339(one.receipt.at)},
                                  {"owner", origin_of(one.receipt.actor)},
                                  {"ring", storage::ring_name(one.receipt.ring)},
                                  {"op", item.removal ? "remove" : "add"},
                                  {"tag", item.tag},
                                  {"uri", item.uri},
                                  {"batch", one.items.size()}});
    }
  }
  co_return json::object{{"receipts", std::move(rows)}};
}

}  // namespace tagring::admin
