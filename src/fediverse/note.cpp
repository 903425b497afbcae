#include "fediverse/note.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>

#include "base/bytes.hpp"
#include "fediverse/vocabulary.hpp"
#include "hashtag/uri.hpp"
#include "http/url.hpp"

namespace tagring::fediverse {
namespace {

constexpr std::array<std::string_view, 8> kPostTypes = {"Note",  "Article", "Question", "Page",
                                                        "Video", "Image",   "Audio",    "Event"};
constexpr Duration kSkewMax = std::chrono::minutes(5);

// Nothing was posted before 1970 or later than now. A time that says so is moved, not refused: it may have
// passed another node whose clock differs a little.
std::optional<WallTime> get_time(const json::object& o, std::string_view key) {
  const std::optional<std::string> text = json::get_string(o, key);
  const std::optional<WallTime> time = text ? from_rfc3339(*text) : std::nullopt;
  return time ? std::optional(std::max(*time, WallTime())) : std::nullopt;
}

bool is_to_come(WallTime time, WallTime now) { return time > now + kSkewMax; }

std::optional<WallTime> parse_time(const json::object& o, std::string_view key, WallTime now) {
  const std::optional<WallTime> time = get_time(o, key);
  return time && is_to_come(*time, now) ? now : time;
}

// The last segment of a tag's page: "https://host/tags/caf%C3%A9" is about #café.
std::string name_from_href(const json::object& entry) {
  const std::optional<std::string> href = json::get_string(entry, "href");
  const Result<Url> url = href ? Url::parse(*href) : fail(ErrorCode::kInvalid, "");
  if (!url) return {};
  std::string_view path = url->path();
  while (path.ends_with('/')) path.remove_suffix(1);
  return percent_decode(path.substr(path.rfind('/') + 1)).value_or("");
}

// What stands in `tag`. In replies Pixelfed merges a mention with the list of the others: then `tag` is an
// object, of which "0", "1" and so on are the members of that list.
template <class F>
void for_each_tag(const json::value* tag, F visit) {
  json::for_each(tag, visit);
  if (tag == nullptr || !tag->is_object()) return;
  for (const auto& member : tag->get_object()) {
    const std::string_view key = member.key();
    if (std::ranges::all_of(key, [](char c) { return c >= '0' && c <= '9'; })) visit(member.value());
  }
}

// The first of them, if there are too many: no server is to be refused for what its people write.
std::set<Tag> parse_tags(const json::object& o, const ParseLimits& limits) {
  std::set<Tag> tags;
  if (!limits.with_tags) return tags;
  std::size_t hashtags = 0;
  for_each_tag(json::find(o, "tag"), [&](const json::value& v) {
    if (!v.is_object() || hashtags == limits.tags_max || !has_type(v.get_object(), "Hashtag")) return;
    ++hashtags;
    std::string name = json::text_of(v.get_object(), "name");
    if (name.empty()) name = name_from_href(v.get_object());
    if (Result<Tag> tag = Tag::parse(name)) tags.insert(*std::move(tag));
  });
  return tags;
}

// Adds the hashtags that are addressed by their URIs, as actors are, while there is room. Only what stands in
// the post itself counts: others fetch the post to see whether it has the hashtag, and never see the activity
// around it.
void add_addressed(const json::object& o, const ParseLimits& limits, std::set<Tag>& tags) {
  if (!limits.with_tags) return;
  for (const std::string_view key : {"to", "cc", "audience"}) {
    json::for_each(json::find(o, key), [&](const json::value& v) {
      const std::string id = json::id_of(v);
      if (tags.size() >= limits.tags_max || !is_hashtag_uri(id)) return;
      if (Result<Tag> tag = parse_hashtag_uri(id)) tags.insert(*std::move(tag));
    });
  }
}

Visibility parse_visibility(const json::object& o, std::string_view author) {
  bool followers = false;
  const auto addresses_public = [&](std::string_view key) {
    bool found = false;
    json::for_each(json::find(o, key), [&](const json::value& v) {
      const std::string id = json::id_of(v);
      found = found || is_public(id);
      followers = followers || (id.ends_with("/followers") && is_same_origin(id, author));
    });
    return found;
  };
  if (addresses_public("to")) return Visibility::kPublic;
  if (addresses_public("cc")) return Visibility::kUnlisted;
  return followers ? Visibility::kFollowers : Visibility::kDirect;
}

// Where nothing is said, everybody may. `always` is the older name of `automaticApproval`.
bool parse_may_be_announced(const json::object& o) {
  const json::object* policy = json::get_object(o, "interactionPolicy");
  if (policy == nullptr) return true;
  bool is_limited = false;
  bool everybody = false;
  json::for_each(json::find(*policy, "canAnnounce"), [&](const json::value& rules) {
    if (!rules.is_object()) return;
    is_limited = true;
    for (const std::string_view key : {"automaticApproval", "always"}) {
      json::for_each(json::find(rules.get_object(), key),
                     [&](const json::value& v) { everybody = everybody || is_public(json::id_of(v)); });
    }
  });
  return everybody || !is_limited;
}

// Empty if it is malformed: the event counts without it.
std::string parse_signed_copy(const json::object& o) {
  const std::string hash = json::text_of(o, "sha256");
  const std::string origin = json::text_of(o, "origin");
  const bool is_hash = hash.size() == 64 && std::ranges::all_of(hash, [](char c) {
                         return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                       });
  if (!is_hash || origin.size() > kIdSizeMax || origin_of(origin) != origin) return {};
  return hash + " " + origin;
}

}  // namespace

bool is_post(const json::object& o) {
  return std::ranges::any_of(kPostTypes, [&](std::string_view type) { return has_type(o, type); });
}

Result<Note> parse_note(const json::object& o, const std::string& actor, WallTime now,
                        const ParseLimits& limits) {
  if (!is_post(o)) return fail(ErrorCode::kInvalid, "object is no post");
  Note note;
  TRY(note.id, parse_id(json::find(o, "id"), "object.id"));
  if (!is_same_origin(note.id, actor)) {
    return fail(ErrorCode::kInvalid, "object.id is on another server than the actor");
  }
  if (std::max(note.id.size(), actor.size()) > kSharedIdSizeMax)
    return fail(ErrorCode::kTooLarge,
                fmt::format("object.id or the actor's id is longer than {} bytes", kSharedIdSizeMax));
  TRY(const std::vector<std::string> authors,
      parse_ids(json::find(o, "attributedTo"), "object.attributedTo", limits.items_max));
  for (const std::string& author : authors) {
    if (!is_same_origin(author, note.id)) {
      return fail(ErrorCode::kInvalid, "object.attributedTo is on another server than the object");
    }
  }
  if (std::ranges::find(authors, actor) == authors.end()) {
    return fail(ErrorCode::kInvalid, "object.attributedTo is not the actor");
  }
  note.author = actor;
  note.type = *std::ranges::find_if(kPostTypes, [&](std::string_view type) { return has_type(o, type); });
  const std::optional<WallTime> published = get_time(o, "published");
  note.is_dated = published && !is_to_come(*published, now);
  note.published = note.is_dated ? *published : now;
  note.updated = parse_time(o, "updated", now);
  note.visibility = parse_visibility(o, actor);
  note.in_reply_to = json::id_of(o, "inReplyTo");
  note.may_be_announced = parse_may_be_announced(o);
  std::set<Tag> tags = parse_tags(o, limits);
  add_addressed(o, limits, tags);
  note.tags.assign(tags.begin(), tags.end());
  return note;
}

Result<Note> parse_fetched_note(const json::object& o, WallTime now, const ParseLimits& limits) {
  TRY(const std::vector<std::string> authors,
      parse_ids(json::find(o, "attributedTo"), "attributedTo", limits.items_max));
  return parse_note(o, authors.front(), now, limits);
}

Result<PostRef> parse_post_ref(const json::value& v, WallTime now, const ParseLimits& limits) {
  PostRef post;
  TRY(post.uri, parse_id(&v, "post id"));
  if (post.uri == kPublic) return fail(ErrorCode::kInvalid, "post id is the public collection");
  if (!v.is_object()) return post;
  const json::object& o = v.get_object();
  if (const json::value* author = json::find(o, "attributedTo")) {
    TRY(const std::vector<std::string> authors,
        parse_ids(author, "attributedTo of a post", limits.items_max));
    post.author = authors.front();
    if (!is_same_origin(post.author, post.uri)) {
      return fail(ErrorCode::kInvalid, "attributedTo of a post is on another server than the post");
    }
  }
  post.published = parse_time(o, "published", now);
  for (const Tag& tag : parse_tags(o, limits)) post.tags.push_back(tag);
  post.indexable = json::get_flag(o, "indexable");
  post.updated = parse_time(o, "updated", now);
  if (const json::object* copy = json::get_object(o, "signed")) post.signed_copy = parse_signed_copy(*copy);
  return post;
}

}  // namespace tagring::fediverse
