#include "handover/transfer.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/http_error.hpp"
#include "fediverse/vocabulary.hpp"
#include "handover/anti_entropy.hpp"
#include "handover/reassign_queue.hpp"
#include "relay/results.hpp"
#include "relay/wire.hpp"
#include "ring/codec.hpp"
#include "storage/history_service.hpp"

namespace tagring::handover {
namespace {

constexpr Duration kRetry = std::chrono::milliseconds(300);
constexpr std::size_t kWalkMax = 64;  // owners of a replica's segment

// The first vserver of another node after one of ours.
std::optional<RingId> next_node(const ring::Vserver& vserver) {
  for (const ring::Contact& contact : vserver.successors().contacts()) {
    if (contact.origin() != vserver.self().origin()) return contact.id;
  }
  return std::nullopt;
}

std::string text_of(const json::object& object, std::string_view key) {
  return json::get_string(object, key).value_or("");
}

}  // namespace

Result<void> check_item(const Segment& segment, const std::string& tag, const std::string& url,
                        const std::string& other) {
  const Result<redundancy::Partition> shelf = redundancy::Partition::parse(tag);
  const Result<Tag> parsed = shelf ? Tag::parse(shelf->tag) : std::unexpected(shelf.error());
  if (!parsed || parsed->canonical() != shelf->tag ||
      !segment.contains(redundancy::partition_key(parsed->key(), shelf->number))) {
    return fail(ErrorCode::kInvalid, "a transferred item is not of the segment that was asked for");
  }
  if (!fediverse::is_same_origin(url, other)) {
    return fail(ErrorCode::kInvalid, "a transferred item names two servers: " + url + ", " + other);
  }
  return {};
}

Transfer::Transfer(Options options, relay::Store& store, storage::HistoryStore& history,
                   overlay::RingService& rings, storage::KeptPartitions& kept,
                   federation::SignedClient& client, federation::Authenticator& authenticator,
                   relay::Followers& followers, relay::Feed& feed, ReassignQueue& reassign,
                   const Runtime& runtime)
    : options_(std::move(options)),
      store_(store),
      history_(history),
      rings_(rings),
      kept_(kept),
      client_(client),
      authenticator_(authenticator),
      followers_(followers),
      feed_(feed),
      reassign_(reassign),
      clock_(runtime.clock),
      tasks_(runtime.executor) {}

unsigned Transfer::replicas(Ring ring) const {
  return ring == Ring::kRelay ? options_.relay_replicas : kept_.copies();
}

Task<void> Transfer::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

// --- fetching ----------------------------------------------------------------------------------------------

void Transfer::segment_changed(Ring ring, ring::Vserver& vserver) {
  if (!vserver.missing()) return;
  if (filling_.insert({ring, vserver.self().id}).second)
    tasks_.spawn("transfer", fill(ring, vserver.self().id));
}

Task<void> Transfer::fill(Ring ring, RingId id) {
  ring::Vserver& vserver = *rings_.of(ring).find(id);  // lives as long as the node
  unsigned attempts = 0;
  while (const std::optional<Segment> gap = vserver.missing()) {
    const std::vector<std::string> origins = co_await sources(ring, id, *gap);
    bool complete = true;
    for (const std::string& origin : origins) {
      const Result<void> fetched = co_await fetch_from(origin, ring, vserver.self(), *gap);
      complete = complete && fetched.has_value();
    }
    if (complete || ++attempts >= options_.attempts_max) {
      vserver.fetched(*gap);
      attempts = 0;
      continue;
    }
    const Instant next = clock_.now() + kRetry * attempts;
    co_await clock_.sleep_until(next);
  }
  filling_.erase({ring, id});
}

// Who may hold data of the positions: the successor, who owned them before, and the owners of the other
// replicas.
Task<std::vector<std::string>> Transfer::sources(Ring ring, RingId id, Segment positions) {
  ring::Membership& membership = rings_.of(ring);
  const ring::Vserver& vserver = *membership.find(id);
  std::set<std::string> origins;
  if (!vserver.successors().empty()) origins.insert(vserver.successors().front().origin());
  const unsigned count = replicas(ring);
  for (unsigned i = 1; i < count; ++i) {
    const Segment shifted{replica_key(positions.from, i, count), replica_key(positions.to, i, count)};
    RingId reached = shifted.from;
    for (std::size_t step = 0; step < kWalkMax; ++step) {
      const Result<ring::Owner> owner = co_await membership.find_owner(reached + RingId::power_of_two(0));
      if (!owner) break;
      origins.insert(owner->contact.origin());
      const bool wrapped = owner->segment.from == owner->segment.to;
      if (wrapped || owner->segment.contains(shifted.to)) break;
      reached = owner->segment.to;
    }
  }
  origins.erase(vserver.self().origin());
  std::erase_if(origins, [this](const std::string& origin) { return rings_.is_blocked_at(origin); });
  co_return std::vector<std::string>(origins.begin(), origins.end());
}

Task<Result<void>> Transfer::fetch_from(std::string origin, Ring ring, ring::Contact requester,
                                        Segment positions) {
  if (ring == Ring::kStorage) {
    // First: they say where posts of these hashtags belong.
    Request request;
    request.ring = ring;
    request.requester = requester;
    request.segment = positions;
    request.kind = "sets";
    CO_TRY_VOID(co_await fetch_kind(origin, std::move(request)));
  }
  const std::vector<std::string> kinds = ring == Ring::kRelay ? std::vector<std::string>{"followers", "feed"}
                                                              : std::vector<std::string>{"history"};
  for (const Segment& segment : key_segments(positions, replicas(ring))) {
    for (const std::string& kind : kinds) {
      Request request;
      request.ring = ring;
      request.requester = requester;
      request.segment = segment;
      request.kind = kind;
      CO_TRY_VOID(co_await fetch_kind(origin, std::move(request)));
    }
  }
  co_return Result<void>();
}

Task<Result<void>> Transfer::fetch_kind(std::string origin, Request request) {
  for (;;) {
    CO_TRY(json::object page, co_await ask(origin, request));
    CO_TRY(const std::size_t count, co_await absorb(&request, std::move(page)));
    fetched_ += count;
    if (count < options_.page) co_return Result<void>();
  }
}

Task<Result<json::object>> Transfer::ask(std::string origin, Request request) {
  json::object body = {{"protocol", ring::kProtocolVersion},
                       {"network", options_.network},
                       {"ring", ring::to_string(request.ring)},
                       {"requester", to_json(request.requester)},
                       {"from", request.segment.from.hex()},
                       {"to", request.segment.to.hex()},
                       {"kind", request.kind},
                       {"after_tag", request.after_tag},
                       {"after", request.after}};
  if (!request.shelf.empty()) body["shelf"] = request.shelf;
  if (!request.question.empty()) body["question"] = std::move(request.question);
  co_return co_await client_.ask(origin + std::string(kPath), std::move(body));
}

// Writes a page and moves the request on to the next. How many items it had.
Task<Result<std::size_t>> Transfer::absorb(Request* request, json::object page) {
  const json::value* items = json::find(page, "items");
  if (items == nullptr || !items->is_array())
    co_return fail(ErrorCode::kInvalid, "a transfer page has no 'items'");
  const std::size_t count = items->get_array().size();
  if (count == 0) co_return count;
  if (request->kind == "history") co_return co_await absorb_history(request, items);
  if (request->kind == "sets") {
    CO_TRY(std::vector<redundancy::StorageSet> sets, kept_.hints().sets_from(items));
    for (redundancy::StorageSet& set : sets) {
      request->after_tag = set.tag;
      CO_TRY_VOID(co_await kept_.adopt(std::move(set)));
    }
    co_return count;
  }
  if (request->kind == "feed") {
    CO_TRY(const std::vector<relay::FeedEntry> entries, relay::feed_from_json(items));
    request->after = std::to_string(entries.back().seq);
    std::vector<relay::TagEvent> events;
    for (const relay::FeedEntry& entry : entries) {
      CO_TRY_VOID(check_item(request->segment, entry.event.tag, entry.event.uri, entry.event.author));
      events.push_back(entry.event);
    }
    CO_TRY_VOID(co_await feed_.take(std::move(events), 0, relay::Announcer::To::kEverybody));
    co_return count;
  }
  std::vector<relay::Follower> followers;
  for (const json::value& element : items->get_array()) {
    if (!element.is_object()) co_return fail(ErrorCode::kInvalid, "a transfer item is no object");
    const json::object& item = element.get_object();
    request->after_tag = text_of(item, "tag");
    request->after = text_of(item, "actor");
    followers.push_back({text_of(item, "tag"), text_of(item, "actor"), text_of(item, "inbox"),
                         text_of(item, "follow_id"), relay::Via::kNode, 0});
    const relay::Follower& last = followers.back();
    CO_TRY_VOID(check_item(request->segment, last.tag, last.actor, last.inbox));
    // What this node followed at the old owner it now owns itself.
    const bool is_own = origin_of(last.actor) == request->requester.origin();
    if (is_own || rings_.is_blocked_at(last.actor)) followers.pop_back();
  }
  CO_TRY(const std::vector<relay::Follower> stored, co_await store_.follow(std::move(followers)));
  for (const relay::Follower& follower : stored) followers_.add(follower);
  co_return count;
}

Task<Result<std::size_t>> Transfer::absorb_history(Request* request, const json::value* items) {
  CO_TRY(std::vector<storage::HistoryEntry> entries, storage::entries_from_json(items, ""));
  const std::size_t count = entries.size();
  for (const storage::HistoryEntry& entry : entries) {
    CO_TRY_VOID(check_item(request->segment, entry.tag, entry.uri, entry.author));
  }
  request->after_tag = entries.back().tag;
  request->after = storage::HistoryCursor::of(entries.back()).text();
  kept_.leave_out_moved(&entries);
  if (!entries.empty()) {
    CO_TRY_VOID(co_await history_.put(std::move(entries)));
  }
  co_return count;
}

Task<Result<void>> Transfer::fetch_shelf(std::string origin, ring::Contact requester,
                                         redundancy::Partition from, redundancy::Partition to,
                                         std::uint64_t version) {
  CO_TRY(const Tag tag, Tag::parse(from.tag));
  const RingId key = redundancy::partition_key(tag.key(), from.number);
  Request request;
  request.ring = Ring::kStorage;
  request.requester = std::move(requester);
  request.segment = {key - RingId::power_of_two(0), key};
  request.kind = "shelf";
  request.shelf = from.name();
  for (;;) {
    CO_TRY(const json::object page, co_await ask(origin, request));
    const std::int64_t known = json::get_int(page, "version").value_or(0);
    if (known < 0 || static_cast<std::uint64_t>(known) < version)
      co_return fail(ErrorCode::kBusy, origin + " may still take posts of the part");
    CO_TRY(std::vector<storage::HistoryEntry> entries,
           storage::entries_from_json(json::find(page, "items"), ""));
    const std::size_t count = entries.size();
    fetched_ += count;
    for (storage::HistoryEntry& entry : entries) {
      CO_TRY_VOID(check_item(request.segment, entry.tag, entry.uri, entry.author));
      request.after = storage::HistoryCursor::of(entry).text();
      entry.tag = to.name();
    }
    if (count > 0) {
      CO_TRY_VOID(co_await history_.put(std::move(entries)));
    }
    if (count < options_.page) co_return Result<void>();
  }
}

Task<Result<void>> Transfer::take_over(Ring ring, ring::Contact asked, ring::TakeOver request) {
  // The leaver's node must stand before us; data of others is of no use here. All its vservers go, so any of
  // them may be the predecessor.
  const ring::Vserver* vserver = rings_.of(ring).find(asked.id);
  if (vserver == nullptr || !vserver->predecessor() ||
      vserver->predecessor()->origin() != request.leaver.origin()) {
    co_return fail(ErrorCode::kNotOwner, "the leaver is not the predecessor of this node");
  }
  co_return co_await fetch_from(request.leaver.origin(), ring, std::move(asked), request.segment);
}

// --- answering ---------------------------------------------------------------------------------------------

Result<Transfer::Request> Transfer::read(const HttpRequest& request,
                                         const fediverse::RemoteActor& sender) const {
  TRY(const json::object body, json::parse_object(request.body));
  if (json::get_int(body, "protocol") != ring::kProtocolVersion ||
      text_of(body, "network") != options_.network) {
    return fail(ErrorCode::kInvalid, "another protocol version or network");
  }
  Request result;
  const std::string ring = text_of(body, "ring");
  if (ring != "relay" && ring != "storage")
    return fail(ErrorCode::kInvalid, "'ring' must be relay or storage");
  result.ring = ring == "relay" ? Ring::kRelay : Ring::kStorage;
  const json::value* requester = json::find(body, "requester");
  if (requester == nullptr) return fail(ErrorCode::kInvalid, "'requester' is missing");
  TRY(result.requester, ring::contact_from_json(*requester));
  TRY_VOID(ring::check_node_id(options_.ids, result.requester));
  if (result.requester.origin() != origin_of(sender.id)) {
    return fail(ErrorCode::kDenied, "the requester is a vserver of another node than the signer");
  }
  const auto from = RingId::from_hex(text_of(body, "from"));
  const auto to = RingId::from_hex(text_of(body, "to"));
  if (!from || !to) return fail(ErrorCode::kInvalid, "'from' and 'to' must be 64 hexadecimal digits");
  result.segment = {*from, *to};
  result.kind = text_of(body, "kind");
  result.after_tag = text_of(body, "after_tag");
  result.after = text_of(body, "after");
  result.shelf = text_of(body, "shelf");
  const bool fits = result.ring == Ring::kRelay ? result.kind == "followers" || result.kind == "feed"
                                                : result.kind == "history" || result.kind == "hours" ||
                                                      result.kind == "sets" || result.kind == "shelf";
  if (!fits) return fail(ErrorCode::kInvalid, "'kind' does not exist on that ring");
  const json::value* question = json::find(body, "question");
  if (question != nullptr && question->is_object()) result.question = question->get_object();
  return result;
}

Task<HttpResponse> Transfer::answer(HttpRequest request) {
  const Result<federation::Authentic> sender = co_await authenticator_.authenticate(request);
  if (!sender) co_return federation::not_authentic(sender.error());
  if (rings_.is_blocked_at(sender->actor.id))
    co_return error_response({ErrorCode::kDenied, host_of(sender->actor.id) + " is blocked here"});
  Result<Request> asked = read(request, sender->actor);
  if (!asked) co_return error_response(asked.error());
  for (const auto& vserver : rings_.of(asked->ring).vservers()) {
    // While we still own what it will own, more may be written here: not before we know it as our
    // predecessor.
    const std::optional<Segment> owned = vserver->owned();
    if (owned && owned->contains(asked->requester.id) && vserver->self().id != asked->requester.id) {
      vserver->nudge();
      co_return error_response({ErrorCode::kBusy, "your place in the ring is not known here yet"});
    }
  }
  const Result<void> allowed = co_await may_have(*asked);
  if (!allowed) co_return error_response(allowed.error());
  const Result<json::object> page = co_await page_of(std::move(*asked));
  if (!page) co_return error_response(page.error());
  HttpResponse response;
  response.headers.add("Content-Type", "application/json");
  response.body = json::serialize(*page);
  co_return response;
}

// Followers are nobody's business but the owners'. The requester owns the end of the segment at some replica,
// or is the successor of a vserver here that does, and is about to take over. Shelves of a hashtag are the
// business of all its owners.
Task<Result<void>> Transfer::may_have(Request request) {
  unsigned count = replicas(request.ring);
  RingId key = request.segment.to;
  if (request.kind == "sets") count = 1;  // they are asked for by position
  if (request.kind == "shelf") {
    CO_TRY(const redundancy::Partition shelf, redundancy::Partition::parse(request.shelf));
    CO_TRY(const Tag tag, Tag::parse(shelf.tag));
    count = kept_.of(tag.canonical()).read_factor;
    key = tag.key();
  }
  for (unsigned i = 0; i < count; ++i) {
    const RingId position = replica_key(key, i, count);
    const Result<ring::Owner> owner = co_await rings_.of(request.ring).find_owner(position);
    if (!owner) continue;
    if (owner->contact.id == request.requester.id) co_return Result<void>();
    const ring::Vserver* own = rings_.of(request.ring).find(owner->contact.id);
    const bool next = own != nullptr && next_node(*own) == request.requester.id;
    if (next) co_return Result<void>();
    rings_.of(request.ring)
        .forget_route(position);  // what was believed may be old: the requester will ask again
  }
  co_return fail(ErrorCode::kBusy, "as far as this node knows, you do not own that segment");
}

Task<Result<json::object>> Transfer::page_of(Request request) {
  if (request.kind == "hours") co_return co_await answer_comparison(history_, std::move(request.question));
  if (request.kind == "shelf") co_return co_await page_of_shelf(std::move(request));
  json::array items;
  if (request.kind == "sets") {
    items = redundancy::to_json(kept_.sets_at(request.segment, request.after_tag, options_.page));
  } else if (request.kind == "history") {
    std::optional<storage::HistoryCursor> after;
    if (!request.after.empty()) {
      CO_TRY(after, storage::HistoryCursor::parse(request.after));
    }
    CO_TRY(const std::vector<storage::HistoryEntry> entries,
           co_await history_.segment(request.segment, request.after_tag, std::move(after), options_.page));
    items = to_json(entries, true);
  } else if (request.kind == "followers") {
    CO_TRY(
        const std::vector<relay::Follower> followers,
        co_await store_.nodes_of_segment(request.segment, request.after_tag, request.after, options_.page));
    for (const relay::Follower& follower : followers) {
      items.push_back(json::object{{"tag", follower.tag},
                                   {"actor", follower.actor},
                                   {"inbox", follower.inbox},
                                   {"follow_id", follower.follow_id}});
    }
  } else {
    const std::uint64_t after = request.after.empty() ? 0 : std::strtoull(request.after.c_str(), nullptr, 10);
    CO_TRY(const std::vector<relay::FeedEntry> entries,
           co_await store_.feed_of_segment(request.segment, after, options_.page));
    items = to_json(entries);
    if (entries.size() < options_.page) reassign_.fetched(request.segment);
  }
  co_return json::object{{"items", std::move(items)}};
}

Task<Result<json::object>> Transfer::page_of_shelf(Request request) {
  CO_TRY(const redundancy::Partition shelf, redundancy::Partition::parse(request.shelf));
  // Before the page is read: from that version on nothing is added.
  const std::uint64_t version = kept_.of(shelf.tag).version;
  std::optional<storage::HistoryCursor> after;
  if (!request.after.empty()) {
    CO_TRY(after, storage::HistoryCursor::parse(request.after));
  }
  CO_TRY(const storage::HistoryPage page,
         co_await history_.page(request.shelf, std::move(after), options_.page));
  if (page.entries.size() < options_.page) kept_.note_handed(request.shelf);
  co_return json::object{{"items", to_json(page.entries, true)}, {"version", version}};
}

}  // namespace tagring::handover
