#include "relay/followers.hpp"

#include <algorithm>
#include <numeric>

#include "base/url.hpp"

namespace tagring::relay {

Via Followers::Target::via() const {
  for (const Via via : {Via::kNode, Via::kBoost, Via::kTagRelay}) {
    if (followers[static_cast<std::size_t>(via)] > 0) return via;
  }
  return Via::kRelay;
}

std::size_t Followers::Target::count() const {
  return std::accumulate(followers.begin(), followers.end(), std::size_t{0});
}

void Followers::add(const Follower& follower) {
  remove(follower.tag, follower.actor);
  OfTag& of_tag = tags_[follower.tag];
  of_tag.actors[follower.actor] = {follower.inbox, follower.via};
  const auto [it, fresh] = of_tag.targets.try_emplace(follower.inbox);
  Target& target = it->second;
  if (fresh) target.host = host_of(follower.inbox);
  target.since = fresh ? follower.since : std::min(target.since, follower.since);
  ++target.followers[static_cast<std::size_t>(follower.via)];
  ++size_;
}

void Followers::remove(const std::string& tag, const std::string& actor) {
  const auto it = tags_.find(tag);
  if (it == tags_.end()) return;
  const auto gone = it->second.actors.extract(actor);
  if (gone.empty()) return;
  --size_;
  const auto target = it->second.targets.find(gone.mapped().inbox);
  --target->second.followers[static_cast<std::size_t>(gone.mapped().via)];
  if (target->second.count() == 0) it->second.targets.erase(target);
  if (it->second.actors.empty()) tags_.erase(it);
}

const std::map<std::string, Followers::Target>* Followers::targets(const std::string& tag) const {
  const auto it = tags_.find(tag);
  return it == tags_.end() ? nullptr : &it->second.targets;
}

const Followers::Target* Followers::target(const std::string& tag, const std::string& inbox) const {
  const auto* all = targets(tag);
  if (all == nullptr) return nullptr;
  const auto it = all->find(inbox);
  return it == all->end() ? nullptr : &it->second;
}

bool Followers::follows(const std::string& tag, const std::string& actor) const {
  const auto it = tags_.find(tag);
  return it != tags_.end() && it->second.actors.contains(actor);
}

std::vector<std::string> Followers::actors(const std::string& tag, const std::string& inbox) const {
  std::vector<std::string> found;
  const auto it = tags_.find(tag);
  if (it == tags_.end()) return found;
  for (const auto& [actor, entry] : it->second.actors) {
    if (entry.inbox == inbox) found.push_back(actor);
  }
  return found;
}

std::size_t Followers::count(const std::string& tag) const {
  const auto it = tags_.find(tag);
  return it == tags_.end() ? 0 : it->second.actors.size();
}

bool Followers::has_people(const std::string& tag) const {
  const auto* all = targets(tag);
  return all != nullptr &&
         std::ranges::any_of(*all, [](const auto& target) { return target.second.via() != Via::kNode; });
}

}  // namespace tagring::relay
