// An activity that speaks for nobody outside its actor's server; and what we write of it, we read again.
#include "fediverse/activity.hpp"

#include "fediverse/builders.hpp"
#include "fuzz/checks.hpp"
#include "fuzz/target.hpp"
#include "hashtag/uri.hpp"

namespace tagring::fuzzing {
namespace {

using namespace fediverse;

constexpr ParseLimits kLimits{.tags_max = 4, .items_max = 8};  // small, so that they are reached

Activity again(const json::object& written) {
  Result<Activity> activity = parse_activity(json::serialize(written), kNow, kLimits);
  TR_ASSERT(activity);
  return *std::move(activity);
}

void check_posts(const std::vector<PostRef>& posts) {
  TR_ASSERT(!posts.empty() && posts.size() <= kLimits.items_max);
  for (const PostRef& post : posts) check_post(post, kLimits);
}

void check_follow(const FollowRef& follow) {
  TR_ASSERT(!follow.id.empty() || !follow.objects.empty());
  TR_ASSERT(follow.objects.size() <= kLimits.items_max);
  for (const std::string& object : follow.objects) {
    if (!is_hashtag_uri(object)) check_id(object);
  }
}

struct Check {
  const Activity& activity;

  void operator()(const Create& create) const { check(create.note); }
  void operator()(const Update& update) const { check(update.note); }
  void check(const Note& note) const {
    check_note(note, kLimits);
    TR_ASSERT(note.author == activity.actor);
  }
  void operator()(const UpdateActor&) const {}
  void operator()(const Told& told) const { TR_ASSERT(is_same_origin(told.uri, activity.actor)); }
  void operator()(const Delete& removal) const { TR_ASSERT(is_same_origin(removal.uri, activity.actor)); }
  void operator()(const Follow& follow) const {
    TR_ASSERT(!follow.objects.empty() && follow.objects.size() <= kLimits.items_max);
    const Activity copy = again(make_follow(activity.id, activity.actor, follow.objects));
    TR_ASSERT(std::get<Follow>(copy.content).objects == follow.objects);
  }
  void operator()(const UndoFollow& undo) const {
    check_follow(undo.follow);
    if (undo.follow.id.empty() || undo.follow.objects.empty()) return;
    const Activity copy =
        again(make_undo_follow(activity.id, activity.actor, undo.follow.id, undo.follow.objects));
    TR_ASSERT(std::get<UndoFollow>(copy.content).follow.objects == undo.follow.objects);
  }
  void operator()(const UndoAnnounce& undo) const { check_posts(undo.posts); }
  void operator()(const UndoById& undo) const { TR_ASSERT(is_same_origin(undo.id, activity.actor)); }
  void operator()(const Accept& accept) const { check(accept.follows); }
  void operator()(const Reject& reject) const { check(reject.follows); }
  void check(const std::vector<FollowRef>& follows) const {
    TR_ASSERT(!follows.empty() && follows.size() <= kLimits.items_max);
    for (const FollowRef& follow : follows) check_follow(follow);
  }
  void operator()(const Block& block) const { check_id(block.object); }
  void operator()(const UndoBlock& undo) const { check_id(undo.object); }
  void operator()(const RemoveFollower& remove) const {
    check_id(remove.followed);
    check_id(remove.follower);
    const Activity copy =
        again(make_remove_follower(activity.id, activity.actor, remove.follower, remove.followed));
    TR_ASSERT(std::get<RemoveFollower>(copy.content).followed == remove.followed);
    TR_ASSERT(std::get<RemoveFollower>(copy.content).follower == remove.follower);
  }
  void operator()(const Flag& flag) const {
    TR_ASSERT(!flag.objects.empty() && flag.objects.size() <= kLimits.items_max);
    const Activity copy = again(make_flag(activity.id, activity.actor, flag.comment, flag.objects));
    TR_ASSERT(std::get<Flag>(copy.content).comment == flag.comment);
    TR_ASSERT(std::get<Flag>(copy.content).objects == flag.objects);
  }
  void operator()(const Announce& announce) const { check_posts(announce.posts); }
  void operator()(const Add& add) const { check(add, make_add); }
  void operator()(const Remove& removal) const { check(removal, make_remove); }
  template <class T, class Make>
  void check(const T& batch, Make make) const {
    check_posts(batch.posts);
    TR_ASSERT(batch.target.ends_with("/relay") || batch.target.ends_with("/storage"));
    const Activity copy = again(make(activity.id, activity.actor, batch.target, batch.posts));
    TR_ASSERT(std::get<T>(copy.content).target == batch.target);
    TR_ASSERT(std::ranges::equal(std::get<T>(copy.content).posts, batch.posts, is_equal));
  }
  void operator()(const Ignored& ignored) const { TR_ASSERT(!ignored.reason.empty()); }
};

}  // namespace

void fuzz(std::string_view text) {
  const Result<Activity> activity = parse_activity(text, kNow, kLimits);
  if (!activity) {
    TR_ASSERT(activity.error().code == ErrorCode::kInvalid || activity.error().code == ErrorCode::kTooLarge);
    return;
  }
  check_id(activity->actor);
  // A Create may have none.
  if (!activity->id.empty()) TR_ASSERT(is_same_origin(activity->id, activity->actor));
  std::visit(Check{*activity}, activity->content);
}

}  // namespace tagring::fuzzing
