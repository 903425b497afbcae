#include "audit/receipt_gatherer.hpp"

#include <fmt/format.h>

#include "base/url.hpp"

namespace tagring::audit {
namespace {

constexpr Duration kTimeout = std::chrono::seconds(10);
constexpr std::size_t kPostsMax = 5'000;
constexpr std::size_t kPagesMax = 200;  // of receipts of one relay

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
    const std::pair part(origin_of(held.receipt.batch.actor), item.slot);
    const auto known = post.of_storage.find(part);
    if (known == post.of_storage.end() || known->second.receipt.batch.at < held.receipt.batch.at)
      post.of_storage.insert_or_assign(part, std::move(held));
  }
}

}  // namespace

Task<Result<void>> ReceiptGatherer::gather_from(ring::Contact relay, Tag tag, AuditedPosts* posts) {
  std::uint64_t after = 0;
  for (std::size_t page = 0; page < kPagesMax; ++page) {
    const std::string target =
        fmt::format("{}?tag={}&after={}", Receipts::kPath, percent_encode(tag.canonical()), after);
    CO_TRY(const json::object body, co_await rings_.ask_owner(relay, target, clock_.now() + kTimeout));
    for (Held& held : Receipts::read(body, tag.canonical(), relay.origin(), &after)) {
      const bool ours = held.receipt.batch.network == notary_.network();
      if (ours && held.receipt.batch.ring == Ring::kStorage) add(posts, std::move(held));
    }
    if (after == 0) break;
  }
  co_return Result<void>();
}

Task<void> ReceiptGatherer::gather(Tag tag, AuditedPosts* posts, Report* report) {
  history_.forget_owners(tag);
  Result<std::vector<Held>> own = co_await receipts_.held(tag.canonical());
  if (own) {
    for (Held& held : *own) add(posts, std::move(held));
  }
  const std::vector<ring::Contact> relays = co_await history_.owners(Ring::kRelay, tag);
  for (const ring::Contact& relay : relays) {
    if (relay.origin() == origin_of(notary_.actor())) continue;
    const Result<void> shown = co_await gather_from(relay, tag, posts);
    if (shown) report->answered.insert(relay.origin());
  }
  for (const auto& [uri, post] : *posts) report->receipts += post.of_relays.size() + post.of_storage.size();
}

}  // namespace tagring::audit
