#include "subscriber/wants.hpp"

#include <utility>

namespace tagring::subscriber {

Task<Result<void>> Wants::load() {
  std::set<Tag> wanted;
  std::optional<Tag> after;
  for (;;) {
    CO_TRY(std::vector<Tag> page, co_await store_.wanted(after, delivery::kLoadPage));
    if (page.empty()) break;
    after = page.back();
    wanted.insert(page.begin(), page.end());
  }
  tags_ = std::move(wanted);
  std::erase_if(since_, [this](const auto& entry) { return !has(entry.first); });
  co_return Result<void>();
}

Task<Result<bool>> Wants::add(std::vector<Tag> tags, std::string reason) {
  const queues::Turns::Turn turn = co_await turns_.take("");
  CO_TRY_VOID(co_await store_.want(tags, std::move(reason)));
  bool news = false;
  for (const Tag& tag : tags) {
    if (!tags_.insert(tag).second) continue;
    news = true;
    since_[tag] = clock_.wall_now();
  }
  co_return news;
}

// Another reason may still hold. Nothing is added between reading what is wanted and taking it for all.
Task<Result<void>> Wants::remove(std::vector<Tag> tags, std::string reason) {
  const queues::Turns::Turn turn = co_await turns_.take("");
  CO_TRY_VOID(co_await store_.unwant(std::move(tags), std::move(reason)));
  co_return co_await load();
}

std::optional<WallTime> Wants::since(const Tag& tag) const {
  const auto found = since_.find(tag);
  return found == since_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace tagring::subscriber
