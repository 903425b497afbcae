#include "fediverse/builders.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "fediverse/documents.hpp"
#include "fediverse/vocabulary.hpp"

namespace tagring::fediverse {
namespace {

json::object make_activity(std::string_view type, std::string_view id, std::string_view actor) {
  return {{"@context", kContext}, {"id", id}, {"type", type}, {"actor", actor}};
}

json::array to_array(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

json::value one_or_many(const std::vector<std::string>& texts) {
  if (texts.size() == 1) return json::value(texts.front());
  return to_array(texts);
}

json::array to_items(const std::vector<PostRef>& posts) {
  json::array items;
  for (const PostRef& post : posts) {
    TR_ASSERT(post.published.has_value());
    json::array tags;
    for (const Tag& tag : post.tags) tags.push_back({{"type", "Hashtag"}, {"name", "#" + tag.canonical()}});
    json::object item = {{"id", post.uri},
                         {"type", "Note"},
                         {"attributedTo", post.author},
                         {"published", to_rfc3339(*post.published)},
                         {"tag", std::move(tags)}};
    if (post.updated) item["updated"] = to_rfc3339(*post.updated);
    if (post.indexable) item["indexable"] = true;
    if (const std::size_t space = post.signed_copy.find(' '); space != std::string::npos) {
      item["signed"] = json::object{{"sha256", post.signed_copy.substr(0, space)},
                                    {"origin", post.signed_copy.substr(space + 1)}};
    }
    items.push_back(std::move(item));
  }
  return items;
}

// With the term Hashtag, which items need and ActivityStreams does not define.
json::object make_batch(std::string_view type, std::string_view id, std::string_view actor) {
  json::object activity = make_activity(type, id, actor);
  activity["@context"] = json::array{kContext, json::object{{"Hashtag", "as:Hashtag"},
                                                            {"toot", "http://joinmastodon.org/ns#"},
                                                            {"indexable", "toot:indexable"}}};
  return activity;
}

json::object make_membership(std::string_view type, std::string_view id, std::string_view actor,
                             std::string_view target, const std::vector<PostRef>& posts) {
  json::object activity = make_batch(type, id, actor);
  activity["target"] = target;
  activity["object"] = to_items(posts);
  return activity;
}

void address(json::object& activity, std::string_view actor, Audience audience) {
  if (audience == Audience::kPublic) {
    activity["to"] = json::array{kPublic};
    activity["cc"] = json::array{followers_of(actor)};
  } else {
    activity["to"] = json::array{followers_of(actor)};
  }
}

json::object make_answer(std::string_view type, std::string_view id, std::string_view actor,
                         const json::object& follow) {
  json::object activity = make_activity(type, id, actor);
  activity["to"] = json::array{json::id_of(follow, "actor")};
  activity["object"] = follow;
  return activity;
}

}  // namespace

json::object make_add(std::string_view id, std::string_view actor, std::string_view target,
                      const std::vector<PostRef>& posts) {
  return make_membership("Add", id, actor, target, posts);
}

json::object make_remove(std::string_view id, std::string_view actor, std::string_view target,
                         const std::vector<PostRef>& posts) {
  return make_membership("Remove", id, actor, target, posts);
}

json::object make_announce(std::string_view id, std::string_view actor, std::string_view uri,
                           WallTime post_published, Audience audience, WallTime now) {
  json::object activity = make_activity("Announce", id, actor);
  activity["published"] = to_rfc3339(std::max(now, post_published));
  address(activity, actor, audience);
  activity["object"] = uri;
  return activity;
}

json::object make_undo_announce(std::string_view id, std::string_view actor, std::string_view announce_id,
                                std::string_view uri, Audience audience, std::optional<WallTime> published) {
  json::object announce = {{"id", announce_id}, {"type", "Announce"}, {"actor", actor}, {"object", uri}};
  if (published) announce["published"] = to_rfc3339(*published);
  address(announce, actor, audience);
  json::object activity = make_activity("Undo", id, actor);
  address(activity, actor, audience);
  activity["object"] = std::move(announce);
  return activity;
}

json::object make_batched_announce(std::string_view id, std::string_view actor,
                                   const std::vector<PostRef>& posts, WallTime now) {
  json::object activity = make_batch("Announce", id, actor);
  WallTime published = now;
  for (const PostRef& post : posts) published = std::max(published, post.published.value_or(now));
  activity["published"] = to_rfc3339(published);
  activity["object"] = to_items(posts);
  return activity;
}

json::object make_batched_undo(std::string_view id, std::string_view actor,
                               const std::vector<PostRef>& posts) {
  json::object activity = make_batch("Undo", id, actor);
  activity["object"] = json::object{{"type", "Announce"}, {"actor", actor}, {"object", to_items(posts)}};
  return activity;
}

json::object make_follow(std::string_view id, std::string_view actor,
                         const std::vector<std::string>& objects) {
  json::object activity = make_activity("Follow", id, actor);
  if (objects.size() == 1) activity["to"] = to_array(objects);
  activity["object"] = one_or_many(objects);
  return activity;
}

json::object make_undo_follow(std::string_view id, std::string_view actor, std::string_view follow_id,
                              const std::vector<std::string>& objects) {
  json::object activity = make_activity("Undo", id, actor);
  json::object follow = {{"type", "Follow"}, {"actor", actor}, {"object", one_or_many(objects)}};
  if (!follow_id.empty()) follow["id"] = follow_id;
  activity["object"] = std::move(follow);
  return activity;
}

json::object make_update(std::string_view id, std::string_view actor) {
  json::object activity = make_activity("Update", id, actor);
  activity["to"] = json::array{kPublic};
  activity["object"] = actor;
  return activity;
}

json::object make_move(std::string_view id, std::string_view actor, std::string_view target) {
  json::object activity = make_activity("Move", id, actor);
  activity["to"] = json::array{followers_of(actor)};
  activity["object"] = actor;
  activity["target"] = target;
  return activity;
}

json::object make_remove_follower(std::string_view id, std::string_view actor, std::string_view follower,
                                  std::string_view from) {
  json::object activity = make_activity("Remove", id, actor);
  activity["object"] = follower;
  activity["target"] = followers_of(from);
  return activity;
}

json::object make_flag(std::string_view id, std::string_view actor, std::string_view comment,
                       const std::vector<std::string>& objects) {
  json::object activity = make_activity("Flag", id, actor);
  activity["content"] = comment;
  activity["object"] = to_array(objects);
  return activity;
}

json::object make_accept(std::string_view id, std::string_view actor, const json::object& follow) {
  return make_answer("Accept", id, actor, follow);
}

json::object make_reject(std::string_view id, std::string_view actor, const json::object& follow) {
  return make_answer("Reject", id, actor, follow);
}

}  // namespace tagring::fediverse
