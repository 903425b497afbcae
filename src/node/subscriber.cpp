#include "node/subscriber.hpp"

#include <fmt/format.h>

#include "node/results.hpp"
#include "node/wire.hpp"

namespace tagring::node {
namespace {
constexpr std::size_t kLoadPage = 10'000;
}

Subscriber::Subscriber(Options options, relay::Store& store, RingService& rings, Courier& courier,
                       const Identity& identity, Clock& clock, Executor executor, Rng rng)
    : options_(options),
      store_(store),
      rings_(rings),
      courier_(courier),
      identity_(identity),
      clock_(clock),
      rng_(rng),
      tasks_(std::move(executor)) {}

Task<Result<void>> Subscriber::load_wanted() {
  std::set<std::string> wanted;
  std::string after;
  for (;;) {
    CO_TRY(std::vector<std::string> page, co_await store_.wanted(after, kLoadPage));
    if (page.empty()) break;
    after = page.back();
    wanted.insert(page.begin(), page.end());
  }
  wanted_ = std::move(wanted);
  co_return Result<void>();
}

Task<Result<void>> Subscriber::load() {
  CO_TRY_VOID(co_await load_wanted());
  CO_TRY(const std::vector<relay::Subscription> known, co_await store_.subscriptions());
  for (const relay::Subscription& subscription : known)
    owners_[subscription.tag][subscription.owner] = subscription.follow_id;
  co_return Result<void>();
}

void Subscriber::start() { tasks_.spawn("subscriber", renew_for_ever()); }

Task<void> Subscriber::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<Result<void>> Subscriber::want(std::vector<std::string> tags, std::string reason) {
  CO_TRY_VOID(co_await store_.want(tags, std::move(reason)));
  bool news = false;
  for (std::string& tag : tags) news = wanted_.insert(std::move(tag)).second || news;
  if (news) renew_soon();
  co_return Result<void>();
}

Task<Result<void>> Subscriber::unwant(std::vector<std::string> tags, std::string reason) {
  CO_TRY_VOID(co_await store_.unwant(std::move(tags), std::move(reason)));
  CO_TRY_VOID(co_await load_wanted());  // another reason may still hold
  renew_soon();
  co_return Result<void>();
}

bool Subscriber::follows(const std::string& tag, const std::string& origin) const {
  const auto it = owners_.find(tag);
  return it != owners_.end() && it->second.contains(origin);
}

std::size_t Subscriber::subscriptions() const {
  std::size_t count = 0;
  for (const auto& [tag, owners] : owners_) count += owners.size();
  return count;
}

// --- renewing ----------------------------------------------------------------------------------------------

Task<void> Subscriber::renew_for_ever() {
  for (;;) {
    const bool complete = co_await renew();
    const Duration base = complete ? options_.renew_every : std::chrono::seconds(1);
    const auto count = static_cast<std::uint64_t>(base.count());
    const Instant next =
        clock_.now() + Duration(static_cast<Duration::rep>(count / 2 + rng_.below(count + 1)));
    co_await clock_.sleep_until(next);
  }
}

void Subscriber::renew_soon() {
  settled_ = false;
  if (again_) return;
  again_ = true;
  tasks_.spawn("renew", renew_after(Duration(20)));
}

Task<void> Subscriber::renew_after(Duration wait) {
  // Wishes that come together are served together.
  const Instant next = clock_.now() + wait;
  co_await clock_.sleep_until(next);
  again_ = false;
  co_await renew();
}

// Follows wanted tags where they are owned now, unfollows the rest. True if everything is as it should be.
Task<bool> Subscriber::renew() {
  if (renewing_) co_return false;
  renewing_ = true;
  bool complete = true;
  TagsByOwner to_follow;
  TagsByOwner to_unfollow;
  const std::set<std::string> wanted = wanted_;
  for (const std::string& text : wanted) {
    const Result<Tag> tag = Tag::parse(text);
    if (!tag) continue;
    std::set<std::string> now;
    for (unsigned i = 0; i < options_.relay_replicas; ++i) {
      const RingId key = replica_key(tag->key(), i, options_.relay_replicas);
      const Result<ring::Owner> owner = co_await rings_.of(Ring::kRelay).find_owner(key);
      if (!owner) {
        complete = false;
        continue;
      }
      if (owner->contact.origin() != identity_.origin()) now.insert(owner->contact.origin());
    }
    for (const std::string& owner : now) {
      if (!follows(text, owner)) to_follow[owner].push_back(text);
    }
    if (!complete) continue;  // who cannot be found now may still be an owner
    for (const auto& [owner, id] : owners_[text]) {
      if (!now.contains(owner)) to_unfollow[owner].push_back(text);
    }
  }
  for (const auto& [tag, owners] : owners_) {
    if (wanted_.contains(tag)) continue;
    for (const auto& [owner, id] : owners) to_unfollow[owner].push_back(tag);
  }
  for (auto& [owner, tags] : to_follow) {
    const bool done = co_await follow_at(owner, std::move(tags));
    complete = complete && done;
  }
  for (auto& [owner, tags] : to_unfollow) co_await unfollow_at(owner, std::move(tags));
  renewing_ = false;
  settled_ = complete && wanted == wanted_;
  co_return complete;
}

Task<bool> Subscriber::follow_at(std::string owner, std::vector<std::string> tags) {
  bool complete = true;
  for (std::size_t begin = 0; begin < tags.size(); begin += options_.tags_per_follow) {
    const std::size_t end = std::min(tags.size(), begin + options_.tags_per_follow);
    const std::vector<std::string> chunk(tags.begin() + static_cast<std::ptrdiff_t>(begin),
                                         tags.begin() + static_cast<std::ptrdiff_t>(end));
    const std::string id = fmt::format("{}/follows/{:x}", identity_.origin(), rng_.next());
    // From now on it may announce, even before we have read that it accepts.
    std::vector<relay::Subscription> taken;
    for (const std::string& tag : chunk) {
      owners_[tag][owner] = id;
      taken.push_back({tag, owner, id, true});
    }
    ++messages_;
    const Result<HttpResponse> response =
        co_await courier_.deliver(owner + "/inbox", follow_activity(id, identity_.actor(), owner, chunk));
    const Result<std::vector<Refusal>> refusals = read_results(response);
    std::set<std::string> refused;
    if (!refusals) {
      refused.insert(chunk.begin(), chunk.end());
    } else {
      for (const Refusal& refusal : *refusals) refused.insert(refusal.tag);
    }
    for (const std::string& text : refused) {
      complete = false;
      owners_[text].erase(owner);
      const Result<Tag> tag = Tag::parse(text);
      for (unsigned i = 0; tag && i < options_.relay_replicas; ++i) {
        rings_.of(Ring::kRelay).forget_route(replica_key(tag->key(), i, options_.relay_replicas));
      }
    }
    std::erase_if(
        taken, [&](const relay::Subscription& subscription) { return refused.contains(subscription.tag); });
    if (!taken.empty()) co_await store_.save_subscriptions(std::move(taken));
  }
  co_return complete;
}

Task<void> Subscriber::unfollow_at(std::string owner, std::vector<std::string> tags) {
  const std::string id = fmt::format("{}/follows/{:x}", identity_.origin(), rng_.next());
  ++messages_;
  // One try is enough: an owner that goes on announcing is told that we do not follow, and stops.
  co_await courier_.deliver(owner + "/inbox", undo_follow_activity(id, identity_.actor(), owner, tags));
  std::vector<std::pair<std::string, std::string>> dropped;
  for (const std::string& tag : tags) {
    const auto it = owners_.find(tag);
    if (it != owners_.end()) {
      it->second.erase(owner);
      if (it->second.empty()) owners_.erase(it);
    }
    dropped.emplace_back(tag, owner);
  }
  co_await store_.drop_subscriptions(std::move(dropped));
}

}  // namespace tagring::node
