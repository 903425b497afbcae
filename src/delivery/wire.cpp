#include "delivery/wire.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "belief/tag_event.hpp"

namespace tagring::delivery {
namespace {

constexpr std::size_t kTagsOfItem = fediverse::ParseLimits{}.tags_max;
constexpr std::string_view kMoves = "followsElsewhere";
// `updated` of a removal that its sender has only heard of (belief::kBeforeAll), and of nothing else: without
// a time it would be one for ever.
constexpr WallTime kOldest{Duration(1)};

// Events of one post in several tags become one item; of more tags than an item may have, which come together
// when a post is edited faster than it is sent, several.
std::vector<fediverse::PostRef> posts_of(const std::vector<TagEvent>& events) {
  std::vector<fediverse::PostRef> posts;
  std::map<std::tuple<std::string, std::string, WallTime>, std::size_t> places;  // by URI, copy and `changed`
  for (const TagEvent& event : events) {
    const auto [place, fresh] =
        places.try_emplace(std::tuple(event.uri, event.signed_copy, event.changed), posts.size());
    const bool full = !fresh && posts[place->second].tags.size() == kTagsOfItem;
    if (full) place->second = posts.size();
    const auto updated =
        event.changed == WallTime() ? std::nullopt : std::optional(std::max(event.changed, kOldest));
    if (fresh || full)
      posts.push_back(
          {event.uri, event.author, event.published, {}, event.indexable, event.signed_copy, updated});
    posts[place->second].tags.push_back(event.tag);
  }
  return posts;
}

std::vector<std::string> tag_actors(const std::string& origin, const std::vector<Tag>& tags) {
  const fediverse::NodeUrls urls(origin);
  std::vector<std::string> actors;
  for (const Tag& tag : tags) actors.push_back(urls.tag_actor(tag));
  return actors;
}

std::string with_news(json::object activity, const RelayNews& news) {
  if (!news.claims.empty()) activity["relays"] = to_json(news.claims);
  if (!news.tokens.empty()) activity["overloaded"] = to_json(news.tokens);
  return json::serialize(activity);
}

}  // namespace

std::vector<TagEvent> events_of(Op op, const std::vector<fediverse::PostRef>& posts, WallTime now) {
  std::vector<TagEvent> events;
  for (const fediverse::PostRef& post : posts) {
    const bool is_hearsay = op == Op::kRemove && post.updated == kOldest;
    const WallTime changed = is_hearsay ? belief::kBeforeAll : post.updated.value_or(WallTime());
    for (const Tag& tag : post.tags) {
      events.push_back({tag, op, post.uri, post.author, post.published.value_or(now), post.indexable,
                        post.signed_copy, changed});
      events.back().drop_strange_copy();
      if (!events.back().is_sound()) events.pop_back();
    }
  }
  return events;
}

json::array to_json(const std::vector<FeedEntry>& entries) {
  json::array items;
  for (const FeedEntry& entry : entries) {
    items.push_back(json::object{{"seq", entry.seq},
                                 {"tag", entry.event.tag.canonical()},
                                 {"op", entry.event.op == Op::kAdd ? "add" : "remove"},
                                 {"uri", entry.event.uri},
                                 {"author", entry.event.author},
                                 {"published", to_ms(entry.event.published)},
                                 {"indexable", entry.event.indexable},
                                 {"signed", entry.event.signed_copy},
                                 {"updated", to_ms(entry.event.changed)}});
  }
  return items;
}

Result<std::vector<FeedEntry>> feed_from_json(const json::value* list) {
  if (list == nullptr || !list->is_array()) return fail(ErrorCode::kInvalid, "'items' is no list");
  std::vector<FeedEntry> entries;
  for (const json::value& element : list->get_array()) {
    if (!element.is_object()) return fail(ErrorCode::kInvalid, "an item is no object");
    const json::object& item = element.get_object();
    const auto text = [&](std::string_view key) { return json::text_of(item, key); };
    TRY(Tag tag, Tag::parse(text("tag")));
    const auto seq = json::get_int(item, "seq");
    const auto published = json::get_int(item, "published");
    if (!seq || !published || *seq < 0 || text("uri").empty()) {
      return fail(ErrorCode::kInvalid, "an item lacks 'seq', 'published' or 'uri'");
    }
    const Op op = text("op") == "remove" ? Op::kRemove : Op::kAdd;
    const Duration::rep updated = std::max<Duration::rep>(0, json::get_int(item, "updated").value_or(0));
    entries.push_back({static_cast<std::uint64_t>(*seq),
                       {std::move(tag), op, text("uri"), text("author"), WallTime(Duration(*published)),
                        json::get_flag(item, "indexable"), text("signed"), WallTime(Duration(updated))}});
    entries.back().event.drop_strange_copy();
  }
  return entries;
}

std::string add_activity(const std::string& id, const std::string& actor, const std::string& target,
                         const std::vector<TagEvent>& events, const RelayNews& news) {
  return with_news(fediverse::make_add(id, actor, target, posts_of(events)), news);
}

std::string remove_activity(const std::string& id, const std::string& actor, const std::string& target,
                            const std::vector<TagEvent>& events, const RelayNews& news) {
  return with_news(fediverse::make_remove(id, actor, target, posts_of(events)), news);
}

RelayNews news_of(const std::string& activity) {
  // Seldom there, and not worth another look at every batch.
  if (!activity.contains("\"relays\"") && !activity.contains("\"overloaded\"")) return {};
  const Result<json::object> object = json::parse_object(activity);
  if (!object) return {};
  return {redundancy::claims_from_json(json::find(*object, "relays")),
          redundancy::tokens_from_json(json::find(*object, "overloaded"))};
}

std::string announce_activity(const std::string& id, const std::string& actor,
                              const std::vector<TagEvent>& events, WallTime now,
                              const redundancy::RelayClaims& claims) {
  return with_news(fediverse::make_batched_announce(id, actor, posts_of(events), now), {claims, {}});
}

std::string undo_announce_activity(const std::string& id, const std::string& actor,
                                   const std::vector<TagEvent>& events,
                                   const redundancy::RelayClaims& claims) {
  return with_news(fediverse::make_batched_undo(id, actor, posts_of(events)), {claims, {}});
}

std::string follow_activity(const std::string& id, const std::string& actor, const std::string& owner_origin,
                            const std::vector<Tag>& tags) {
  return json::serialize(fediverse::make_follow(id, actor, tag_actors(owner_origin, tags)));
}

std::string undo_follow_activity(const std::string& id, const std::string& actor,
                                 const std::string& owner_origin, const std::vector<Tag>& tags, bool moves) {
  json::object undo = fediverse::make_undo_follow(id, actor, "", tag_actors(owner_origin, tags));
  if (moves) undo[kMoves] = true;
  return json::serialize(undo);
}

bool is_move(const std::string& activity) {
  if (!activity.contains(kMoves)) return false;
  const Result<json::object> object = json::parse_object(activity);
  return object && json::get_flag(*object, kMoves);
}

std::string announce_id(const federation::Identity& identity, const std::string& actor, const Tag& tag,
                        const std::string& uri, WallTime announced) {
  const std::string again = announced == WallTime() ? "" : fmt::format(" {}", to_ms(announced));
  return identity.activity_id("announces", actor + " " + tag.canonical() + " " + uri + again);
}

std::string accept_activity(const std::string& id, const std::string& actor, const std::string& follow) {
  const Result<json::object> echoed = json::parse_object(follow);
  return echoed ? json::serialize(fediverse::make_accept(id, actor, *echoed)) : std::string();
}

std::string reject_activity(const std::string& id, const std::string& actor, const std::string& follow) {
  const Result<json::object> echoed = json::parse_object(follow);
  return echoed ? json::serialize(fediverse::make_reject(id, actor, *echoed)) : std::string();
}

}  // namespace tagring::delivery
