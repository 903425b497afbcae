#include "web/posts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utility>

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

std::string rendered(const json::object& post, std::string_view now = "2026-11-21T05:30:00Z") {
  return render_post(post, *from_rfc3339(now), "caturday");
}

TEST(RenderPost, HasAuthorTimeTextAndHashtags) {
  const std::string html = rendered(status());
  EXPECT_THAT(html, HasSubstr(R"(href="https://a.example/@ann")"));
  EXPECT_THAT(html, HasSubstr(R"(<bdi class="name">Ann</bdi> <span class="acct">@ann@a.example</span>)"));
  EXPECT_THAT(
      html,
      HasSubstr(R"(<time datetime="2026-11-21T02:24:00.000Z" title="2026-11-21 02:24 UTC">3h ago</time>)"));
  EXPECT_THAT(html, HasSubstr("<p>A cat &amp; a dog</p>"));
  EXPECT_THAT(html, HasSubstr(R"(<a href="/tags/%E7%8C%AB" class="tag"><bdi>#猫</bdi></a>)"));
}

// As ui/src/age.ts does.
TEST(RenderPost, SaysTimesAsPeopleDo) {
  for (const auto& [now, age] :
       {std::pair("2026-11-21T02:23:00Z", "now"), std::pair("2026-11-21T02:24:59Z", "59s ago"),
        std::pair("2026-11-21T03:23:59Z", "59m ago"), std::pair("2026-11-22T02:23:59Z", "23h ago"),
        std::pair("2026-11-22T02:24:00Z", "yesterday"), std::pair("2026-11-27T02:24:00Z", "6d ago"),
        std::pair("2026-11-28T02:24:00Z", "Nov 21"), std::pair("2027-01-01T00:00:00Z", "Nov 21, 2026")})
    EXPECT_THAT(rendered(status(), now), HasSubstr(std::string(">") + age + "</time>"));
}

// As ui/src/post.tsx does: what is of another size moves all that is below when the script takes over.
TEST(RenderPost, HasTheAvatarThePollAndTheHashtagsThatTheScriptDraws) {
  json::object post = status();
  post["content"] = "<p>Look <a href=\"https://a.example/tags/x\">#<span>МОСКВА</span></a></p>";
  post["tags"] = json::array{json::object{{"name", "москва"}}, json::object{{"name", "caturday"}}};
  std::string html = rendered(post);
  EXPECT_THAT(html, HasSubstr(R"(<span class="avatar hue2" aria-hidden="true">A</span>)"));
  EXPECT_THAT(html, Not(HasSubstr("class=\"tags\"")));
  post["poll"] = json::object{{"options", json::array{json::object{{"title", "<cats>"}}}}};
  post["account"].as_object()["display_name"] = "🐈 éva";
  html = rendered(post);
  EXPECT_THAT(html, HasSubstr(R"(<ul class="poll" lang="en"><li dir="auto">&lt;cats&gt;</li></ul>)"));
  EXPECT_THAT(html, HasSubstr("aria-hidden=\"true\">É</span>"));
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
  const std::string html = rendered(hostile);
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("alert(2)")));
  EXPECT_THAT(html, Not(HasSubstr("javascript:")));
  EXPECT_THAT(html, Not(HasSubstr("\"'")));
}

TEST(RenderPost, HidesThePostBehindItsWarning) {
  json::object warned = status();
  warned["spoiler_text"] = "Spiders";
  std::string html = rendered(warned);
  EXPECT_LT(html.find("<summary dir=\"auto\" lang=\"en\">Spiders</summary>"), html.find("A cat"));
  EXPECT_LT(html.find("A cat"), html.find("</details>"));
  warned["spoiler_text"] = "<Dune>";
  html = rendered(warned);
  EXPECT_LT(html.find("<summary dir=\"auto\" lang=\"en\">&lt;Dune&gt;</summary>"), html.find("A cat"));
}

TEST(RenderPost, LinksMediaAndShowsNone) {
  json::object pictured = status();
  pictured["media_attachments"] = json::array{
      json::object{{"type", "image"}, {"url", "https://m.example/1.png"}, {"description", "A cat on a mat"}}};
  const std::string html = rendered(pictured);
  EXPECT_THAT(html, HasSubstr(R"(href="https://m.example/1.png")"));
  EXPECT_THAT(html, HasSubstr(R"(<div class="media-grid n1"><a class="media-link")"));
  EXPECT_THAT(html, HasSubstr("A cat on a mat"));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  // But there is room for them, as large as they are, where the script will show them.
  EXPECT_THAT(html, HasSubstr(R"(viewBox="0 0 16 9")"));
  json::object& media = pictured["media_attachments"].as_array().at(0).as_object();
  media["meta"] = json::object{{"original", json::object{{"width", 640}, {"height", 480}}}};
  EXPECT_THAT(rendered(pictured), HasSubstr(R"(viewBox="0 0 640 480")"));
  pictured["sensitive"] = true;
  EXPECT_THAT(rendered(pictured), Not(HasSubstr("<svg")));
}

TEST(RenderPost, TakesAnythingOfTheWrongShape) {
  EXPECT_THAT(rendered({{"account", 1}, {"content", json::array()}, {"tags", "x"}}), HasSubstr("<article"));
}

}  // namespace
}  // namespace tagring::web
