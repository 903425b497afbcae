// What HTTP and the web's own documents ask of every answer, whatever it is about.
#include <fmt/format.h>

#include "node/fixture.hpp"

namespace tagring::node {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class HttpRules : public NodeTest {
 protected:
  HttpResponse ask_with(const std::string& method, const std::string& target, Headers headers = {}) {
    return ask(HttpRequest{
        .method = method, .target = target, .headers = std::move(headers), .body = {}, .peer = {}});
  }
  static std::string at(const HttpResponse& response, std::string_view name) {
    return response.headers.joined(name).value_or("");
  }
};

TEST_F(HttpRules, AMethodThatIsNotAllowedIsToldWhichAre) {
  for (const auto& [method, target, allowed] :
       {std::tuple("POST", "/actor", "GET, HEAD, OPTIONS"),
        std::tuple("DELETE", "/tag/cats", "GET, HEAD, OPTIONS"),
        std::tuple("PUT", "/tags/cats", "GET, HEAD, OPTIONS"), std::tuple("GET", "/inbox", "POST, OPTIONS"),
        std::tuple("HEAD", "/tag/cats/inbox", "POST, OPTIONS"),
        std::tuple("GET", "/tagring/v1/ring", "POST, OPTIONS"),
        std::tuple("POST", "/api/v1/tags/cats", "GET, HEAD, OPTIONS")}) {
    const HttpResponse response = ask_with(method, target);
    EXPECT_EQ(response.status, 405) << target;
    EXPECT_EQ(at(response, "Allow"), allowed) << target;
  }
  for (const char* target : {"/inbox", "/actor", "/tags/cats", "/api/v1/tags/cats"})
    EXPECT_EQ(ask_with("BREW", target).status, 501) << target;
  for (const char* target : {"*", "/inbox", "/actor", "/tags/cats", "/api/v1/tags/cats"}) {
    const HttpResponse response = ask_with("OPTIONS", target);
    EXPECT_EQ(response.status, 204) << target;
    EXPECT_THAT(at(response, "Allow"), HasSubstr("OPTIONS")) << target;
  }
}

TEST_F(HttpRules, WhoIsNotSignedIsToldHow) {
  const HttpResponse response = ask(HttpRequest{
      .method = "POST",
      .target = "/inbox",
      .headers = {},
      .body =
          R"({"type":"Follow","id":"https://a.example/1","actor":"https://a.example/a","object":"https://tags.home.example/tag/cats"})",
      .peer = {}});
  EXPECT_EQ(response.status, 401);
  EXPECT_THAT(at(response, "WWW-Authenticate"), HasSubstr("Signature"));
}

TEST_F(HttpRules, PagesOfOtherSitesMayReadWhatIsPublic) {
  for (const char* target :
       {"/.well-known/webfinger?resource=acct:cats@tags.home.example",
        "/.well-known/webfinger?resource=acct:no.such@tags.home.example", "/.well-known/nodeinfo",
        "/nodeinfo/2.0", "/nodeinfo/2.1", "/.well-known/host-meta", "/actor", "/tag/cats", "/tag/cats/outbox",
        "/tag/cats/followers", "/tagring/v1/resolve?uri=hashtag:cats"}) {
    EXPECT_EQ(at(get(target), "Access-Control-Allow-Origin"), "*") << target;
    const HttpResponse preflight = ask_with("OPTIONS", target);
    EXPECT_EQ(preflight.status, 204) << target;
    EXPECT_EQ(at(preflight, "Access-Control-Allow-Origin"), "*") << target;
    EXPECT_THAT(at(preflight, "Access-Control-Allow-Methods"), HasSubstr("GET")) << target;
  }
  EXPECT_THAT(at(ask_with("OPTIONS", "/inbox"), "Access-Control-Allow-Origin"), IsEmpty());
  EXPECT_THAT(at(ask_with("OPTIONS", "/api/v1/tags/cats"), "Access-Control-Allow-Origin"), "*");
}

TEST_F(HttpRules, WebfingerReadsAPlusAsItself) {
  EXPECT_EQ(get("/.well-known/webfinger?resource=acct:a+b@tags.home.example").status, 404);
  EXPECT_EQ(get("/.well-known/webfinger?resource=acct%3Acats%40tags.home.example").status, 200);
  EXPECT_EQ(get("/.well-known/webfinger?resource==acct:cats@tags.home.example").status, 400);
  EXPECT_EQ(get("/.well-known/webfinger").status, 400);
}

TEST_F(HttpRules, NodeInfoHasBothVersions) {
  for (const std::string version : {"2.0", "2.1"}) {
    const HttpResponse response = get("/nodeinfo/" + version);
    EXPECT_EQ(response.status, 200);
    EXPECT_THAT(at(response, "Content-Type"), HasSubstr("schema/" + version + "#"));
    EXPECT_THAT(response.body, HasSubstr(R"("version":")" + version + '"'));
    EXPECT_THAT(response.body, HasSubstr(R"("network")")) << "which nodes look for";
  }
}

TEST_F(HttpRules, AnActorIsAPageForWhoPrefersOne) {
  for (const auto& [target, page] :
       {std::pair("/tag/cats", "/tags/cats"), std::pair("/actor", "/"),
        std::pair("/tag/xn--z7x", "/tags/%E7%8C%AB"), std::pair("/tag/%E7%8C%AB", "/tags/%E7%8C%AB")}) {
    const HttpResponse browser =
        ask_with("GET", target, {{"Accept", "text/html, application/activity+json;q=0.5"}});
    EXPECT_EQ(browser.status, 303) << target;
    EXPECT_EQ(at(browser, "Location"), page);
    EXPECT_EQ(at(browser, "Vary"), "Accept");
  }
  const HttpResponse server =
      ask_with("GET", "/tag/cats", {{"Accept", "application/activity+json, text/html;q=0.1"}});
  EXPECT_EQ(server.status, 200);
  EXPECT_EQ(at(server, "Vary"), "Accept") << "or a cache gives it to browsers";
}

TEST_F(HttpRules, ANameThatLosesCharactersAsAHashtagIsNoActorAsByWebfinger) {
  for (const char* name : {"a.b", "a+b", "a%20b", "a-b"}) {
    EXPECT_EQ(get(std::string("/tag/") + name).status, 404) << name;
    EXPECT_EQ(get(std::string("/.well-known/webfinger?resource=") + origin + "/tag/" + name).status, 404)
        << name;
  }
}

TEST_F(HttpRules, AnotherSpellingLeadsToTheActorThatHasThatId) {
  for (const auto& [target, actor] :
       {std::pair("/tag/%E7%8C%AB", "/tag/xn--z7x"), std::pair("/tag/Caf%C3%A9", "/tag/cafe"),
        std::pair("/tag/cafe%CC%81", "/tag/cafe"), std::pair("/tag/c%61ts", "/tag/cats"),
        std::pair("/tag/CATS/outbox?page=true", "/tag/cats/outbox?page=true")}) {
    const HttpResponse response = ask_with("GET", target, {{"Accept", "application/activity+json"}});
    EXPECT_EQ(response.status, 308) << target;
    EXPECT_EQ(at(response, "Location"), origin + actor);
    EXPECT_EQ(at(response, "Vary"), "Accept") << "browsers are led to the page";
  }
}

TEST_F(HttpRules, AnotherHostIsRefusedButNotAnAddress) {
  for (const char* own :
       {"tags.home.example", "TAGS.home.example:443", "127.0.0.1:8443", "[::1]", "localhost:9000"})
    EXPECT_EQ(ask_with("GET", "/actor", {{"Host", own}}).status, 200) << own;
  EXPECT_EQ(ask_with("GET", "/actor", {{"Host", "other.example"}}).status, 421);
  EXPECT_EQ(ask_with("GET", "/livez", {{"Host", "other.example"}}).status, 200);
  EXPECT_EQ(get("/health").body, "OK") << "where clients of Mastodon look";
}

TEST_F(HttpRules, NobodyIsToldAnythingBeforeTheNodeHasTakenUpWhatItKnew) {
  prepare(config());
  const HttpResponse refused = get("/actor");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(at(refused, "Retry-After"), "1");
  EXPECT_EQ(get("/livez").status, 200);
  EXPECT_EQ(control("/status").status, 503);
  ASSERT_TRUE(run(node->start()));
  EXPECT_EQ(get("/actor").status, 200);
  EXPECT_EQ(control("/status").status, 200);
}

TEST_F(HttpRules, WhatDidNotChangeIsNotSentAgain) {
  for (const char* target : {"/", "/tags/cats", "/tags/cats.rss", "/tags/cats.atom", "/api/v1/tags/cats"}) {
    const HttpResponse first = get(target);
    ASSERT_EQ(first.status, 200) << target;
    const std::string tag = at(first, "ETag");
    ASSERT_FALSE(tag.empty()) << target;
    for (const std::string& known : {tag, "\"x\", " + tag, tag.substr(2), std::string("*")}) {
      const HttpResponse again = ask_with("GET", target, {{"If-None-Match", known}});
      EXPECT_EQ(again.status, 304) << target << known;
      EXPECT_THAT(again.body, IsEmpty());
      EXPECT_EQ(at(again, "ETag"), tag);
    }
    EXPECT_EQ(ask_with("GET", target, {{"If-None-Match", "\"other\""}}).status, 200) << target;
  }
  EXPECT_THAT(at(get("/tags/!"), "ETag"), IsEmpty()) << "which is an error";
  EXPECT_NE(at(get("/tags/cats"), "ETag"), at(get("/tags/dogs"), "ETag"));
}

TEST_F(HttpRules, WhoReadsIsShownAPageWhereNothingIs) {
  const Headers browser = {{"Accept", "text/html,application/xhtml+xml,*/*;q=0.8"}};
  for (const char* target : {"/about", "/privacy", "/terms", "/nothing/there", "/tag/a.b"}) {
    const HttpResponse page = ask_with("GET", target, browser);
    EXPECT_EQ(page.status, 404) << target;
    EXPECT_THAT(at(page, "Content-Type"), HasSubstr("text/html")) << target;
    EXPECT_EQ(at(page, "Vary"), "Accept") << target;
    EXPECT_THAT(page.body, HasSubstr("role=\"search\"")) << target;
    for (const char* accept : {"application/activity+json", "application/json", "*/*"}) {
      const HttpResponse other = ask_with("GET", target, {{"Accept", accept}});
      EXPECT_THAT(at(other, "Content-Type"), HasSubstr("json")) << target;
      EXPECT_EQ(at(other, "Vary"), "Accept") << target << ": or a cache gives it to browsers";
    }
  }
  const HttpResponse icon = ask_with("GET", "/favicon.ico", {{"Accept", "image/*"}});
  EXPECT_EQ(icon.status, 302);
  EXPECT_EQ(get(at(icon, "Location")).status, 200);
}

TEST_F(HttpRules, AnAddressMayEndWithASlash) {
  for (const char* target :
       {"/api/v1/instance/", "/api/v2/instance/", "/api/v2/search/?q=cats", "/api/v1/tags/cats/",
        "/api/v1/timelines/tag/cats/", "/api/v1/streaming/health/"})
    EXPECT_EQ(get(target).status, 200) << target;
  for (const char* target :
       {"/api/v1/tags/a/b", "/api/v1/timelines/tag/bench/x", "/api/v1/tags/", "/api/v1/tags/cats%2Ffeature"})
    EXPECT_EQ(get(target).status, 404) << target;
}

TEST_F(HttpRules, AnActorHasPicturesAndANoteOfItsOwn) {
  for (const char* target :
       {"/tag/cats/icon.png", "/tag/cats/header.png", "/actor/icon.png", "/actor/header.png"}) {
    const HttpResponse response = get(target);
    EXPECT_EQ(response.status, 200) << target;
    EXPECT_EQ(at(response, "Content-Type"), "image/png");
    EXPECT_TRUE(response.body.starts_with("\x89PNG")) << target;
  }
  EXPECT_NE(get("/tag/cats/icon.png").body, get("/tag/dogs/icon.png").body);
  const json::object featured = json::parse_object(get("/tag/cats/featured").body).value();
  EXPECT_EQ(featured.at("type"), "OrderedCollection");
  EXPECT_EQ(featured.at("orderedItems"), json::value(json::array{origin + "/tag/cats/about"}));
  const json::object note = json::parse_object(get("/tag/cats/about").body).value();
  EXPECT_EQ(json::id_of(note), origin + "/tag/cats/about");
  EXPECT_EQ(json::id_of(note, "published"),
            json::id_of(json::parse_object(get("/tag/cats").body).value(), "published"));
  EXPECT_NE(json::id_of(note, "published"), "");
  EXPECT_EQ(json::parse_object(get("/actor/featured").body)->at("orderedItems"), json::value(json::array()));
}

TEST_F(HttpRules, AnOutboxSaysHowManyPostsThereAre) {
  const Author alice = make_author("https://home.example/users/alice");
  EXPECT_EQ(json::parse_object(get("/tag/dogs/outbox").body)->at("totalItems"), json::value(0));
  for (int i = 0; i < 3; ++i) {
    const PostText post{
        .uri = fmt::format("https://home.example/notes/{}", i), .author = alice.id, .tags = {"cats"}};
    EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  }
  settle();
  EXPECT_EQ(json::parse_object(get("/tag/cats/outbox").body)->at("totalItems"), json::value(3));
}

TEST_F(HttpRules, WhoHasManyOutboxesMadeUsesUpTheirBudget) {
  config::Config few = config();
  few.budgets.at(static_cast<std::size_t>(budget::Resource::kReads)) = {1'000, 10, 0,
                                                                        std::chrono::minutes(5)};
  start(few);
  const auto get_from = [this](std::uint8_t last, const std::string& target) {
    HttpRequest request;
    request.target = target;
    request.peer = IpAddress::from_v4({192, 0, 2, last});
    return ask(std::move(request));
  };
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(get_from(1, fmt::format("/tag/invented{}/outbox", i)).status, 200);
    EXPECT_EQ(get_from(1, fmt::format("/tag/invented{}/outbox?page=true", i)).status, 200);
  }
  for (const char* target : {"/tag/more/outbox", "/tag/invented0/outbox?page=true"}) {
    const HttpResponse refused = get_from(1, target);
    EXPECT_EQ(refused.status, 429) << target;
    EXPECT_EQ(at(refused, "Retry-After"), "300") << target;
  }
  EXPECT_EQ(get_from(1, "/tag/invented0/outbox").status, 200) << "what is known costs nothing";
  // A document says no more than is known; those of others do.
  const auto published = [&](std::uint8_t last, const std::string& target) {
    return json::id_of(json::parse_object(get_from(last, target).body).value(), "published");
  };
  EXPECT_EQ(published(1, "/tag/unknown"), "");
  EXPECT_NE(published(2, "/tag/unknown"), "");
  EXPECT_NE(published(1, "/tag/unknown"), "") << "it is known now";
  EXPECT_EQ(get_from(2, "/tag/more/outbox").status, 200);
}

TEST_F(HttpRules, WhatAnOutboxAnnouncesHasItsId) {
  const Author alice = make_author("https://home.example/users/alice");
  const Author fan = make_author("https://far.example/users/fan");
  const PostText post{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats"}};
  EXPECT_EQ(post_signed(follow_text(fan, {origin + "/tag/cats"}), fan).status, 202);
  settle();
  internet.calls.clear();
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  settle();
  const std::vector<json::object> sent = internet.posted_to(fan.inbox);
  ASSERT_EQ(sent.size(), 1U);
  const json::object page = json::parse_object(get("/tag/cats/outbox?page=true").body).value();
  EXPECT_EQ(page.at("orderedItems").as_array().at(0).as_object().at("id"), sent[0].at("id"));
}

TEST_F(HttpRules, AnOutboxAnnouncesNothingOfWhoBlocksTheHashtag) {
  const Author alice = make_author("https://home.example/users/alice");
  const Author bob = make_author("https://home.example/users/bob");
  for (const Author& author : {alice, bob}) {
    const PostText post{.uri = author.id + "/notes/1", .author = author.id, .tags = {"cats"}};
    EXPECT_EQ(post_signed(create_text(post), author).status, 202);
  }
  settle();
  const json::object block = {
      {"id", bob.id + "/blocks/1"}, {"type", "Block"}, {"actor", bob.id}, {"object", origin + "/tag/cats"}};
  EXPECT_EQ(post_signed(json::serialize(block), bob).status, 202);
  const json::object page = json::parse_object(get("/tag/cats/outbox?page=true").body).value();
  const json::array& items = page.at("orderedItems").as_array();
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(json::id_of(items.at(0).as_object(), "object"), alice.id + "/notes/1");
}

// Nobody follows here, so that it was never sent.
TEST_F(HttpRules, WhatAnOutboxAnnouncesCanBeFetchedForAnHour) {
  const Author alice = make_author("https://home.example/users/alice");
  const PostText post{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats"}};
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  settle();
  const auto shown = [&] {
    const json::object page = json::parse_object(get("/tag/cats/outbox?page=true").body).value();
    return json::id_of(page.at("orderedItems").as_array().at(0)).substr(origin.size());
  };
  const json::object fetched = json::parse_object(get(shown()).body).value();
  EXPECT_EQ(json::id_of(fetched), origin + shown());
  EXPECT_EQ(json::id_of(fetched, "type"), "Announce");
  EXPECT_EQ(json::id_of(fetched, "actor"), origin + "/tag/cats");
  EXPECT_EQ(json::id_of(fetched, "object"), post.uri);
  const std::string path = shown();
  settle(std::chrono::hours(2));
  EXPECT_EQ(get(path).status, 404) << "it may have gone meanwhile";
  EXPECT_EQ(get(shown()).status, 200);
  control("/blocks/add", json::serialize(json::object{{"kind", "author"}, {"what", alice.id}}));
  EXPECT_EQ(get(path).status, 404);
}

}  // namespace
}  // namespace tagring::node
