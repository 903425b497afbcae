// Subscriptions as they compare themselves with what owners know of them.
#include "followers/plan.hpp"
#include "subscriber/subscriptions.hpp"

namespace tagring::subscriber {

std::vector<std::string> Subscriptions::owners() const {
  std::vector<std::string> owners;
  for (const auto& [owner, digest] : digests_) owners.push_back(owner);
  return owners;
}

std::vector<std::string> Subscriptions::owners_of(const Tag& tag) const {
  std::vector<std::string> owners;
  const auto known = owners_.find(tag);
  if (known == owners_.end()) return owners;
  for (const auto& [owner, followed] : known->second) owners.push_back(owner);
  return owners;
}

followers::Digest Subscriptions::digest_at(const std::string& owner) const {
  const auto digest = digests_.find(owner);
  return digest == digests_.end() ? followers::Digest() : digest->second;
}

followers::Knowledge Subscriptions::followed_at(const std::string& owner) const {
  followers::Knowledge known;
  for (const auto& [tag, owners] : owners_) {
    const auto followed = owners.find(owner);
    if (followed == owners.end()) continue;
    if (followed->second.follow_id.empty()) {
      known.pending.push_back(identity_.tag_actor(tag));
    } else {
      known.accepted.push_back({identity_.tag_actor(tag), followed->second.since});
    }
  }
  return known;
}

Task<void> Subscriptions::forget_at(std::string owner, std::vector<Tag> tags, WallTime before) {
  std::vector<Tag> forgotten;
  for (const Tag& tag : tags) {
    const Followed* const followed = find(tag, owner);
    if (followed == nullptr || followed->since > before || followed->follow_id.empty()) continue;
    forgotten.push_back(tag);
    withdraw(tag, owner);
  }
  if (forgotten.empty()) co_return;
  co_await drop_on_disk(std::move(owner), std::move(forgotten));
  renew_soon();
}

// True also if that cannot be found out now.
Task<bool> Subscriptions::is_wanted_at(Tag tag, std::string owner) {
  if (!wants(tag)) co_return false;
  co_return co_await relays_.may_be_at(tag, std::move(owner));
}

Task<void> Subscriptions::disown_at(std::string owner, std::vector<Tag> tags) {
  std::vector<Tag> unwanted;
  for (Tag& tag : tags) {
    const bool wanted = co_await is_wanted_at(tag, owner);
    if (wanted) {
      renew_soon();
    } else {
      unwanted.push_back(std::move(tag));
    }
  }
  // From here to the answer nobody follows them there: the Undo would end it.
  std::erase_if(unwanted, [&](const Tag& tag) { return follows(tag, owner); });
  for (const Tag& tag : unwanted) disowning_.emplace(tag, owner);
  co_await unfollow_at(owner, unwanted);
  for (const Tag& tag : unwanted) disowning_.erase({tag, owner});
}

}  // namespace tagring::subscriber
