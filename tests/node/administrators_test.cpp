// Who may change what at a node, and what is noted of it.
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/printable.hpp"
#include "node/fixture.hpp"

namespace tagring::node {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class AdministratorsTest : public NodeTest {
 protected:
  // "who does: outcome", the latest first.
  std::vector<std::string> changes() {
    std::vector<std::string> found;
    const json::object answer = *json::parse_object(control("/changes").body);
    for (const json::value& element : answer.at("changes").as_array()) {
      const json::object& change = element.as_object();
      EXPECT_EQ(json::get_string(change, "at").value_or("").size(),
                std::string("2026-11-24T00:00:00.000Z").size());
      found.push_back(fmt::format("{} {}: {}", json::get_string(change, "who").value_or(""),
                                  json::get_string(change, "does").value_or(""),
                                  json::get_string(change, "outcome").value_or("")));
    }
    return found;
  }
  std::string last_about() {
    const json::object answer = *json::parse_object(control("/changes").body);
    return json::get_string(answer.at("changes").as_array().front().as_object(), "about").value_or("");
  }
  std::string log_in(const std::string& name, const std::string& role) {
    const HttpResponse response =
        control("/login", json::serialize(json::object{{"name", name}, {"role", role}}));
    EXPECT_EQ(response.status, 200) << response.body;
    const std::string url = json::get_string(*json::parse_object(response.body), "url").value_or("");
    return url.substr(url.find('#') + 1);
  }
  HttpResponse as(const std::string& secret, const std::string& path, const std::string& body = {}) {
    HttpRequest request;
    request.method = body.empty() ? "GET" : "POST";
    request.target = "/admin" + path;
    request.body = body;
    request.headers.add("Authorization", "Bearer " + secret);
    return ask(std::move(request));
  }

  const std::string subscribe = R"({"tags":["cats"]})";
  const std::string block = R"({"kind":"domain","what":"spam.example"})";
};

TEST_F(AdministratorsTest, EveryChangeIsNotedWithWhoAndWhatCameOfIt) {
  control("/subscribe", subscribe);
  control("/blocks/remove", R"({"kind":"domain","what":"never.example"})");
  EXPECT_THAT(changes(),
              ElementsAre(HasSubstr("local socket /blocks/remove: "), "local socket /subscribe: done"));
  EXPECT_THAT(changes().front(), Not(HasSubstr("done")));
  EXPECT_EQ(last_about(), "kind=domain what=never.example");
  EXPECT_THAT(log_lines, Contains(AllOf(HasSubstr("event=admin"), HasSubstr(R"(who="local socket")"),
                                        HasSubstr("does=/subscribe"), HasSubstr("outcome=done"))));
}

TEST_F(AdministratorsTest, WhatWasChangedIsStillKnownAfterARestart) {
  control("/subscribe", subscribe);
  start(config());
  settle();
  EXPECT_THAT(changes(), ElementsAre("local socket /subscribe: done"));
}

// It takes up to an hour a place, and the node may be killed meanwhile.
TEST_F(AdministratorsTest, WhoHasTheNodeLeaveIsKnownBeforeItHasLeft) {
  HttpRequest request;
  request.method = "POST";
  request.target = "/leave";
  request.body = "{}";
  TaskGroup tasks(loop.executor(kOwner));
  tasks.spawn("leave", [](Node* asked, HttpRequest leave) -> Task<void> {
    (void)co_await asked->control(std::move(leave));
  }(node.get(), std::move(request)));
  settle(std::chrono::milliseconds(100));
  ASSERT_EQ(tasks.size(), 1U) << "it is leaving";
  EXPECT_THAT(changes(), ElementsAre("local socket /leave: begun"));
  settle(std::chrono::minutes(5));
  EXPECT_EQ(tasks.size(), 0U);
  EXPECT_THAT(changes(), ElementsAre("local socket /leave: done", "local socket /leave: begun"));
}

TEST_F(AdministratorsTest, LongRequestsAreNotedInPart) {
  control("/blocks/import",
          json::serialize(json::object{{"source", "s"}, {"text", std::string(10'000, '\xc3')}}));
  control("/subscribe", json::serialize(json::object{{"tags", json::array(300, "猫")}}));
  EXPECT_LE(last_about().size(), 200U);
  EXPECT_TRUE(is_utf8(last_about()));
}

TEST_F(AdministratorsTest, WhatIsNotedIsALineThatAnyDatabaseKeeps) {
  control("/subscribe", R"({"tags":["ca\u0000t\n\u202es"]})");
  control("/blocks/add", R"({"kind":"domain","what":"a\u0000b\nc"})");
  EXPECT_EQ(last_about(), "kind=domain what=a b c");
  for (const std::string& change : changes()) EXPECT_EQ(printable(change), change);
}

TEST_F(AdministratorsTest, RolesSayWhoMayChangeWhat) {
  const std::string looker = log_in("lotte", "look");
  const std::string moderator = log_in("mo", "moderate");
  const std::string administrator = log_in("anna", "all");
  for (const std::string& secret : {looker, moderator, administrator})
    EXPECT_EQ(as(secret, "/status").status, 200);
  const HttpResponse refused = as(looker, "/blocks/add", block);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("the role of lotte is 'look', and this needs 'moderate'"));
  EXPECT_EQ(as(moderator, "/blocks/add", block).status, 200);
  for (const char* path : {"/subscribe", "/login", "/leave", "/instances/permit", "/fasp/register"})
    EXPECT_EQ(as(moderator, path, subscribe).status, 403) << path;
  EXPECT_EQ(as(administrator, "/subscribe", subscribe).status, 200);
  // What was refused changed nothing, and does not push out what did.
  EXPECT_THAT(changes(),
              ElementsAre("anna /subscribe: done", "mo /blocks/add: done", "local socket /login: done",
                          "local socket /login: done", "local socket /login: done"));
}

TEST_F(AdministratorsTest, ASessionKnowsWhoseItIs) {
  const std::string secret = log_in("lotte", "look");
  EXPECT_EQ(as(secret, "/self").body, R"({"name":"lotte","role":"look"})");
  EXPECT_EQ(control("/self").body, R"({"name":"local socket","role":"all"})");
  EXPECT_EQ(control("/login", R"({"name":"no name"})").status, 400);
  EXPECT_EQ(control("/login", R"({"role":"boss"})").status, 400);
}

// Whatever they changed on the page was noted under "login".
TEST_F(AdministratorsTest, WhoGivesNoNameIsCalledAsTheyWereWhenTheyAsked) {
  const auto name_given = [](const HttpResponse& response) {
    EXPECT_EQ(response.status, 200) << response.body;
    return json::text_of(*json::parse_object(response.body), "name");
  };
  const std::string administrator = log_in("anna", "all");
  EXPECT_EQ(name_given(as(administrator, "/login", R"({"role":"look"})")), "anna");
  HttpRequest request;
  request.method = "POST";
  request.target = "/login";
  request.body = "{}";
  EXPECT_EQ(name_given(run(node->control(request))), "login") << "the machine knows nobody";
  request.headers.add(std::string(administrators::kUserField), "eve");
  EXPECT_EQ(name_given(run(node->control(request))), "eve");
  EXPECT_EQ(control("/login", R"({"name":""})").status, 400);
  EXPECT_EQ(control("/logout", R"({"name":""})").status, 400);
  EXPECT_EQ(as(administrator, "/self").status, 200) << "nobody's session was ended";
}

// Who was let in from outside could have what they did noted as another's.
TEST_F(AdministratorsTest, NobodyFromOutsidePassesForAnother) {
  const auto opened = [this](const std::string& secret, const std::string& body) {
    const HttpResponse response = as(secret, "/login", body);
    EXPECT_EQ(response.status, 200) << response.body;
    const json::object answer = *json::parse_object(response.body);
    const std::string url = json::text_of(answer, "url");
    return std::pair(json::text_of(answer, "name"), url.substr(url.find('#') + 1));
  };
  config::Config named = config();
  named.admin_tokens = {{{"token", administrators::Role::kAll}, "correct-horse-battery"}};
  start(named);
  settle();
  const std::string anna = log_in("anna", "all");
  EXPECT_EQ(opened(anna, R"({"name":"anna"})").first, "anna");
  const auto [name, bob] = opened(anna, R"({"name":"bob"})");
  EXPECT_EQ(name, "bob (by anna)");
  EXPECT_EQ(as(bob, "/subscribe", subscribe).status, 200);
  EXPECT_EQ(changes().front(), "bob (by anna) /subscribe: done");
  EXPECT_EQ(opened(bob, "{}").first, "bob (by anna)");
  EXPECT_EQ(opened(bob, R"({"name":"eve"})").first, "eve (by anna)") << "whose doing it is";
  EXPECT_EQ(opened(bob, R"({"name":"anna"})").first, "anna (by anna)") << "bob may be somebody else";
  EXPECT_EQ(opened("correct-horse-battery", "{}").first, "login (by token)");
  EXPECT_EQ(opened("correct-horse-battery", R"({"name":"bob"})").first, "bob (by token)");
  EXPECT_EQ(control("/logout", R"({"name":"bob"})").body, R"({"closed":3})");
  EXPECT_EQ(as(bob, "/self").status, 401);
}

TEST_F(AdministratorsTest, TheSessionsOfOneNameCanBeEnded) {
  const std::string lotte = log_in("lotte", "look");
  const std::string anna = log_in("anna", "all");
  EXPECT_EQ(control("/logout", R"({"name":"lotte"})").body, R"({"closed":1})");
  EXPECT_EQ(as(lotte, "/self").status, 401);
  EXPECT_EQ(as(anna, "/self").status, 200);
}

TEST_F(AdministratorsTest, TokensOfTheConfigurationHaveNamesAndRoles) {
  config::Config named = config();
  named.admin_tokens = {{{"mo", administrators::Role::kModerate}, "correct-horse-battery"}};
  start(named);
  settle();
  EXPECT_EQ(as("correct-horse-battery", "/blocks/add", block).status, 200);
  EXPECT_EQ(as("correct-horse-battery", "/subscribe", subscribe).status, 403);
  EXPECT_THAT(changes(), ElementsAre("mo /blocks/add: done"));
}

TEST_F(AdministratorsTest, WhoOnlyLooksIsNotAmongThoseWhoChange) {
  control("/followers/check", R"({"actor": "https://far.example/users/ann"})");
  control("/followers/check", R"({"server": "far.example", "tag": "cats"})");
  control("/blocks/import", R"({"source": "tier0", "text": "spam.example", "preview": true})");
  EXPECT_TRUE(changes().empty()) << testing::PrintToString(changes());
  control("/followers/check", R"({"actor": "https://far.example/users/ann", "apply": true})");
  control("/blocks/import", R"({"source": "tier0", "text": "spam.example"})");
  EXPECT_EQ(changes().size(), 2U);
}

TEST_F(AdministratorsTest, WhatIsTypedWrongIsRefusedInWords) {
  const auto refusal = [this](const std::string& target, const std::string& body = "") {
    const HttpResponse response = body.empty() ? control(target) : control(target, body);
    EXPECT_EQ(response.status, 400) << target;
    return response.body;
  };
  for (const char* path : {"/blocks/add", "/blocks/remove"})
    EXPECT_THAT(refusal(path, R"({"kind": "tag", "what": "a b"})"), HasSubstr("a hashtag is one word"));
  EXPECT_THAT(refusal("/subscribe", R"({"tags": ["cats,dogs"]})"), HasSubstr("did you mean"));
  EXPECT_THAT(refusal("/instances/follow", R"({"group": "https://lemmy.example/c/world-news"})"),
              HasSubstr("'world-news' is no hashtag"));
  EXPECT_THAT(refusal("/owners?tag=@cats@tags.oak.example"), HasSubstr("is an account"));
  EXPECT_THAT(refusal("/owners"), HasSubstr("no hashtag is named"));
  EXPECT_THAT(refusal("/feed?after=-1"), HasSubstr("'after' must be a number"));
  EXPECT_THAT(refusal("/history?tag=cats&limit=many"), HasSubstr("'limit' must be a number"));
  EXPECT_THAT(refusal("/instances/hashtags?host=nope%20nope"), HasSubstr("'nope nope' is no host name"));
}

TEST_F(AdministratorsTest, WhoIsLetInByAWholeEndingIsSaid) {
  const auto is_suffix = [this](const char* host) {
    const json::object wish = {{"host", host}, {"publishes", true}, {"receives", true}};
    return json::get_flag(*json::parse_object(control("/instances/permit", json::serialize(wish)).body),
                          "suffix");
  };
  EXPECT_TRUE(is_suffix("com"));
  EXPECT_FALSE(is_suffix("social.example"));
}

}  // namespace
}  // namespace tagring::node
