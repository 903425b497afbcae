// What is said of posts under hashtags, and passed from node to node (paper §5.5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "fediverse/vocabulary.hpp"
#include "hashtag/tag.hpp"
#include "http/url.hpp"

namespace tagring::belief {

enum class Op : std::uint8_t { kAdd = 0, kRemove = 1 };

// Of statements about one post under one hashtag the later counts, and of those of the same time the removal.
struct Version {
  WallTime at;
  bool removed = false;

  friend auto operator<=>(const Version&, const Version&) = default;
};

// `changed` of what nobody answers for, since who says so was only told: whatever else is said of the post is
// later.
inline constexpr WallTime kBeforeAll = WallTime::min();

// `changed`: when the post was edited so, by its server's clock. Without it (0) a removal is for ever, since
// the post is deleted, and an addition is from before all edits. Of what was only heard the addition is
// later: such a removal keeps nothing out.
inline Version version_of(bool removed, WallTime changed) {
  if (changed == kBeforeAll && !removed) return {kBeforeAll + Duration(1), false};
  return {removed && changed == WallTime() ? WallTime::max() : changed, removed};
}

// TagEvent::announced of a Remove of what this node knew to be out: nobody is to take an Announce back.
inline constexpr WallTime kWasOut = WallTime::min();

// Whether it can be passed on: post and author are of one server, and the time is one that everybody writes
// and reads alike. Else who gets it refuses it, with all that came in the same batch.
inline bool is_sound(const std::string& uri, const std::string& author, WallTime published) {
  constexpr WallTime kYear10000{std::chrono::milliseconds(253'402'300'800'000)};
  const std::string origin = origin_of(uri);
  return !origin.empty() && origin == origin_of(author) && uri.size() <= fediverse::kSharedIdSizeMax &&
         author.size() <= fediverse::kSharedIdSizeMax && published >= WallTime() && published < kYear10000;
}

// A post's membership in one tag, or the end of it.
struct TagEvent {
  Tag tag;
  Op op = Op::kAdd;
  std::string uri;
  std::string author;  // actor id
  WallTime published;
  bool indexable = false;  // the author may be found in the archive; a removal reaches the archive anyway
  // What the author's server signed about it, "SHA-256 origin" (publisher/signed_copies.hpp): of a removal
  // its Delete or Update, of an Add the Update of a post that is there already. Or empty.
  std::string signed_copy = {};
  WallTime changed = {};  // see version_of()
  // Of what is in this node's feed: `changed` of the Add that its Announce was about (delivery::announce_id),
  // or kWasOut.
  WallTime announced = {};

  [[nodiscard]] bool is_sound() const { return belief::is_sound(uri, author, published); }
  [[nodiscard]] Version version() const { return version_of(op == Op::kRemove, changed); }
  // The hashtag was taken out and put back, or put back and taken out, but this node has not heard what was
  // between: for nodes, of which one may have.
  [[nodiscard]] bool is_repeat() const {
    return op == Op::kAdd ? announced != changed : announced == kWasOut;
  }
  // Who says so was only told (kBeforeAll): a reason to look at the post, and nobody's word.
  [[nodiscard]] bool is_hearsay() const { return op == Op::kRemove && changed == kBeforeAll; }
  // Once there, the post is deleted: nothing is said later.
  [[nodiscard]] bool is_deletion() const { return op == Op::kRemove && changed == WallTime(); }
  // The signed copy is to be had from who does not speak for the post's server.
  [[nodiscard]] bool has_strange_copy() const {
    const std::string origin = signed_copy.substr(signed_copy.find(' ') + 1);
    return !signed_copy.empty() && !is_same_or_below(host_of(origin), host_of(uri));
  }
  // Strangers are heard about deletions, which the post's server bears out, and about nothing else; and where
  // a copy is to be had says an origin, and no path there.
  void drop_strange_copy() {
    constexpr std::size_t kHashSize = 64;
    const std::string origin = signed_copy.substr(std::min(signed_copy.size(), kHashSize + 1));
    const bool is_name = signed_copy.find(' ') == kHashSize && !origin.empty() &&
                         origin_of(origin) == origin &&
                         signed_copy.find_first_not_of("0123456789abcdef") == kHashSize;
    if (!is_name || (!is_deletion() && has_strange_copy())) signed_copy.clear();
  }
  // The post has changed, and keeps the tag.
  [[nodiscard]] bool is_edit() const { return op == Op::kAdd && !signed_copy.empty(); }
  friend bool operator==(const TagEvent&, const TagEvent&) = default;
};

// About how many bytes an event takes in JSON.
inline std::size_t weight(const TagEvent& event) {
  return 200 + event.uri.size() + event.author.size() + event.tag.canonical().size();
}

// An event that an owner did not take.
struct Refusal {
  std::string uri;
  Tag tag;
  Error error;
};

}  // namespace tagring::belief
