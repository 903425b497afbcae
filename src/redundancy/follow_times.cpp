#include "redundancy/follow_times.hpp"

#include "base/counted.hpp"

namespace tagring::redundancy {

void FollowTimes::forget_old() {
  if (requests_.size() < kSizeMax) return;
  const WallTime oldest = clock_.wall_now() - kRemembered;
  std::erase_if(requests_, [&](const auto& entry) { return entry.second.at < oldest; });
  make_room(requests_, kSizeMax);
}

void FollowTimes::note(const Tag& tag, const std::string& actor, Request request) {
  forget_old();
  requests_[{tag, actor}] = request;
}

FollowTimes::Request FollowTimes::last(const Tag& tag, const std::string& actor) const {
  const auto it = requests_.find({tag, actor});
  if (it == requests_.end() || it->second.at < clock_.wall_now() - kRemembered) return {};
  return it->second;
}

}  // namespace tagring::redundancy
