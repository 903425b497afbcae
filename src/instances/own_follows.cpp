// Whom the node's actors follow: the instances and people that use it as a relay and want to be followed
// back.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string_view>

#include "base/counted.hpp"
#include "fediverse/activity.hpp"
#include "fediverse/builders.hpp"
#include "followers/plan.hpp"
#include "instances/instances.hpp"

namespace tagring::instances {
namespace {

// Ids of Follows that were sent one after the other, without an Undo between them, begin alike: LINE, LINE-n.
// Whoever has the first of them may answer by its id to the others. After an Undo or a Reject a new line
// begins, so that an answer which comes late says by itself that it is about none that holds.
std::string_view line_of(std::string_view follow_id) {
  return follow_id.substr(0, follow_id.find('-', follow_id.rfind('/') + 1));
}

std::string next_in_line(std::string_view follow_id, std::string_view fresh_id) {
  return fmt::format("{}-{}", line_of(follow_id), fresh_id.substr(fresh_id.rfind('/') + 1));
}

bool is_of_all(const Link& link) { return link.accepted && link.style == Style::kMastodon; }

}  // namespace

std::vector<Instances::Source> Instances::sources() const {
  std::vector<Source> found;
  for (const auto& [key, own] : own_follows_) {
    const auto link = links_.find({own.object, own.actor});
    const bool is_person = link != links_.end() && link->second.style == Style::kPerson;
    if (own.accepted) found.push_back({own.object, own.since, is_person});
  }
  return found;
}

std::map<std::string, WallTime> Instances::senders_of_all() const {
  std::map<std::string, WallTime> found;
  for (const auto& [key, link] : links_) {
    if (!is_of_all(link)) continue;
    const auto known = found.try_emplace(link.host, link.since).first;
    known->second = std::min(known->second, link.since);  // it may use hashtag actors, too
  }
  return found;
}

bool Instances::sends_all(const std::string& host) const {
  return std::ranges::any_of(
      links_, [&](const auto& known) { return known.second.host == host && is_of_all(known.second); });
}

Task<Result<void>> Instances::follow_back(Link link) {
  return follow_as(std::move(link.relay), std::move(link.actor), std::move(link.inbox));
}

Task<Result<void>> Instances::follow_as(std::string actor, std::string object, std::string inbox) {
  OwnFollow follow{actor, object,           std::move(inbox), activities_.fresh_follow_id(actor, object),
                   false, clock_.wall_now()};
  const auto known = own_follows_.find({follow.actor, follow.object});
  if (known != own_follows_.end()) {
    follow.follow_id = next_in_line(known->second.follow_id, follow.follow_id);
    follow.accepted = known->second.accepted;
  }
  CO_TRY_VOID(co_await store_.save_own_follow(follow));
  own_follows_[{follow.actor, follow.object}] = follow;
  const std::vector<std::string> objects = {follow.object};
  std::string body = json::serialize(fediverse::make_follow(follow.follow_id, follow.actor, objects));
  co_return co_await activities_.send(follow.actor, follow.inbox, std::move(body));
}

Task<Result<void>> Instances::end(OwnFollow follow) {
  CO_TRY_VOID(co_await drop_follow(follow));
  const std::vector<std::string> objects = {follow.object};
  const std::string id = activities_.fresh_id(follow.actor, "undos", follow.follow_id);
  std::string body =
      json::serialize(fediverse::make_undo_follow(id, follow.actor, follow.follow_id, objects));
  co_return co_await activities_.send(follow.actor, follow.inbox, std::move(body));
}

Task<Result<void>> Instances::drop_follow(OwnFollow follow) {
  CO_TRY_VOID(co_await store_.drop_own_follow(follow.actor, follow.object));
  own_follows_.erase({follow.actor, follow.object});
  co_return Result<void>();
}

// Who uses this node is followed back; others are groups.
std::vector<OwnFollow> Instances::groups() const {
  std::vector<OwnFollow> found;
  for (const auto& [key, own] : own_follows_)
    if (!links_.contains({own.object, own.actor})) found.push_back(own);
  return found;
}

std::optional<OwnFollow> Instances::own_follow(const std::string& follow_id) const {
  const auto found = std::ranges::find_if(
      own_follows_, [&](const auto& known) { return known.second.follow_id == follow_id; });
  return found == own_follows_.end() ? std::nullopt : std::optional(found->second);
}

Task<Result<void>> Instances::leave_group(std::string group) {
  bool was_followed = false;
  for (const OwnFollow& own : groups()) {
    if (own.object != group) continue;
    was_followed = true;
    CO_TRY_VOID(co_await end(own));
  }
  if (!was_followed) co_return fail(ErrorCode::kNotFound, "this node does not follow " + group);
  co_return Result<void>();
}

Task<Result<void>> Instances::leave_groups_of(std::string host) {
  for (const OwnFollow& own : groups()) {
    if (!is_same_or_below(host_of(own.object), host)) continue;
    CO_TRY_VOID(co_await end(own));
  }
  co_return Result<void>();
}

bool Instances::is_own_id(const std::string& id) const {
  const std::string origin = origin_of(id);
  return !origin.empty() && (origin == identity_.origin() || origin == identity_.moved_from);
}

// Which Follows of that actor are meant: by the line of their id, or, for each that bears no id of this node,
// another by the actor (Misskey names its own ids). Another id of this node is of a Follow that has ended:
// servers try again for days, so that what they answered to it may come when there is another. Whoever is not
// followed costs no comparisons, however many they name.
std::vector<OwnFollow> Instances::named_by(const std::string& actor,
                                           const std::vector<fediverse::FollowRef>& follows,
                                           bool waiting_only) const {
  std::vector<OwnFollow> found;
  std::map<std::string_view, std::string_view> lines;  // of ids → whose Follow it is
  for (const auto& [key, own] : own_follows_) {
    if (own.object != actor) continue;
    lines.emplace(line_of(own.follow_id), own.actor);
    if (!waiting_only || !own.accepted) found.push_back(own);
  }
  if (found.empty()) return found;
  std::set<std::string_view> named;      // lines
  std::set<std::string_view> followers;  // whose Follow is meant
  std::size_t by_actor = 0;
  for (const fediverse::FollowRef& follow : follows) {
    const auto line = lines.find(line_of(follow.id));
    if (line != lines.end()) {
      if (follow.follower.empty() || follow.follower == line->second) named.insert(line->first);
    } else if (!is_own_id(follow.id) && std::ranges::find(follow.objects, actor) != follow.objects.end()) {
      if (!follow.follower.empty()) {
        followers.insert(follow.follower);
      } else {
        ++by_actor;
      }
    }
  }
  std::erase_if(found, [&](const OwnFollow& own) {
    if (named.contains(line_of(own.follow_id)) || followers.contains(own.actor)) return false;
    if (by_actor == 0) return true;
    --by_actor;
    return false;
  });
  return found;
}

Task<Result<void>> Instances::take_accept(std::string actor, std::vector<fediverse::FollowRef> follows) {
  const std::vector<OwnFollow> accepted = named_by(actor, follows, /*waiting_only=*/true);
  for (const OwnFollow& own : accepted) {
    CO_TRY_VOID(co_await accept_follow(own.actor, own.object));
  }
  co_return Result<void>();
}

Task<Result<void>> Instances::take_reject(std::string actor, std::vector<fediverse::FollowRef> follows) {
  const std::vector<OwnFollow> rejected = named_by(actor, follows, /*waiting_only=*/false);
  for (const OwnFollow& own : rejected) {
    log_.info("follow_rejected", {{"by", own.object}});
    CO_TRY_VOID(co_await drop_follow(own));
  }
  co_return Result<void>();
}

followers::Knowledge Instances::follows_of(const std::string& object) const {
  followers::Knowledge known;
  for (const auto& [key, own] : own_follows_) {
    if (own.object != object) continue;
    if (own.accepted) {
      known.accepted.push_back({own.actor, own.since});
    } else {
      known.pending.push_back(own.actor);
    }
  }
  return known;
}

Task<Result<void>> Instances::forget_follow(std::string actor, std::string object, WallTime before) {
  const auto own = own_follows_.find({actor, object});
  if (own == own_follows_.end() || !own->second.accepted || own->second.since > before)
    co_return Result<void>();
  const auto link = links_.find({object, actor});
  if (link == links_.end()) co_return co_await forget_group(own->second);
  CO_TRY_VOID(co_await store_.drop_own_follow(actor, object));
  own_follows_.erase({actor, object});
  const auto still = links_.find({object, actor});
  const bool uses_us =
      still != links_.end() && still->second.accepted && still->second.style != Style::kMastodon;
  if (!uses_us || !may_follow_again(actor, object)) co_return Result<void>();
  Link again = still->second;
  co_return co_await follow_back(std::move(again));
}

// An administrator has ordered it, so it stays among what this node follows, if only as what waits. What is
// ended while it is written would be on the disk again.
Task<Result<void>> Instances::forget_group(OwnFollow group) {
  group.accepted = false;
  CO_TRY_VOID(co_await store_.save_own_follow(group));
  const auto own = own_follows_.find({group.actor, group.object});
  if (own == own_follows_.end()) co_return co_await store_.drop_own_follow(group.actor, group.object);
  if (own->second.follow_id != group.follow_id) co_return Result<void>();
  own->second = group;
  if (may_follow_again(group.actor, group.object))
    co_return co_await follow_as(std::move(group.actor), std::move(group.object), std::move(group.inbox));
  log_.warn("group_does_not_know_its_follower",
            {{"group", group.object}, {"follow_with", "tagring instance follow " + group.object}});
  co_return Result<void>();
}

// Who forgets the second one, too, does not want it.
bool Instances::may_follow_again(const std::string& actor, const std::string& object) {
  if (followed_again_.contains({actor, object})) return false;
  make_room(followed_again_, kFollowedAgainMax);
  followed_again_.emplace(actor, object);
  log_.info("followed_back_again", {{"actor", object}});
  return true;
}

Task<Result<void>> Instances::accept_follow(std::string actor, std::string object) {
  const auto own = own_follows_.find({actor, object});
  if (own == own_follows_.end() || own->second.accepted) co_return Result<void>();
  OwnFollow accepted = own->second;
  accepted.accepted = true;
  accepted.since = clock_.wall_now();
  CO_TRY_VOID(co_await store_.save_own_follow(accepted));
  const auto still = own_follows_.find({actor, object});
  // It was ended while it was written, and is on the disk again.
  if (still == own_follows_.end()) co_return co_await store_.drop_own_follow(actor, object);
  if (still->second.follow_id == accepted.follow_id) still->second = accepted;
  co_return Result<void>();
}

Task<Result<void>> Instances::disown_follow(std::string actor, std::string object, std::string inbox) {
  if (own_follows_.contains({actor, object})) co_return Result<void>();
  const std::string about = actor + " " + object;
  const std::string id = activities_.fresh_id(actor, "undos", object);
  const std::vector<std::string> objects = {object};
  std::string body = json::serialize(
      fediverse::make_undo_follow(id, actor, identity_.activity_id("follows", about), objects));
  co_return co_await activities_.send(std::move(actor), std::move(inbox), std::move(body));
}

}  // namespace tagring::instances
