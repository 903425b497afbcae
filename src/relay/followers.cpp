#include "relay/followers.hpp"

#include <algorithm>

namespace tagring::relay {

void Followers::add(const Follower& follower) {
  remove(follower.tag, follower.actor);
  by_tag_[follower.tag][follower.actor] = {follower.inbox, follower.is_node, follower.since};
  ++inboxes_[follower.inbox];
  ++size_;
}

void Followers::remove(const std::string& tag, const std::string& actor) {
  const auto tagged = by_tag_.find(tag);
  if (tagged == by_tag_.end()) return;
  const auto it = tagged->second.find(actor);
  if (it == tagged->second.end()) return;
  const auto inbox = inboxes_.find(it->second.inbox);
  if (--inbox->second == 0) inboxes_.erase(inbox);
  tagged->second.erase(it);
  if (tagged->second.empty()) by_tag_.erase(tagged);
  --size_;
}

const std::map<std::string, Followers::Target>* Followers::of(const std::string& tag) const {
  const auto it = by_tag_.find(tag);
  return it == by_tag_.end() ? nullptr : &it->second;
}

bool Followers::has_people(const std::string& tag) const {
  const auto* targets = of(tag);
  return targets != nullptr &&
         std::ranges::any_of(*targets, [](const auto& target) { return !target.second.is_node; });
}

std::vector<std::string> Followers::tags_of(const std::string& actor) const {
  std::vector<std::string> tags;
  for (const auto& [tag, targets] : by_tag_) {
    if (targets.contains(actor)) tags.push_back(tag);
  }
  return tags;
}

bool Followers::uses_inbox(const std::string& inbox) const { return inboxes_.contains(inbox); }

}  // namespace tagring::relay
