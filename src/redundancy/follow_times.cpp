#include "redundancy/follow_times.hpp"

namespace tagring::redundancy {
namespace {

constexpr Duration kForgetsEvery = std::chrono::minutes(1);

}  // namespace

void FollowTimes::forget_old() {
  if (clock_.now() < forgets_) return;
  forgets_ = clock_.now() + kForgetsEvery;
  const WallTime oldest = clock_.wall_now() - kRemembered;
  requests_.change_all([&](Requests& its) {
    std::erase_if(its, [&](const auto& entry) { return entry.second.at < oldest; });
  });
}

void FollowTimes::note(const Tag& tag, const std::string& actor, const std::string& domain, Request request) {
  forget_old();
  const auto drop = [](Requests& its) { its.erase(its.begin()); };
  if (!requests_.make_room(domain, kSizeMax, drop) && requests_.of(domain) > 0)
    requests_.change(domain, drop);
  if (requests_.size() >= kSizeMax) return;  // as many domains as there are places
  requests_.change(domain, [&](Requests& its) { its.insert_or_assign({tag, actor}, request); });
}

FollowTimes::Request FollowTimes::last(const Tag& tag, const std::string& actor,
                                       const std::string& domain) const {
  const Requests* its = requests_.find(domain);
  if (its == nullptr) return {};
  const auto it = its->find({tag, actor});
  if (it == its->end() || it->second.at < clock_.wall_now() - kRemembered) return {};
  return it->second;
}

}  // namespace tagring::redundancy
