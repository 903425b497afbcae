// What is made of the documents of posts.
#include "posts/status.hpp"

#include <gtest/gtest.h>

namespace tagring::posts {
namespace {

json::object status_of(json::object more) {
  const std::string uri = "https://example.org/notes/1";
  json::object note = {{"id", uri},
                       {"type", "Note"},
                       {"attributedTo", "https://example.org/users/a"},
                       {"published", "2026-01-01T00:00:00Z"},
                       {"to", "https://www.w3.org/ns/activitystreams#Public"},
                       {"content", "<p>Look</p>"}};
  for (const auto& [key, value] : more) note[key] = value;
  const WallTime now = *from_rfc3339("2026-01-02T00:00:00Z");
  Result<Post> post = read_post(json::serialize(note), uri, now, {"https://tags.example.org"});
  return post ? std::move(post->status) : json::object();
}

json::object attachment_of(std::string_view media) {
  const json::object attachment = {{"type", "Document"},
                                   {"mediaType", media},
                                   {"url", "https://files.example.org/1"},
                                   {"width", 640},
                                   {"height", 480}};
  return status_of({{"attachment", json::array{attachment}}}).at("media_attachments").at(0).as_object();
}

// Mastodon's own page, and others, take its shape from there.
TEST(ReadPost, APictureIsItsOwnPreview) {
  const json::object picture = attachment_of("image/png");
  EXPECT_EQ(picture.at("preview_url"), picture.at("url"));
  const json::object size = {{"width", 640}, {"height", 480}, {"size", "640x480"}, {"aspect", 640.0 / 480}};
  EXPECT_EQ(picture.at("meta").at("original"), json::value(size));
  EXPECT_EQ(picture.at("meta").at("small"), json::value(size));
}

TEST(ReadPost, NothingIsKnownOfTheSizeOfAFilmsPreview) {
  const json::object film = attachment_of("video/mp4");
  EXPECT_EQ(film.at("meta").at("original").at("width"), 640);
  EXPECT_FALSE(film.at("meta").as_object().contains("small"));
}

// Mastodon shows it of its own people only, and has no null there: what libraries are written for.
TEST(ReadPost, NoApplicationIsNamed) { EXPECT_FALSE(status_of({}).contains("application")); }

}  // namespace
}  // namespace tagring::posts
