#include "delivery/partial.hpp"

#include "followers/authority.hpp"
#include "hashtag/tag.hpp"

namespace tagring::delivery {

std::optional<Membership> membership_of(const Follower& follower) {
  if (follower.via != Via::kBoost && follower.via != Via::kNode) return std::nullopt;
  const auto authority = followers::Authority::of(follower.actor);
  if (!authority) return std::nullopt;
  if (follower.via == Via::kBoost)
    return Membership{{follower.tag.canonical(), authority->text()}, follower.actor};
  // A node has one actor. Were there a second, one hashtag would be counted twice.
  if (follower.actor != authority->text() + "/actor") return std::nullopt;
  return Membership{{std::string(), authority->text()},
                    authority->text() + "/tag/" + follower.tag.actor_name()};
}

}  // namespace tagring::delivery
