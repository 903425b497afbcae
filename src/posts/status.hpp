// Mastodon's Status, made of a post as its own server gives it. What it says is checked before it is shown:
// whose it is, that it is still public, and which hashtags it still has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "hashtag/tag.hpp"
#include "posts/account.hpp"
#include "posts/ids.hpp"

namespace tagring::posts {

struct Post {
  std::string uri;
  std::string author;
  WallTime published;
  std::string in_reply_to;  // URI; empty if it is no reply
  std::vector<Tag> tags;    // sorted
  bool has_media = false;
  // A Status without `account`; `id` is made of `published`.
  json::object status;

  [[nodiscard]] bool has(const Tag& tag) const;
};

// Attachments, mentions and choices of a poll that are shown; what is beyond is left out.
inline constexpr std::size_t kAttachmentsMax = 16;
inline constexpr std::size_t kMentionsMax = 100;
inline constexpr std::size_t kChoicesMax = 50;

// kInvalid if the document is not the post of that URI, or is not by an author of its server; kNotFound if it
// is a Tombstone, or is not public any more.
Result<Post> read_post(std::string_view body, const std::string& uri, WallTime now, const Site& site);

// The whole Status. `id`: its place in the timeline it is shown in. `parent`: what it answers, if that is
// known.
json::object make_status(const Post& post, const json::object& account, StatusId id,
                         const Post* parent = nullptr);

}  // namespace tagring::posts
