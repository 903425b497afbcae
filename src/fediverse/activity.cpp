#include "fediverse/activity.hpp"

#include <array>
#include <fmt/format.h>

#include "fediverse/json_ld.hpp"
#include "fediverse/vocabulary.hpp"
#include "hashtag/uri.hpp"
#include "http/url.hpp"

namespace tagring::fediverse {
namespace {

using Content = decltype(Activity::content);

// A list of one is as good as that one.
const json::value* only_one(const json::value* v) {
  return v != nullptr && v->is_array() && v->get_array().size() == 1 ? &v->get_array().front() : v;
}

// An activity of a known type, with what every parser below needs.
struct Source {
  const json::object& object;
  std::string type;
  std::string actor;
  WallTime now;
  const ParseLimits& limits;

  [[nodiscard]] const json::value* member(std::string_view key) const { return json::find(object, key); }
  // The one object, as it is given.
  [[nodiscard]] const json::value* only_object() const { return only_one(member("object")); }
  // The object, if there is one and it is given whole.
  [[nodiscard]] const json::object* inner() const {
    const json::value* only = only_object();
    return only != nullptr && only->is_object() ? &only->get_object() : nullptr;
  }
};

Content ignored(const Source& source, std::string reason) { return Ignored{source.type, std::move(reason)}; }

// The posts of an Announce, Add or Remove, or of an Announce that is undone.
Result<std::vector<PostRef>> parse_posts(const Source& source, const json::value* v) {
  std::vector<PostRef> posts;
  if (v != nullptr && v->is_array() && v->get_array().size() > source.limits.items_max) {
    return fail(ErrorCode::kTooLarge, fmt::format("object has more than {} items", source.limits.items_max));
  }
  std::optional<Error> error;
  json::for_each(v, [&](const json::value& item) {
    if (error) return;
    Result<PostRef> post = parse_post_ref(item, source.now, source.limits);
    if (post) {
      posts.push_back(*std::move(post));
    } else {
      error = Error(post.error().code, fmt::format("object {}: {}", posts.size(), post.error().message));
    }
  });
  if (error) return std::unexpected(*std::move(error));
  if (posts.empty()) return fail(ErrorCode::kInvalid, "object is missing");
  return posts;
}

// By a signature of Linked Data, which is not checked here.
bool is_signed(const Source& source) {
  const json::object* signature = json::get_object(source.object, "signature");
  return signature != nullptr && json::get_string(*signature, "signatureValue").has_value();
}

template <class T>
Result<Content> parse_post(const Source& source) {
  const json::object* o = source.inner();
  if (o == nullptr || (types_of(*o).empty() && o->contains("id"))) {
    const json::value* only = source.only_object();
    if (only == nullptr || only->is_array()) return ignored(source, "there is no object, or several");
    TRY(std::string uri, parse_id(only, "object"));
    if (!is_same_origin(uri, source.actor))
      return fail(ErrorCode::kInvalid, "object is on another server than the actor");
    return Told{std::move(uri), std::is_same_v<T, Update>};
  }
  if (!is_post(*o)) return ignored(source, "the object is not a post");
  TRY(Note note, parse_note(*o, source.actor, source.now, source.limits));
  return T{.note = std::move(note)};
}

Result<Content> parse_update(const Source& source) {
  const json::value* object = source.only_object();
  if (object != nullptr && json::id_of(*object) == source.actor) {
    UpdateActor update{.profile = {}, .is_signed = is_signed(source)};
    if (const json::object* o = source.inner()) {
      Result<RemoteActor> profile = parse_actor(*o, source.actor);
      if (profile) update.profile = *std::move(profile);
    }
    return update;
  }
  TRY(Content content, parse_post<Update>(source));
  if (auto* update = std::get_if<Update>(&content)) {
    update->is_signed = is_signed(source);
    if (!update->note.updated) update->note.told = from_rfc3339(json::text_of(source.object, "published"));
  }
  return content;
}

// Moderators take out of their communities, and off their servers, what people of others wrote, and their
// servers tell everybody so (Lemmy): no fault of theirs, and nothing that the author's server has said.
Result<Content> parse_delete(const Source& source) {
  const json::value* object = source.only_object();
  if (object == nullptr) return fail(ErrorCode::kInvalid, "object is missing");
  TRY(std::string uri, parse_id(object, "object"));
  if (!is_same_origin(uri, source.actor))
    return ignored(source, "a removal by another server than the post's");
  return Delete{std::move(uri), is_signed(source)};
}

// What a Follow is of: ids, or one hashtag by its URI, which comes back in its one form.
Result<std::vector<std::string>> parse_followed(const json::value* v, std::string_view what,
                                                const ParseLimits& limits) {
  const bool is_list_of_one = v != nullptr && v->is_array() && v->get_array().size() == 1;
  const json::value* first = is_list_of_one ? &v->get_array().front() : v;
  const std::string id = first == nullptr ? std::string() : json::id_of(*first);
  if (!is_hashtag_uri(id)) return parse_ids(v, what, limits.items_max);
  if (!limits.with_tags) return std::vector<std::string>{id};
  TRY(const Tag tag, parse_hashtag_uri(id));
  return std::vector<std::string>{hashtag_uri(tag)};
}

Result<Content> parse_follow(const Source& source) {
  TRY(std::vector<std::string> objects, parse_followed(source.member("object"), "object", source.limits));
  return Follow{std::move(objects)};
}

// A Follow as the object of another activity, whole or by its id.
Result<FollowRef> parse_follow_ref(const json::value& v, const ParseLimits& limits) {
  FollowRef follow;
  if (!json::id_of(v).empty()) {
    TRY(follow.id, parse_id(&v, "id of the Follow"));
  }
  const json::value* objects = v.is_object() ? json::find(v.get_object(), "object") : nullptr;
  if (objects != nullptr) {
    TRY(follow.objects, parse_followed(objects, "object of the Follow", limits));
  }
  if (follow.id.empty() && follow.objects.empty()) {
    return fail(ErrorCode::kInvalid, "the Follow has neither id nor object");
  }
  return follow;
}

Result<Content> parse_undo(const Source& source) {
  const json::object* o = source.inner();
  if (o == nullptr || types_of(*o).empty()) {
    TRY(std::string id, parse_id(source.only_object(), "object"));
    if (!is_same_origin(id, source.actor)) {
      return fail(ErrorCode::kInvalid, "object is on another server than the actor");
    }
    return UndoById{std::move(id)};
  }
  const bool follow = has_type(*o, "Follow");
  const bool block = has_type(*o, "Block");
  if (!follow && !block && !has_type(*o, "Announce"))
    return ignored(source, "the object is neither a Follow nor an Announce");
  const json::value* by = only_one(json::find(*o, "actor"));
  const std::string actor = by == nullptr ? std::string() : json::id_of(*by);
  if (!actor.empty() && actor != source.actor) {
    return fail(ErrorCode::kInvalid, "what is undone is by another actor");
  }
  const std::string id = json::id_of(*o);
  if (!id.empty() && !is_same_origin(id, source.actor)) {
    return fail(ErrorCode::kInvalid, "object.id is on another server than the actor");
  }
  if (block) {
    TRY(std::string object, parse_id(only_one(json::find(*o, "object")), "object of the Block"));
    return UndoBlock{std::move(object), id};
  }
  if (follow) {
    TRY(FollowRef ref, parse_follow_ref(*source.only_object(), source.limits));
    if (ref.objects.empty()) return UndoById{std::move(ref.id)};
    return UndoFollow{std::move(ref)};
  }
  TRY(std::vector<PostRef> posts, parse_posts(source, json::find(*o, "object")));
  return UndoAnnounce{id, std::move(posts)};
}

template <class T>
Result<Content> parse_answer(const Source& source) {
  const json::value* v = source.member("object");
  if (v != nullptr && v->is_array() && v->get_array().size() > source.limits.items_max) {
    return fail(ErrorCode::kTooLarge, fmt::format("object has more than {} items", source.limits.items_max));
  }
  ParseLimits as_they_are = source.limits;
  as_they_are.with_tags = false;
  std::vector<FollowRef> follows;
  std::optional<Error> error;
  json::for_each(v, [&](const json::value& item) {
    if (error) return;
    if (item.is_object() && !types_of(item.get_object()).empty() && !has_type(item.get_object(), "Follow")) {
      const Result<std::string> id = parse_id(&item, "id");
      if (std::is_same_v<T, Reject> && id) follows.push_back({*id, {}});
      return;
    }
    // This node follows no hashtags by their URIs, so it is of no use to know which.
    Result<FollowRef> follow = parse_follow_ref(item, as_they_are);
    if (follow) {
      follows.push_back(*std::move(follow));
    } else {
      error = follow.error();
    }
  });
  if (error) return std::unexpected(*std::move(error));
  if (v == nullptr) return fail(ErrorCode::kInvalid, "object is missing");
  if (follows.empty()) return ignored(source, "the object is not a Follow");
  return T{std::move(follows)};
}

Result<Content> parse_announce(const Source& source) {
  const json::object* o = source.inner();
  if (o == nullptr || types_of(*o).empty() || is_post(*o)) {
    TRY(std::vector<PostRef> posts, parse_posts(source, source.member("object")));
    return Announce{.posts = std::move(posts)};
  }
  Announce announce;
  if (has_type(*o, "Update")) announce.of = Announce::Of::kUpdate;
  if (has_type(*o, "Delete")) announce.of = Announce::Of::kDelete;
  const json::value* about = only_one(json::find(*o, "object"));
  const json::object* whole = about != nullptr && about->is_object() ? &about->get_object() : nullptr;
  const bool is_of_post =
      whole == nullptr || types_of(*whole).empty() || is_post(*whole) || has_type(*whole, "Tombstone");
  if (about == nullptr || about->is_array() || !is_of_post ||
      (announce.of == Announce::Of::kPosts && !has_type(*o, "Create")))
    return ignored(source, "the object is not a post");
  TRY(announce.posts, parse_posts(source, about));
  return announce;
}

Result<Content> parse_block(const Source& source) {
  TRY(std::string object, parse_id(source.only_object(), "object"));
  return Block{std::move(object)};
}

Result<Content> parse_flag(const Source& source) {
  const json::value* about = source.member("object");
  if (about != nullptr && about->is_array() && about->get_array().size() > source.limits.items_max)
    return fail(ErrorCode::kTooLarge, fmt::format("object has more than {} items", source.limits.items_max));
  // Some software names messages and such besides, which have no address.
  std::vector<std::string> objects;
  Result<std::string> id = fail(ErrorCode::kInvalid, "object is missing");
  json::for_each(about, [&](const json::value& item) {
    id = parse_id(&item, "object");
    if (id) objects.push_back(*id);
  });
  if (objects.empty()) return std::unexpected(id.error());
  std::string comment = json::text_of(source.object, "content");
  if (comment.empty()) comment = json::text_of(source.object, "summary");  // Lemmy
  return Flag{std::move(comment), std::move(objects)};
}

template <class T>
Result<Content> parse_membership(const Source& source) {
  const std::string target = json::id_of(source.object, "target");
  constexpr std::string_view kFollowers = "/followers";
  if (std::is_same_v<T, Remove> && target.ends_with(kFollowers)) {
    TRY(std::string follower, parse_id(source.member("object"), "object"));
    if (is_same_origin(target, source.actor)) return Reject{{{"", {source.actor}, std::move(follower)}}};
    std::string followed = target.substr(0, target.size() - kFollowers.size());
    if (target.size() > kIdSizeMax || !Url::parse(followed))
      return fail(ErrorCode::kInvalid, "target is not the followers of an actor");
    return RemoveFollower{std::move(followed), std::move(follower)};
  }
  if (!target.ends_with("/relay") && !target.ends_with("/storage")) {
    return ignored(source, "the target is not the relay or storage of a node");
  }
  T content;
  TRY(content.target, parse_id(source.member("target"), "target"));
  TRY(content.posts, parse_posts(source, source.member("object")));
  for (const PostRef& post : content.posts) {
    const bool has_tags = !post.tags.empty() || !source.limits.with_tags;
    if (post.author.empty() || !post.published || !has_tags) {
      return fail(ErrorCode::kInvalid, "a post lacks attributedTo, published or a hashtag: " + post.uri);
    }
  }
  return content;
}

struct TypeParser {
  std::string_view type;
  Result<Content> (*parse)(const Source&);
};
constexpr std::array<TypeParser, 12> kParsers = {{
    {"Create", parse_post<Create>},
    {"Update", parse_update},
    {"Delete", parse_delete},
    {"Follow", parse_follow},
    {"Undo", parse_undo},
    {"Accept", parse_answer<Accept>},
    {"Reject", parse_answer<Reject>},
    {"Block", parse_block},
    {"Flag", parse_flag},
    {"Announce", parse_announce},
    {"Add", parse_membership<Add>},
    {"Remove", parse_membership<Remove>},
}};

}  // namespace

Result<Activity> parse_activity(std::string_view body, WallTime now, const ParseLimits& limits) {
  TRY(const json::object object, parse_document(body));
  return parse_activity(object, now, limits);
}

Result<Activity> parse_activity(const json::object& object, WallTime now, const ParseLimits& limits) {
  const std::vector<std::string> types = types_of(object);
  if (types.empty()) return fail(ErrorCode::kInvalid, "type is missing");
  std::string id;
  // A Create may be transient (ActivityPub, 3.1): what counts is what was created. So may what Mastodon says
  // of featured posts, to all followers: batches between nodes have ids.
  const bool has_id = !json::id_of(object, "id").empty();
  const bool is_of_list = has_type(object, "Add") || has_type(object, "Remove");
  if (has_id || !(has_type(object, "Create") || is_of_list)) {
    TRY(id, parse_id(json::find(object, "id"), "id"));
  }
  TRY(std::string actor, parse_id(only_one(json::find(object, "actor")), "actor"));
  if (!has_id && is_of_list) return Activity{"", std::move(actor), Ignored{types.front(), "it has no id"}};
  if (!id.empty() && !is_same_origin(id, actor))
    return fail(ErrorCode::kInvalid, "id is on another server than the actor");
  for (const TypeParser& parser : kParsers) {
    if (!has_type(object, parser.type)) continue;
    TRY(Content content,
        parser.parse(
            Source{.object = object, .type = types.front(), .actor = actor, .now = now, .limits = limits}));
    return Activity{std::move(id), std::move(actor), std::move(content)};
  }
  return Activity{std::move(id), std::move(actor), Ignored{types.front(), "no use for this type"}};
}

}  // namespace tagring::fediverse
