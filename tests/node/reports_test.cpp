// What people of other servers complain of: what is kept, and what the administrator can do about it.
#include "reports/reports.hpp"

#include <fmt/format.h>
#include <set>

#include "health/metrics.hpp"
#include "node/fixture.hpp"

namespace tagring::node {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class Reporting : public NodeTest {
 protected:
  // Mastodon speaks as its own actor, so that nobody learns who complained.
  Author server = make_author("https://far.example/actor", "https://far.example/inbox");
  Author alice = make_author("https://home.example/users/alice");
  PostText post{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats"}};

  std::string flag(const Author& by, const std::string& name, const json::value& objects,
                   const json::value& content = "advertising") {
    return json::serialize(json::object{{"@context", "https://www.w3.org/ns/activitystreams"},
                                        {"id", origin_of(by.id) + "/reports/" + name},
                                        {"type", "Flag"},
                                        {"actor", by.id},
                                        {"content", content},
                                        {"object", objects}});
  }
  static constexpr const char* kTooMany = "too many reports wait for this node's administrator";
  // A complaint about the actor of a hashtag and a post that it boosted.
  HttpRequest complaint(const std::string& name, const json::value& content = "advertising") {
    return signed_request(server, flag(server, name, json::array{origin + "/tag/cats", post.uri}, content));
  }
  int complain(const std::string& name, const json::value& content = "advertising") {
    return ask(complaint(name, content)).status;
  }
  json::array reports() {
    const HttpResponse response = control("/reports");
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse_object(response.body).value().at("reports").as_array();
  }
  json::object admin(const std::string& path, const json::object& body, int status = 200) {
    const HttpResponse response = control(path, json::serialize(body));
    EXPECT_EQ(response.status, status) << response.body;
    settle();
    return json::parse_object(response.body).value_or(json::object());
  }
};

TEST_F(Reporting, AReportAboutAHashtagActorIsKeptUntilItIsClosed) {
  EXPECT_EQ(complain("1"), 202);
  ASSERT_THAT(reports(), SizeIs(1));
  const json::object report = reports().front().as_object();
  EXPECT_EQ(report.at("from"), json::value(server.id));
  EXPECT_EQ(report.at("comment"), "advertising");
  EXPECT_EQ(report.at("about"), json::value(json::array{origin + "/tag/cats", post.uri}));
  EXPECT_EQ(report.at("open"), true);
  EXPECT_THAT(log_lines, Contains(HasSubstr("event=report")));
  settle();
  EXPECT_EQ(complain("1"), 202) << "sent again, as servers do that got no answer";
  EXPECT_THAT(reports(), SizeIs(1));
  admin("/reports/close", {{"id", report.at("id")}});
  EXPECT_EQ(reports().front().as_object().at("open"), false);
  EXPECT_EQ(admin("/reports/close", {{"id", report.at("id")}}, 409).at("error"), "conflict");
  EXPECT_EQ(admin("/reports/close", {{"id", 99}}, 404).at("error"), "not_found");
  EXPECT_EQ(admin("/reports/close", {{"id", "one"}}, 400).at("error"), "invalid");
}

TEST_F(Reporting, TheNodesActorAndSingleObjectsCanBeReportedToo) {
  EXPECT_EQ(post_signed(flag(server, "1", json::value(origin + "/actor"), nullptr), server).status, 202);
  ASSERT_THAT(reports(), SizeIs(1));
  EXPECT_EQ(reports().front().as_object().at("comment"), "");
  // Pleroma gives the reported posts whole.
  const json::array objects = {origin + "/tag/cats", json::object{{"type", "Note"}, {"id", post.uri}}};
  EXPECT_EQ(post_signed(flag(server, "2", objects), server).status, 202);
  EXPECT_EQ(reports().front().as_object().at("about").as_array().at(1), json::value(post.uri));
}

TEST_F(Reporting, WhatOfThisNodeIsNamedAfterThousandsOfOthersIsKeptFirst) {
  json::array objects;
  for (int i = 0; i < 9'999; ++i) objects.emplace_back(fmt::format("https://home.example/notes/{}", i));
  objects.emplace_back(origin + "/tag/cats");
  EXPECT_EQ(post_signed(flag(server, "1", objects), server).status, 202);
  const json::array about = reports().front().as_object().at("about").as_array();
  EXPECT_THAT(about, SizeIs(reports::Reports::kAboutMax));
  EXPECT_EQ(about.front(), json::value(origin + "/tag/cats"));
}

TEST_F(Reporting, AReportAboutOthersIsNotKept) {
  expect_ignored(signed_request(server, flag(server, "1", json::array{alice.id, post.uri})),
                 "a report about nothing of this node");
  expect_ignored(signed_request(server, flag(alice, "1", json::value(origin + "/actor"))),
                 "somebody else's activity");
  expect_refused(signed_request(server, flag(server, "2", "no URL")), 400, "invalid", "object");
  EXPECT_THAT(reports(), IsEmpty());
}

TEST_F(Reporting, AServerCanLeaveSoManyOpenReportsAndNoMore) {
  const std::size_t each =
      node->status().at("budget").as_object().at("reports").as_object().at("group").to_number<std::size_t>();
  for (std::size_t i = 0; i < each; ++i) EXPECT_EQ(complain(std::to_string(i)), 202);
  expect_ignored(complaint("more"), kTooMany);
  EXPECT_EQ(status().at("inbox").as_object().at("ignored").as_object().at(kTooMany), 1);
  EXPECT_THAT(log_lines, Contains(AllOf(HasSubstr("event=inbox_ignores"), HasSubstr(kTooMany))));
  EXPECT_THAT(reports(), SizeIs(each));
  admin("/reports/close", {{"id", reports().front().as_object().at("id")}});
  EXPECT_EQ(complain("later"), 202);
  EXPECT_THAT(reports(), SizeIs(each + 1)) << "with the one that is closed";
  expect_ignored(complaint("last"), kTooMany);
}

TEST_F(Reporting, ReportsOutliveTheNodeAndGoOnCounting) {
  const std::size_t each =
      node->status().at("budget").as_object().at("reports").as_object().at("group").to_number<std::size_t>();
  for (std::size_t i = 0; i < each; ++i) EXPECT_EQ(complain(std::to_string(i)), 202);
  start(config());
  EXPECT_THAT(reports(), SizeIs(each));
  expect_ignored(complaint("more"), kTooMany);
}

TEST_F(Reporting, WhatStrangersWriteIsBoundedAndObeyedByNoTerminal) {
  json::array objects;
  for (int i = 0; i < 100; ++i)
    objects.push_back(json::value(fmt::format("https://home.example/notes/{}", i)));
  objects.push_back(json::value(origin + "/tag/cats"));
  const std::string comment = "\x1b[2Jlook\nhere\u009b2J\u202eereh " + std::string(100'000, 'x');
  EXPECT_EQ(post_signed(flag(server, "1", objects, json::value(comment)), server).status, 202);
  const json::object report = reports().front().as_object();
  const std::string kept(report.at("comment").as_string());
  EXPECT_LE(kept.size(), reports::Reports::kCommentMax);
  EXPECT_THAT(kept, testing::StartsWith(" [2Jlook here 2J ereh xxx"));
  EXPECT_EQ(report.at("about").as_array().front(), json::value(origin + "/tag/cats"))
      << "whatever else it names";
  EXPECT_THAT(report.at("about").as_array(), SizeIs(reports::Reports::kAboutMax));
}

TEST_F(Reporting, AReportCanBeHandedOnToTheAuthorsServerWithoutSayingWhoComplained) {
  json::object document = note_object(post);
  document["attributedTo"] =
      json::array{json::object{{"type", "Person"}, {"id", alice.id}},
                  json::object{{"type", "Group"}, {"id", "https://home.example/c/birds"}}};
  internet.serve(post.uri, json::serialize(document));  // as PeerTube does
  complain("1");
  const json::value id = reports().front().as_object().at("id");
  EXPECT_EQ(admin("/reports/forward", {{"id", id}}).at("forwarded"), json::value(json::array{post.uri}));
  const auto sent = internet.posted_to(alice.inbox);
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent.front().at("type"), "Flag");
  EXPECT_EQ(sent.front().at("actor"), json::value(origin + "/actor"));
  EXPECT_EQ(sent.front().at("content"), "advertising");
  EXPECT_EQ(sent.front().at("object"), json::value(json::array{alice.id, post.uri}));
  EXPECT_THAT(json::serialize(sent.front()), Not(HasSubstr(server.id)));
  EXPECT_EQ(reports().front().as_object().at("forwarded"), json::value(json::array{post.uri}));
  EXPECT_THAT(log_lines, Contains(AllOf(HasSubstr("event=report_forwarded"), HasSubstr(post.uri))));
}

// [Mastodon, FlagSerializer: the actor, and what it has of it by their ids]
TEST_F(Reporting, OfAnAnnouncementThePostIsKeptAndHandedOn) {
  const Author fan = make_author("https://far.example/users/fan");
  internet.serve(post.uri, json::serialize(note_object(post)));
  EXPECT_EQ(post_signed(follow_text(fan, {origin + "/tag/cats"}), fan).status, 202);
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  settle();
  const std::string boost = json::id_of(internet.posted_to(fan.inbox).back());
  const json::array objects = {origin + "/tag/cats", json::value(boost)};
  EXPECT_EQ(post_signed(flag(server, "1", objects), server).status, 202);
  const json::object report = reports().front().as_object();
  EXPECT_EQ(report.at("about"), json::value(json::array{origin + "/tag/cats", post.uri}));
  EXPECT_EQ(admin("/reports/forward", {{"id", report.at("id")}}).at("forwarded"),
            json::value(json::array{post.uri}));
}

TEST_F(Reporting, AnnouncementsLeaveRoomForAllTheirPosts) {
  const Author fan = make_author("https://far.example/users/fan");
  EXPECT_EQ(post_signed(follow_text(fan, {origin + "/tag/cats"}), fan).status, 202);
  std::set<std::string> expected = {origin + "/tag/cats"};
  for (std::size_t i = 1; i < reports::Reports::kAboutMax; ++i) {
    post.uri = fmt::format("https://home.example/notes/{}", i);
    EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
    expected.insert(post.uri);
  }
  settle(std::chrono::minutes(1));
  json::array objects = {origin + "/tag/cats"};
  for (const json::object& sent : internet.posted_to(fan.inbox))
    if (json::get_string(sent, "type") == "Announce") objects.emplace_back(json::id_of(sent));
  ASSERT_THAT(objects, SizeIs(reports::Reports::kAboutMax));
  EXPECT_EQ(post_signed(flag(server, "1", objects), server).status, 202);
  std::set<std::string> about;
  for (const json::value& uri : reports().front().as_object().at("about").as_array())
    about.insert(json::id_of(uri));
  EXPECT_EQ(about, expected);
}

TEST_F(Reporting, AnAnnouncementAloneIsAboutWhoAnnounced) {
  const Author fan = make_author("https://far.example/users/fan");
  EXPECT_EQ(post_signed(follow_text(fan, {origin + "/tag/cats"}), fan).status, 202);
  EXPECT_EQ(post_signed(create_text(post), alice).status, 202);
  settle();
  const std::string boost = json::id_of(internet.posted_to(fan.inbox).back());
  EXPECT_EQ(post_signed(flag(server, "1", json::value(boost)), server).status, 202);
  EXPECT_EQ(reports().front().as_object().at("about"),
            json::value(json::array{origin + "/tag/cats", post.uri}));
}

TEST_F(Reporting, NobodyIsToldTwiceUnlessByName) {
  internet.serve(post.uri, json::serialize(note_object(post)));
  PostText second = post;
  second.uri += "2";
  const json::array objects = {origin + "/tag/cats", json::value(post.uri), json::value(second.uri)};
  EXPECT_EQ(post_signed(flag(server, "1", objects), server).status, 202);
  const json::value id = reports().front().as_object().at("id");
  admin("/reports/forward", {{"id", id}}, 404);  // the second is not there
  EXPECT_THAT(internet.posted_to(alice.inbox), SizeIs(1));
  internet.serve(second.uri, json::serialize(note_object(second)));
  EXPECT_EQ(admin("/reports/forward", {{"id", id}}).at("forwarded"), json::value(json::array{second.uri}));
  EXPECT_THAT(internet.posted_to(alice.inbox), SizeIs(2));
  EXPECT_THAT(json::serialize(admin("/reports/forward", {{"id", id}}, 400)), HasSubstr("was not told"));
  admin("/reports/forward", {{"id", id}, {"uri", post.uri}});
  EXPECT_THAT(internet.posted_to(alice.inbox), SizeIs(3));
}

TEST_F(Reporting, WhoeverHandsAReportOnTwiceAtOnceTellsOnce) {
  internet.serve(post.uri, json::serialize(note_object(post)));
  complain("1");
  const json::object which = {{"id", reports().front().as_object().at("id")}};
  EXPECT_THAT(control_twice("/reports/forward", json::serialize(which)),
              testing::UnorderedElementsAre(200, 409));
  EXPECT_THAT(internet.posted_to(alice.inbox), SizeIs(1));
}

TEST_F(Reporting, AfterOnePostThatIsGoneTheOthersAreHandedOnAllTheSame) {
  PostText second = post;
  second.uri += "2";
  internet.serve(second.uri, json::serialize(note_object(second)));
  const json::array objects = {origin + "/tag/cats", json::value(post.uri), json::value(second.uri)};
  EXPECT_EQ(post_signed(flag(server, "1", objects), server).status, 202);
  const json::value id = reports().front().as_object().at("id");
  const json::object answer = admin("/reports/forward", {{"id", id}}, 404);
  EXPECT_THAT(json::id_of(answer, "message"),
              AllOf(HasSubstr(post.uri + ":"), HasSubstr("Told of: " + second.uri)));
  EXPECT_THAT(internet.posted_to(alice.inbox), SizeIs(1));
  EXPECT_EQ(reports().front().as_object().at("forwarded"), json::value(json::array{second.uri}));
}

TEST_F(Reporting, ItsServerIsToldOfSomebodyAsOfAPostAndOnceOfBoth) {
  const Author bob = make_author("https://home.example/users/bob");
  internet.serve(post.uri, json::serialize(note_object(post)));
  const json::array objects = {origin + "/tag/cats", json::value(alice.id), json::value(post.uri),
                               json::value(bob.id)};
  EXPECT_EQ(post_signed(flag(server, "1", objects), server).status, 202);
  const json::value id = reports().front().as_object().at("id");
  EXPECT_EQ(admin("/reports/forward", {{"id", id}}).at("forwarded"),
            json::value(json::array{post.uri, alice.id, bob.id}));
  ASSERT_THAT(internet.posted_to(alice.inbox), SizeIs(1));
  EXPECT_EQ(internet.posted_to(alice.inbox).front().at("object"),
            json::value(json::array{alice.id, post.uri}));
  ASSERT_THAT(internet.posted_to(bob.inbox), SizeIs(1));
  EXPECT_EQ(internet.posted_to(bob.inbox).front().at("object"), json::value(json::array{bob.id}));
  EXPECT_THAT(json::serialize(admin("/reports/forward", {{"id", id}}, 400)), HasSubstr("was not told"));
}

TEST_F(Reporting, TheFiguresSaySinceWhenTheOldestOneWaits) {
  const auto shown = [this] { return health::to_metrics(status()); };
  const auto oldest = [this] { return json::get_int(status(), "reports_oldest").value_or(0); };
  EXPECT_THAT(shown(), Not(HasSubstr("tagring_reports_oldest_seconds")));
  EXPECT_EQ(complain("1"), 202);
  const std::int64_t first = oldest();
  EXPECT_THAT(shown(), HasSubstr(fmt::format("\ntagring_reports_oldest_seconds {}\n", first)));
  settle(std::chrono::hours(1));
  EXPECT_EQ(complain("2"), 202);
  EXPECT_EQ(oldest(), first);
  admin("/reports/close", {{"id", reports().back().as_object().at("id")}});
  const std::int64_t second = oldest();
  EXPECT_GE(second, first + 3'600) << "one that was closed soon does not make the next one old";
  start(config());
  EXPECT_EQ(oldest(), second);
  admin("/reports/close", {{"id", reports().front().as_object().at("id")}});
  EXPECT_THAT(shown(), Not(HasSubstr("tagring_reports_oldest_seconds")));
}

TEST_F(Reporting, WhatCannotBeHandedOnIsSaid) {
  EXPECT_EQ(post_signed(flag(server, "1", json::value(origin + "/tag/cats")), server).status, 202);
  const json::value id = reports().front().as_object().at("id");
  const auto refused = [&](const json::object& body, int status) {
    return std::string(admin("/reports/forward", body, status).at("message").as_string());
  };
  EXPECT_THAT(refused({{"id", id}}, 400), HasSubstr("tagring report forward 1 URI"));
  EXPECT_THAT(refused({{"id", id}, {"uri", ""}}, 400), HasSubstr("'uri' is empty")) << "and means not all";
  EXPECT_THAT(refused({{"id", id}, {"uri", "not a URL"}}, 400), HasSubstr("'not a URL' is not the URL"));
  EXPECT_THAT(refused({{"id", id}, {"uri", origin + "/tag/cats"}}, 400), HasSubstr("somebody's post"));
  EXPECT_THAT(refused({{"id", id}, {"uri", post.uri}}, 404), Not(IsEmpty()));
  // A document that names an author of another server.
  PostText foreign = post;
  foreign.author = server.id;
  internet.serve(post.uri, json::serialize(note_object(foreign)));
  EXPECT_THAT(refused({{"id", id}, {"uri", post.uri}}, 400),
              HasSubstr("is no post of an author on that server"));
  EXPECT_THAT(internet.posted_to(alice.inbox), IsEmpty());
  internet.serve(post.uri, json::serialize(note_object(post)));
  EXPECT_EQ(admin("/reports/forward", {{"id", id}, {"uri", post.uri}}).at("forwarded"),
            json::value(json::array{post.uri}));
  EXPECT_THAT(internet.posted_to(alice.inbox), SizeIs(1));
}

}  // namespace
}  // namespace tagring::node
