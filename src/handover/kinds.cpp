#include "handover/kinds.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "delivery/wire.hpp"
#include "fediverse/vocabulary.hpp"
#include "handover/comparison.hpp"
#include "hashtag/tag.hpp"
#include "http/url.hpp"
#include "redundancy/storage_hints.hpp"
#include "storage/entries_json.hpp"

namespace tagring::handover {
namespace {

// A place among hashtags; nothing if the text is empty.
Result<std::optional<Tag>> tag_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  TRY(Tag tag, Tag::parse(text));
  return tag;
}

// A place in a history; nothing if the text is empty.
Result<std::optional<storage::HistoryCursor>> cursor_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  TRY(storage::HistoryCursor cursor, storage::HistoryCursor::parse(text));
  return cursor;
}

Result<void> in_order(bool is_behind) {
  if (!is_behind) return fail(ErrorCode::kInvalid, "a page of a transfer does not move on");
  return {};
}

// Of two keys of a segment the one that comes first, clockwise from where it begins.
bool is_before(const Segment& segment, const RingId& a, const RingId& b) {
  const RingId first = segment.from + RingId::power_of_two(0);
  return a - first < b - first;
}

std::uint64_t feed_place(const Request& request) {
  return request.after.empty() ? 0 : std::strtoull(request.after.c_str(), nullptr, 10);
}

}  // namespace

// --- followers ---------------------------------------------------------------------------------------------

Task<Result<json::object>> FollowersKind::page(Request request) {
  CO_TRY(std::optional<Tag> after_tag, tag_of(request.after_tag));
  CO_TRY(const std::vector<delivery::Follower> followers,
         co_await store_.nodes_of_segment(request.segment, std::move(after_tag), request.after, page_size()));
  json::array items;
  for (const delivery::Follower& follower : followers) {
    items.push_back(json::object{{"tag", follower.tag.canonical()},
                                 {"actor", follower.actor},
                                 {"inbox", follower.inbox},
                                 {"follow_id", follower.follow_id}});
  }
  co_return json::object{{"items", std::move(items)}};
}

Task<Result<void>> FollowersKind::absorb(Request* request, std::string /*origin*/, json::array items) {
  std::vector<delivery::Follower> followers;
  for (const json::value& element : items) {
    if (!element.is_object()) co_return fail(ErrorCode::kInvalid, "a transfer item is no object");
    const json::object& item = element.get_object();
    CO_TRY(Tag tag, Tag::parse_canonical(json::text_of(item, "tag")));
    CO_TRY(const std::optional<Tag> last, tag_of(request->after_tag));
    delivery::Follower next{std::move(tag),
                            json::text_of(item, "actor"),
                            json::text_of(item, "inbox"),
                            {},
                            delivery::Via::kNode,
                            0};
    CO_TRY_VOID(in_order(!last || is_before(request->segment, last->key(), next.tag.key()) ||
                         (*last == next.tag && request->after < next.actor)));
    request->after_tag = next.tag.canonical();
    request->after = next.actor;
    CO_TRY_VOID(check_item(request->segment, next.tag));
    // What this node followed at the old owner it now owns itself.
    const bool is_own = origin_of(next.actor) == request->requester.origin();
    const bool is_of_one_server = fediverse::is_same_origin(next.actor, next.inbox);
    if (!is_own && is_of_one_server && !rings_.is_blocked_at(next.actor))
      followers.push_back(std::move(next));
  }
  co_return co_await lists_.add(std::move(followers));
}

// --- feed --------------------------------------------------------------------------------------------------

Task<Result<json::object>> FeedKind::page(Request request) {
  std::uint64_t after = feed_place(request);
  if (request.after.empty()) {
    CO_TRY(after, co_await feed_.handed_from());
  }
  CO_TRY(const std::vector<delivery::FeedEntry> entries,
         co_await store_.feed_of_segment(request.segment, after, page_size()));
  co_return json::object{{"items", delivery::to_json(entries)}};
}

Task<Result<void>> FeedKind::absorb(Request* request, std::string origin, json::array items) {
  const json::value list = std::move(items);
  CO_TRY(const std::vector<delivery::FeedEntry> entries, delivery::feed_from_json(&list));
  std::uint64_t last = feed_place(*request);
  std::vector<delivery::TagEvent> events;
  belief::PostChecker::Relayed relayed;  // or it was
  for (const delivery::FeedEntry& entry : entries) {
    CO_TRY_VOID(in_order(last < entry.seq));
    last = entry.seq;
    CO_TRY_VOID(check_item(request->segment, entry.event.tag));
    relayed[entry.event.tag] = request->halves;
    if (entry.event.is_sound()) events.push_back(entry.event);
  }
  request->after = std::to_string(last);
  CO_TRY(events, co_await feed_.news_of(std::move(events)));
  events = doubts_.hear(std::move(events), origin, relayed, *this);
  co_return co_await take_believed(std::move(events));
}

Task<Result<void>> FeedKind::take_believed(std::vector<delivery::TagEvent> events) {
  if (events.empty()) co_return Result<void>();
  const auto taken = co_await feed_.take(std::move(events), 0, delivery::Announcer::To::kEverybody);
  co_return taken ? Result<void>() : std::unexpected(taken.error());
}

// --- sets --------------------------------------------------------------------------------------------------

Task<Result<json::object>> SetsKind::page(Request request) {
  CO_TRY(const std::optional<Tag> after_tag, tag_of(request.after_tag));
  co_return json::object{
      {"items", redundancy::to_json(kept_.sets_at(request.segment, after_tag, page_size()))}};
}

// One set that is not taken is no reason to go without the history.
Task<Result<void>> SetsKind::absorb(Request* request, std::string /*origin*/, json::array items) {
  const json::value list = std::move(items);
  CO_TRY(std::vector<redundancy::StorageSet> sets, kept_.hints().sets_from(&list));
  for (redundancy::StorageSet& set : sets) {
    CO_TRY(const std::optional<Tag> last, tag_of(request->after_tag));
    CO_TRY_VOID(in_order(!last || *last < set.tag));
    request->after_tag = set.tag.canonical();
    if (!storage::KeptPartitions::has_place_in(request->segment, set)) continue;
    const Result<void> adopted = co_await kept_.adopt(std::move(set));
    if (adopted || adopted.error().code == ErrorCode::kInvalid ||
        adopted.error().code == ErrorCode::kTooLarge)
      continue;
    co_return adopted;
  }
  co_return Result<void>();
}

// --- history -----------------------------------------------------------------------------------------------

std::vector<storage::HistoryEntry> take_heard(std::vector<storage::HistoryEntry>* entries) {
  std::vector<storage::HistoryEntry> heard;
  std::erase_if(*entries, [&](storage::HistoryEntry& entry) {
    const bool is_hearsay = entry.is_hearsay();
    if (is_hearsay) heard.push_back(std::move(entry));
    return is_hearsay;
  });
  return heard;
}

Task<Result<json::object>> HistoryKind::page(Request request) {
  CO_TRY(std::optional<storage::HistoryCursor> after, cursor_of(request.after));
  std::optional<redundancy::Partition> after_partition;
  if (!request.after_tag.empty()) {
    CO_TRY(after_partition, redundancy::Partition::parse(request.after_tag));
  }
  CO_TRY(const std::vector<storage::HistoryEntry> entries,
         co_await kept_.history().segment(request.segment, std::move(after_partition), std::move(after),
                                          page_size()));
  if (entries.empty()) reads_.note(request.segment);
  co_return json::object{{"items", storage::to_json(entries, true)}};
}

Task<Result<void>> HistoryKind::absorb(Request* request, std::string origin, json::array items) {
  const json::value list = std::move(items);
  CO_TRY(std::vector<storage::HistoryEntry> entries, storage::entries_from_json(&list));
  std::optional<redundancy::Partition> last;
  if (!request->after_tag.empty()) {
    CO_TRY(last, redundancy::Partition::parse(request->after_tag));
  }
  CO_TRY(std::optional<storage::HistoryCursor> after, cursor_of(request->after));
  for (const storage::HistoryEntry& entry : entries) {
    CO_TRY_VOID(check_item(request->segment, entry.partition));
    CO_TRY_VOID(in_order(!last || is_before(request->segment, last->key(), entry.partition.key()) ||
                         (*last == entry.partition && after && after->before(entry))));
    last = entry.partition;
    after = storage::HistoryCursor::of(entry);
  }
  request->after_tag = last->name();
  request->after = after->text();
  std::vector<storage::HistoryEntry> heard = take_heard(&entries);
  kept_.leave_out_misplaced(&entries);
  kept_.leave_out_misplaced(&heard);
  const std::size_t sources = std::min<std::size_t>(request->sources, kept_.copies());
  const std::size_t enough = storage::Disputes::enough_of(sources);
  // Who is denied what it has served does not take it on trust for as long as a new owner.
  const Duration wait =
      request->is_of_rivals ? storage::Disputes::kHeardWait : storage::Disputes::kHearsayWait;
  CO_TRY_VOID(co_await disputes_.adopt(std::move(heard), storage::Disputes::kNobody, enough, wait));
  co_return co_await disputes_.adopt(std::move(entries), std::move(origin), enough, wait);
}

// --- partitions --------------------------------------------------------------------------------------------

Result<Kind::Place> PartitionKind::place(const Request& request) const {
  TRY(const redundancy::Partition partition, redundancy::Partition::parse(request.partition));
  const RingId key = partition.tag.key();
  return Place{key, kept_.of(partition.tag).read_factor, key - RingId::power_of_two(0)};
}

Task<Result<json::object>> PartitionKind::page(Request request) {
  CO_TRY(const redundancy::Partition partition, redundancy::Partition::parse(request.partition));
  // Before the page is read: from that version on nothing is added.
  const std::uint64_t version = kept_.of(partition.tag).version;
  CO_TRY(std::optional<storage::HistoryCursor> after, cursor_of(request.after));
  CO_TRY(const storage::HistoryPage page, co_await history_.page(partition, std::move(after), page_size()));
  if (page.entries.size() < page_size()) kept_.note_handed(partition);
  co_return json::object{{"items", storage::to_json(page.entries, true)}, {"version", version}};
}

// --- leaving -----------------------------------------------------------------------------------------------

Task<Result<json::object>> LeavingKind::page(Request request) {
  const std::optional<Segment> segment = rings_.leaving(ring(), request.segment.to);
  if (!segment) co_return fail(ErrorCode::kConflict, "that vserver does not leave");
  co_return json::object{{"from", segment->from.hex()}, {"to", segment->to.hex()}};
}

// --- comparisons -------------------------------------------------------------------------------------------

Task<Result<json::object>> HoursKind::page(Request request) {
  return answer_comparison(history_, request.segment, std::move(request.question), limits_);
}

}  // namespace tagring::handover
