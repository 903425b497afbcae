#include "audit/receipt_gatherer.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/bytes.hpp"
#include "http/url.hpp"
#include "ring/contact.hpp"

namespace tagring::audit {
namespace {

constexpr std::size_t kPostsMax = 5'000;
constexpr std::size_t kPagesMax = 200;  // of receipts of one relay
constexpr std::size_t kFormerMax = 32;  // relays that are none any more, the latest first

void add(AuditedPosts* posts, Held held) {
  const storage::TakenItem& item = held.receipt.item;
  if (!posts->contains(item.uri) && posts->size() >= kPostsMax) return;
  AuditedPost& post = (*posts)[item.uri];
  post.published = item.published;
  if (item.removal) {
    post.removal = true;
  } else if (held.receipt.batch.ring == Ring::kRelay) {
    post.of_relays.push_back(std::move(held));
  } else {
    post.holders.insert(held.holder);
    // The latest: an owner may have taken it again.
    const std::pair part(origin_of(held.receipt.batch.actor), item.partition.number);
    const auto known = post.of_storage.find(part);
    if (known == post.of_storage.end() || known->second.receipt.batch.at < held.receipt.batch.at)
      post.of_storage.insert_or_assign(part, std::move(held));
  }
}

}  // namespace

// By its name alone: who was a relay yesterday need not stand on the ring today. Its receipts are others'
// statements, and prove themselves.
Task<Result<void>> ReceiptGatherer::gather_from(std::string relay, Tag tag, AuditedPosts* posts) {
  std::uint64_t after = 0;
  for (std::size_t page = 0; page < kPagesMax; ++page) {
    CO_TRY(const Url url, Url::parse(fmt::format("{}{}?tag={}&after={}", relay, Receipts::kPath,
                                                 percent_encode(tag.canonical()), after)));
    CO_TRY(const HttpResponse response,
           co_await http_.send(HttpCall("GET", url, clock_.now() + kAuditTimeout)));
    if (response.status != 200) co_return fail(ErrorCode::kUnavailable, relay + " shows no receipts");
    CO_TRY(const json::object body, json::parse_object(response.body));
    for (Held& held : Receipts::read(body, tag, relay, &after)) {
      const bool ours = held.receipt.batch.network == notary_.network();
      if (ours && held.receipt.batch.ring == Ring::kStorage) add(posts, std::move(held));
    }
    if (after == 0) break;
  }
  co_return Result<void>();
}

Task<void> ReceiptGatherer::gather(Tag tag, AuditedPosts* posts, Report* report) {
  history_.forget_owners(tag);
  std::map<std::string, WallTime> relays;  // by origin: when they last took something of this node
  Result<std::vector<Held>> own = co_await receipts_.held(tag);
  if (own) {
    for (Held& held : *own) {
      const storage::Receipt& batch = held.receipt.batch;
      WallTime& last = relays[origin_of(batch.actor)];
      if (batch.ring == Ring::kRelay) last = std::max(last, batch.at);
      add(posts, std::move(held));
    }
  }
  std::erase_if(relays, [](const auto& relay) { return relay.second == WallTime{}; });
  while (relays.size() > kFormerMax)
    relays.erase(std::ranges::min_element(relays, {}, [](const auto& relay) { return relay.second; }));
  const std::vector<ring::Contact> today = co_await history_.owners(Ring::kRelay, tag);
  for (const ring::Contact& relay : today) relays.emplace(relay.origin(), WallTime{});
  relays.erase(origin_of(notary_.actor()));
  for (const auto& [relay, last] : relays) {
    const Result<void> shown = co_await gather_from(relay, tag, posts);
    if (shown) report->answered.insert(relay);
  }
  for (const auto& [uri, post] : *posts) report->receipts += post.of_relays.size() + post.of_storage.size();
}

}  // namespace tagring::audit
