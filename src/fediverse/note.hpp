// Posts as they come in: the little of them that this node needs. Content is never kept.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "hashtag/tag.hpp"

namespace tagring::fediverse {

struct ParseLimits {
  std::size_t tags_max = 64;       // hashtags of one post
  std::size_t items_max = 10'000;  // objects of one activity
  // Else they are counted and not read: normalising them takes time, which is for those who have signed.
  bool with_tags = true;
};

enum class Visibility : std::uint8_t {
  kPublic,     // the public collection is in `to`
  kUnlisted,   // it is only in `cc`: for everybody, but not for hashtags, searches and archives
  kFollowers,  // a followers collection of the author's server is addressed
  kDirect,
};

// A Note, Article, Question, Page, Video, Image, Audio or Event.
struct Note {
  std::string id;
  std::string type;
  std::string author;  // one of attributedTo; parse_activity sees to it that it is the actor
  WallTime published;
  std::optional<WallTime> updated;
  Visibility visibility = Visibility::kDirect;
  std::vector<Tag> tags;    // sorted, each once; also those addressed by their URIs
  std::string in_reply_to;  // empty if it is no reply
  // Everybody may boost it without being asked (GoToSocial: interactionPolicy.canAnnounce).
  bool may_be_announced = true;
  // It says what held at some time since then: caches may show it. What a server sends is new.
  WallTime as_of = WallTime::max();
  // When the Update that brings it was made, if that says so where the post does not.
  std::optional<WallTime> told = {};
  // It says when it was published. Else, or where that is still to come, it is taken for published when it is
  // read: by each who reads it at another time.
  bool is_dated = true;
};

// A post that somebody names. Whatever is beside the URI is that somebody's word.
struct PostRef {
  std::string uri;
  std::string author;  // empty if only the URI was given
  std::optional<WallTime> published;
  std::vector<Tag> tags;  // sorted, each once
  // Between nodes: the author may be found in the archive (FEP-5feb). Absent means no.
  bool indexable = false;
  // Between nodes: "SHA-256 origin" of what the author's server signed about it (docs/protocol.md §7.8). Or
  // empty.
  std::string signed_copy = {};
  // Between nodes: when an edit of the post brought it under its hashtags, or out of them. Absent: it was
  // published under them, or is deleted.
  std::optional<WallTime> updated = {};
};

// True for the types that Note stands for.
bool is_post(const json::object& o);

// kInvalid unless is_post(o). The author is `actor`, who must be among attributedTo; all of these and the id
// must be on one server.
//
// `published` is `now` where it is missing, unreadable or more than five minutes ahead, so that no post
// stands before all others for ever. Of `tag`, everything that is not a Hashtag with a name (or an href that
// tells it) is passed over, as are names that are no hashtags. A hashtag whose URI (hashtag/uri.hpp) stands
// in `to`, `cc` or `audience` counts as if the post carried it. Of more than tags_max the first count.
Result<Note> parse_note(const json::object& o, const std::string& actor, WallTime now,
                        const ParseLimits& limits);

// A post as its own server gives it. Its author is the first in attributedTo: PeerTube names the channel of a
// video after the account.
Result<Note> parse_fetched_note(const json::object& o, WallTime now, const ParseLimits& limits = {});

// A URI, or an object with at least its id; the rest is read as above where it is there. An author must be on
// the server of the URI.
Result<PostRef> parse_post_ref(const json::value& v, WallTime now, const ParseLimits& limits);

}  // namespace tagring::fediverse
