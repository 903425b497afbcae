#include "web/posts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tagring::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

json::object status() {
  return {{"id", "1"},
          {"uri", "https://a.example/1"},
          {"url", "https://a.example/@ann/1"},
          {"created_at", "2026-11-21T02:24:00.000Z"},
          {"account", json::object{{"acct", "ann@a.example"},
                                   {"username", "ann"},
                                   {"display_name", "Ann"},
                                   {"url", "https://a.example/@ann"}}},
          {"content", "<p>A cat &amp; a dog</p>"},
          {"spoiler_text", ""},
          {"language", "en"},
          {"media_attachments", json::array()},
          {"tags", json::array{json::object{{"name", "猫"}}}}};
}

TEST(RenderPost, HasAuthorTimeTextAndHashtags) {
  const std::string html = render_post(status());
  EXPECT_THAT(html, HasSubstr(R"(href="https://a.example/@ann")"));
  EXPECT_THAT(html, HasSubstr(R"(<bdi class="name">Ann</bdi> <span class="acct">@ann@a.example</span>)"));
  EXPECT_THAT(html, HasSubstr(R"(<time datetime="2026-11-21T02:24:00.000Z">2026-11-21 02:24 UTC</time>)"));
  EXPECT_THAT(html, HasSubstr("<p>A cat &amp; a dog</p>"));
  EXPECT_THAT(html, HasSubstr(R"(<a href="/tags/%E7%8C%AB" class="tag"><bdi>#猫</bdi></a>)"));
}

TEST(RenderPost, EscapesEverythingThatItsAuthorWrote) {
  json::object hostile = status();
  const std::string attack = "\"'><script>alert(1)</script>";
  hostile["content"] = "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p><script>alert(2)</script>";
  hostile["language"] = attack;
  hostile["created_at"] = attack;
  hostile["url"] = "javascript:alert(1)";
  hostile["spoiler_text"] = attack;
  hostile["account"] =
      json::object{{"acct", attack}, {"display_name", attack}, {"url", "https://x.example/" + attack}};
  hostile["tags"] = json::array{json::object{{"name", attack}}};
  hostile["media_attachments"] = json::array{
      json::object{{"type", attack}, {"url", "https://x.example/" + attack}, {"description", attack}}};
  const std::string html = render_post(hostile);
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("alert(2)")));
  EXPECT_THAT(html, Not(HasSubstr("javascript:")));
  EXPECT_THAT(html, Not(HasSubstr("\"'")));
}

TEST(RenderPost, HidesThePostBehindItsWarning) {
  json::object warned = status();
  warned["spoiler_text"] = "Spiders";
  const std::string html = render_post(warned);
  EXPECT_LT(html.find("<summary dir=\"auto\">Spiders</summary>"), html.find("A cat"));
  EXPECT_LT(html.find("A cat"), html.find("</details>"));
}

TEST(RenderPost, LinksMediaAndShowsNone) {
  json::object pictured = status();
  pictured["media_attachments"] = json::array{
      json::object{{"type", "image"}, {"url", "https://m.example/1.png"}, {"description", "A cat on a mat"}}};
  const std::string html = render_post(pictured);
  EXPECT_THAT(html, HasSubstr(R"(href="https://m.example/1.png")"));
  EXPECT_THAT(html, HasSubstr("A cat on a mat"));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
}

TEST(RenderPost, TakesAnythingOfTheWrongShape) {
  EXPECT_THAT(render_post({{"account", 1}, {"content", json::array()}, {"tags", "x"}}),
              HasSubstr("<article"));
}

}  // namespace
}  // namespace tagring::web
