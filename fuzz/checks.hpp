// What holds for the parts of activities, in several targets.
#pragma once

#include <algorithm>

#include "fediverse/activity.hpp"
#include "fediverse/vocabulary.hpp"
#include "fuzz/target.hpp"

namespace tagring::fuzzing {

inline void check_id(const std::string& id) {
  TR_ASSERT(id.size() <= fediverse::kIdSizeMax);
  TR_ASSERT(fediverse::is_same_origin(id, id));  // an http(s) URL
}

inline void check_tags(const std::vector<Tag>& tags, const fediverse::ParseLimits& limits) {
  TR_ASSERT(tags.size() <= limits.tags_max);
  TR_ASSERT(std::ranges::is_sorted(tags));
  TR_ASSERT(std::ranges::adjacent_find(tags) == tags.end());
}

inline void check_time(WallTime time) {
  TR_ASSERT(time >= WallTime());
  TR_ASSERT(time <= kNow + std::chrono::minutes(5));
}

inline void check_note(const fediverse::Note& note, const fediverse::ParseLimits& limits) {
  check_id(note.id);
  TR_ASSERT(fediverse::is_same_origin(note.id, note.author));
  check_time(note.published);
  if (note.updated) check_time(*note.updated);
  check_tags(note.tags, limits);
}

inline void check_post(const fediverse::PostRef& post, const fediverse::ParseLimits& limits) {
  check_id(post.uri);
  TR_ASSERT(post.author.empty() || fediverse::is_same_origin(post.uri, post.author));
  if (post.published) check_time(*post.published);
  if (post.updated) check_time(*post.updated);
  check_tags(post.tags, limits);
}

inline bool is_equal(const fediverse::PostRef& a, const fediverse::PostRef& b) {
  return a.uri == b.uri && a.author == b.author && a.published == b.published && a.updated == b.updated &&
         a.tags == b.tags;
}

}  // namespace tagring::fuzzing
