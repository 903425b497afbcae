#include "redundancy/follow_times.hpp"

#include "base/counted.hpp"

namespace tagring::redundancy {

void FollowTimes::forget_old() {
  if (requests_.size() < kSizeMax) return;
  const WallTime oldest = clock_.wall_now() - kRemembered;
  std::erase_if(requests_, [&](const auto& entry) { return entry.second.at < oldest; });
  make_room(requests_, kSizeMax);
}

void FollowTimes::note(const std::string& tag, const std::string& actor, Request request) {
  forget_old();
  requests_[{tag, actor}] = request;
}

FollowTimes::Request FollowTimes::last(const std::string& tag, const std::string& actor) const {
  const auto it = requests_.find({tag, actor});
  if (it == requests_.end() || it->second.at < clock_.wall_now() - kRemembered) return {};
  return it->second;
}

std::vector<std::pair<std::string, WallTime>> FollowTimes::gone(const std::string& tag) const {
  std::vector<std::pair<std::string, WallTime>> result;
  const WallTime oldest = clock_.wall_now() - kRemembered;
  for (auto it = requests_.lower_bound({tag, ""}); it != requests_.end() && it->first.first == tag; ++it) {
    if (!it->second.follows && it->second.at >= oldest) result.emplace_back(it->first.second, it->second.at);
  }
  return result;
}

}  // namespace tagring::redundancy
