#include "audit/receipt_gatherer.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/bytes.hpp"
#include "http/url.hpp"
#include "ring/contact.hpp"

namespace tagring::audit {
namespace {

constexpr std::size_t kPostsMax = 5'000;  // that one source names, beside those of others
constexpr std::size_t kPagesMax = 200;    // of receipts of one relay
constexpr std::size_t kFormerMax = 32;    // relays that are none any more, the latest first

// `room`: for posts that nobody has named before.
void add(AuditedPosts* posts, Held held, std::size_t* room) {
  const storage::TakenItem& item = held.receipt.item;
  const std::string owner = origin_of(held.receipt.batch.actor);
  const bool of_relay = held.receipt.batch.ring == Ring::kRelay;
  // Whether the author removed a post of its own this node knows itself.
  if (of_relay && item.removal) return;
  if (!posts->contains(item.uri)) {
    if (*room == 0) return;
    --*room;
  }
  AuditedPost& post = (*posts)[item.uri];
  if (of_relay) {
    post.of_relays.push_back(std::move(held));
  } else if (item.removal) {
    post.removed_by.insert(owner);
  } else {
    // The latest: an owner may have taken it again.
    auto& shown = post.of_storage[{owner, item.partition.number}];
    const auto known = shown.find(held.holder);
    if (known == shown.end() || known->second.receipt.batch.at < held.receipt.batch.at)
      shown.insert_or_assign(std::string(held.holder), std::move(held));
  }
}

// Two relays show what somebody has signed of the hashtag who is no owner today.
void note_owners(const AuditedPosts& posts, Report* report) {
  std::map<std::string, std::set<std::string>> holders;  // their domains, by owner
  for (const auto& [uri, post] : posts) {
    for (const auto& [part, shown] : post.of_storage) {
      for (const auto& [holder, held] : shown) {
        if (holder == report->self) report->owners.insert(part.first);
        const std::string host = host_of(holder);
        holders[part.first].insert(ring::domain_of(host));
      }
    }
  }
  for (const auto& [owner, domains] : holders) {
    if (domains.size() > 1) report->owners.insert(owner);
  }
}

}  // namespace

// By its name alone: who was a relay yesterday need not stand on the ring today. It shows what others have
// signed, each of whom is asked for its key.
Task<Result<void>> ReceiptGatherer::gather_from(std::string relay, Tag tag, const Receipts::KnownKeys* known,
                                                AuditedPosts* posts, Report* report) {
  Receipts::Source source{relay};
  std::size_t room = kPostsMax;
  for (std::size_t page = 0; page < kPagesMax; ++page) {
    CO_TRY(const Url url, Url::parse(fmt::format("{}{}?tag={}&after={}", relay, Receipts::kPath,
                                                 percent_encode(tag.canonical()), source.after)));
    CO_TRY(const HttpResponse response,
           co_await http_.send(HttpCall("GET", url, clock_.now() + kAuditTimeout)));
    if (response.status != 200) co_return fail(ErrorCode::kUnavailable, relay + " shows no receipts");
    CO_TRY(json::object body, json::parse_object(response.body));
    std::vector<Held> shown = co_await receipts_.read(std::move(body), tag, known, &source);
    for (Held& held : shown) {
      if (!held.key.empty()) {
        add(posts, std::move(held), &room);
        continue;
      }
      ++report->unchecked;
      if (const auto post = posts->find(held.receipt.item.uri); post != posts->end())
        post->second.unchecked[relay].insert(origin_of(held.receipt.batch.actor));
    }
    if (source.after == 0) break;
  }
  if (source.after != 0 || source.is_cut)
    co_return fail(ErrorCode::kTooLarge, relay + " shows more receipts than are looked at");
  co_return Result<void>();
}

// What it has itself. Returns the relays among those who signed it, and when they did last.
Task<std::map<std::string, WallTime>> ReceiptGatherer::gather_own(Tag tag, Receipts::KnownKeys* known,
                                                                  AuditedPosts* posts) {
  std::map<std::string, WallTime> relays;
  Result<std::vector<Held>> own = co_await receipts_.held(tag);
  std::size_t room = kPostsMax;
  for (Held& held : own ? *own : std::vector<Held>()) {
    const storage::Receipt& batch = held.receipt.batch;
    (*known)[batch.actor].insert(held.key);
    if (batch.ring == Ring::kRelay) {
      WallTime& last = relays[origin_of(batch.actor)];
      last = std::max(last, batch.at);
    }
    add(posts, std::move(held), &room);
  }
  for (auto& [uri, post] : *posts) {
    if (post.of_relays.empty()) continue;
    const auto published = co_await store_.find_post(uri);
    if (published && *published && std::ranges::find((*published)->tags, tag) != (*published)->tags.end())
      post.published_here = (*published)->published;
  }
  co_return relays;
}

// If that is not to be known, nobody is accused of what may be so.
Task<void> ReceiptGatherer::note_taken_out(Tag tag, AuditedPosts* posts) {
  std::set<std::string> uris;
  for (const auto& [uri, post] : *posts) uris.insert(uri);
  const auto taken_out = co_await receipts_.taken_out(std::move(tag), std::move(uris));
  for (auto& [uri, post] : *posts) {
    if (taken_out && !taken_out->contains(uri)) continue;
    post.is_taken_out = true;
    post.published_here.reset();
  }
}

Task<void> ReceiptGatherer::gather(Tag tag, AuditedPosts* posts, Report* report) {
  history_.forget_owners(tag);
  report->self = origin_of(notary_.actor());
  report->owners.insert(report->self);
  Receipts::KnownKeys known{{notary_.actor(), {notary_.key()}}};
  std::map<std::string, WallTime> relays = co_await gather_own(tag, &known, posts);
  while (relays.size() > kFormerMax)
    relays.erase(std::ranges::min_element(relays, {}, [](const auto& relay) { return relay.second; }));
  const std::vector<ring::Contact> today = co_await history_.owners(Ring::kRelay, tag);
  for (const ring::Contact& relay : today) relays.emplace(relay.origin(), WallTime{});
  relays.erase(report->self);
  for (const auto& [relay, last] : relays) {
    const Result<void> shown = co_await gather_from(relay, tag, &known, posts, report);
    if (shown) report->answered.insert(relay);
  }
  co_await note_taken_out(tag, posts);
  note_owners(*posts, report);
  for (const auto& [uri, post] : *posts) {
    report->receipts += post.of_relays.size();
    for (const auto& [part, shown] : post.of_storage) report->receipts += shown.size();
  }
}

}  // namespace tagring::audit
