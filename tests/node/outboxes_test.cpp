// What people wrote while the node was away for longer than their servers try.
#include "publisher/outboxes.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <utility>

#include "http/url.hpp"
#include "node/fixture.hpp"
#include "ring/codec.hpp"

namespace tagring::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class FullDisk final : public health::Machine {
 public:
  Task<health::Checks> look() override { co_return health::Checks(); }
  Task<Result<void>> try_to_write() override { co_return Result<void>(); }
  [[nodiscard]] bool can_write() const override { return !is_full; }
  [[nodiscard]] std::optional<health::Disk> disk() const override { return std::nullopt; }
  [[nodiscard]] std::optional<std::int64_t> room() const override { return std::nullopt; }
  [[nodiscard]] std::optional<WallTime> certificate_until() const override { return std::nullopt; }
  Task<Result<json::object>> reload() override { co_return json::object(); }
  Task<Result<json::object>> back_up() override { co_return json::object(); }

  bool is_full = false;
};

class Outboxes : public NodeTest {
 protected:
  ~Outboxes() override {
    loop.drop(kOwner);
    node.reset();
  }
  Outboxes() {
    config_.people = true;
    start(config_);
    befriend(dora);
    settle(std::chrono::minutes(2));
  }
  // The person follows the node, and accepts being followed back.
  void befriend(const Author& person) {
    serve_with_outbox(person);
    EXPECT_EQ(post_signed(follow_text(person, {origin + "/actor"}), person).status, 202);
    settle();
    const json::object accept = {{"id", person.id + "/accepts/1"},
                                 {"type", "Accept"},
                                 {"actor", person.id},
                                 {"object", internet.posted_to(person.inbox).back()}};
    EXPECT_EQ(post_signed(json::serialize(accept), person).status, 202);
    settle();
  }
  void serve_with_outbox(const Author& person) {
    json::object document = json::parse_object(person.document()).value();
    document["outbox"] = person.id + "/outbox";
    internet.serve(person.id, json::serialize(document));
  }
  json::object admin(const std::string& path, const json::object& body) {
    const HttpResponse response = control(path, json::serialize(body));
    EXPECT_EQ(response.status, 200) << response.body;
    settle();
    return json::parse_object(response.body).value_or(json::object());
  }
  // Has the node as a relay.
  Author add_instance(const std::string& host) {
    const Author instance = make_author("https://" + host + "/actor");
    admin("/instances/permit", {{"host", host}, {"publishes", true}, {"receives", true}});
    EXPECT_EQ(post_signed(follow_text(instance, {kEverybody}), instance).status, 202);
    settle();
    return instance;
  }
  // One of its people, whom the node does not follow.
  Author add_author(const std::string& id) {
    Author author = make_author(id);
    serve_with_outbox(author);
    return author;
  }
  // Also delivered.
  std::string publish_as(const Author& author, const std::string& name) {
    const std::string uri = write_as(author, name, clock.wall_now());
    deliver({.uri = uri, .author = author.id, .tags = {"dogs"}}, author);
    settle();
    return uri;
  }
  void execute(const char* statement) {
    const auto job = [statement](sql::Connection& db) { return db.execute(statement); };
    ASSERT_TRUE(run(stores->database->write(job)));
  }
  void be_away(Duration duration) {
    loop.drop(kOwner);
    node.reset();
    loop.run_for(duration);
  }
  // In the outbox, as GoToSocial writes it (seen with 0.20): Create with the id of the post.
  std::string write(const std::string& name, WallTime published,
                    const std::string& to = "https://www.w3.org/ns/activitystreams#Public") {
    return write_as(dora, name, published, to);
  }
  std::string write_as(const Author& person, const std::string& name, WallTime published,
                       const std::string& to = "https://www.w3.org/ns/activitystreams#Public") {
    const PostText post{.uri = origin_of(person.id) + "/notes/" + name,
                        .author = person.id,
                        .tags = {"dogs"},
                        .to = json::value(to)};
    json::object note = note_object(post);
    note["published"] = to_rfc3339(published);
    internet.serve(post.uri, json::serialize(note));
    json::array& items = items_[person.id];
    items.push_back(json::object{
        {"id", post.uri + "#create"}, {"type", "Create"}, {"actor", person.id}, {"object", post.uri}});
    internet.serve(person.id + "/outbox",
                   json::serialize(json::object{{"id", person.id + "/outbox"},
                                                {"type", "OrderedCollection"},
                                                {"first", person.id + "/outbox?page=true"}}));
    internet.serve(person.id + "/outbox?page=true",
                   json::serialize(json::object{{"id", person.id + "/outbox?page=true"},
                                                {"type", "OrderedCollectionPage"},
                                                {"orderedItems", items}}));
    return post.uri;
  }
  // An outbox of pages that begin with number 1.
  void serve_paged() {
    internet.serve(dora.id + "/outbox", json::serialize(json::object{{"id", dora.id + "/outbox"},
                                                                     {"type", "OrderedCollection"},
                                                                     {"first", dora.id + "/outbox?page=1"}}));
  }
  void page(int number, const std::vector<std::string>& posts, bool more) {
    json::array items;
    for (const std::string& uri : posts)
      items.push_back(
          json::object{{"id", uri + "#create"}, {"type", "Create"}, {"actor", dora.id}, {"object", uri}});
    json::object document = {{"id", fmt::format("{}/outbox?page={}", dora.id, number)},
                             {"type", "OrderedCollectionPage"},
                             {"orderedItems", std::move(items)}};
    if (more) document["next"] = fmt::format("{}/outbox?page={}", dora.id, number + 1);
    internet.serve(json::id_of(document), json::serialize(document));
  }
  // By its server, as one that was written now.
  void deliver(const PostText& post) { deliver(post, dora); }
  void deliver(const PostText& post, const Author& author) {
    json::object create = json::parse_object(create_text(post)).value();
    create["object"].as_object()["published"] = to_rfc3339(clock.wall_now());
    EXPECT_EQ(ask(signed_at(clock.wall_now(), author, json::serialize(create))).status, 202);
  }
  // What the node remembers of a reading that is not over.
  std::vector<std::string> unread() { return rows("SELECT name FROM counters WHERE name LIKE 'outboxes%'"); }
  // Answers so, and otherwise from then on.
  void answer_until(WallTime then, const std::string& url, HttpResponse answer) {
    internet.answers[url] = [this, then, url, answer](const HttpCall&) -> Result<HttpResponse> {
      return loop.wall_now() < then ? answer : internet.documents[url];
    };
  }
  void come_back() {
    start(config_);
    settle(std::chrono::minutes(2));
  }

  FullDisk disk;
  Author dora = make_author("https://far.example/users/dora");
  config::Config config_ = config();
  std::map<std::string, json::array> items_;  // by who wrote them
};

TEST_F(Outboxes, WhatAPersonWroteMeanwhileIsPublishedAfterTheStartAndOnlyThat) {
  write("old", loop.wall_now() - std::chrono::hours(1));  // from before the person followed
  const std::string missed = write("missed", loop.wall_now());
  write("secret", loop.wall_now(), dora.id + "/followers");
  come_back();
  EXPECT_THAT(history("dogs"), ElementsAre(missed));
  const std::size_t fetched = internet.sent_to(missed).size();
  const std::string later = write("later", loop.wall_now());
  come_back();
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(missed, later));
  EXPECT_THAT(internet.sent_to(missed), SizeIs(fetched)) << "known";
}

TEST_F(Outboxes, WhatAPersonDeletedOrEditedMeanwhileIsLookedAt) {
  std::vector<std::string> posts;
  for (const char* name : {"stays", "deleted", "edited"}) {
    posts.push_back(write(name, loop.wall_now()));
    settle(std::chrono::seconds(1));
  }
  come_back();
  ASSERT_THAT(history("dogs"), ::testing::UnorderedElementsAreArray(posts));
  internet.documents[posts[1]] = with_status(410);
  json::object note = json::parse_object(internet.documents[posts[2]].body).value();
  note["tag"] = json::array{json::object{{"type", "Hashtag"}, {"name", "#cats"}}};
  note["updated"] = to_rfc3339(loop.wall_now());
  internet.serve(posts[2], json::serialize(note));
  json::array& items = items_[dora.id];
  items.erase(items.begin() + 1);
  items[1].as_object()["object"] = note;
  const std::string later = write("later", loop.wall_now());
  internet.calls.clear();
  come_back();
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(posts[0], later));
  EXPECT_THAT(history("cats"), ElementsAre(posts[2]));
  EXPECT_THAT(internet.sent_to(posts[0]), IsEmpty()) << "as it was";
}

// Whoever got the post believes its server alone, which may try to say so for days.
TEST_F(Outboxes, TheSignedDeletionOfWhatWasFoundGoneIsStillHandedOnAndOnlyTheFirst) {
  const Author fan = make_author("https://social.example/users/fan", "https://social.example/inbox");
  EXPECT_EQ(post_signed(follow_text(fan, {origin + "/tag/dogs"}), fan).status, 202);
  settle();
  const std::string post = write("deleted", loop.wall_now());
  come_back();
  ASSERT_THAT(history("dogs"), ElementsAre(post));
  internet.documents[post] = with_status(410);
  items_[dora.id].clear();
  const std::string later = write("later", loop.wall_now());
  come_back();
  ASSERT_THAT(history("dogs"), ElementsAre(later));
  const auto signed_deletion = [&] {
    json::object activity = json::parse_object(delete_text(post, dora.id)).value();
    activity["signature"] = json::object{{"type", "RsaSignature2017"}, {"signatureValue", "c2lnbmF0dXJl"}};
    return json::serialize(activity);
  };
  const auto deliver_deletion = [&](const std::string& deletion) {
    EXPECT_EQ(post_signed(deletion, dora).status, 202);
    settle();
    return std::ranges::count(internet.sent_to(fan.shared_inbox), deletion, &HttpCall::body);
  };
  EXPECT_EQ(deliver_deletion(signed_deletion()), 1);
  EXPECT_EQ(deliver_deletion(signed_deletion()), 0) << "another one";
  EXPECT_THAT(history("dogs"), ElementsAre(later));
}

TEST_F(Outboxes, AreReadBackToWhatIsKnownFromBefore) {
  const std::string oldest = write("oldest", loop.wall_now());
  const std::string known = write("known", loop.wall_now());
  come_back();
  ASSERT_THAT(history("dogs"), UnorderedElementsAre(oldest, known));
  settle(std::chrono::minutes(1));  // away
  const std::string first = write("first", loop.wall_now());
  const std::string second = write("second", loop.wall_now());
  const PostText delivered{.uri = write("delivered", loop.wall_now()), .author = dora.id, .tags = {"dogs"}};
  serve_paged();
  page(1, {delivered.uri, second}, true);
  page(2, {first}, true);
  page(3, {known}, true);
  page(4, {oldest}, false);
  start(config_);
  // Its server still tries to deliver one: that is no end of what was missed.
  deliver(delivered);
  settle(std::chrono::minutes(2));
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(oldest, known, first, second, delivered.uri));
  EXPECT_THAT(internet.sent_to(dora.id + "/outbox?page=3"), SizeIs(1));
  EXPECT_THAT(internet.sent_to(dora.id + "/outbox?page=4"), IsEmpty());
}

TEST_F(Outboxes, ARestartWhileTheyAreReadLosesNothingThatWasMissed) {
  const std::string known = write("known", loop.wall_now());
  come_back();
  EXPECT_THAT(unread(), IsEmpty());
  settle(std::chrono::minutes(1));  // away
  const std::string missed = write("missed", loop.wall_now());
  const PostText delivered{.uri = write("delivered", loop.wall_now()), .author = dora.id, .tags = {"dogs"}};
  page(1, {delivered.uri}, true);
  page(2, {missed}, true);
  page(3, {known}, false);
  internet.documents[dora.id + "/outbox"] = with_status(503);
  start(config_);
  settle(std::chrono::seconds(30));
  deliver(delivered);
  start(config_);  // before it was asked
  come_back();     // and while it is asked again
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(known, delivered.uri));
  serve_paged();
  come_back();
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(known, missed, delivered.uri));
  EXPECT_THAT(unread(), IsEmpty());
}

// None of these is the usual one; each is allowed.
TEST_F(Outboxes, AreReadInWhateverShape) {
  settle(std::chrono::minutes(1));  // away
  std::vector<std::string> posts;
  const auto serve = [&](json::object outbox) {
    outbox["id"] = dora.id + "/outbox";
    internet.serve(dora.id + "/outbox", json::serialize(outbox));
    start(config_);
    settle(std::chrono::minutes(2));
    EXPECT_THAT(history("dogs"), ::testing::UnorderedElementsAreArray(posts));
  };
  const auto page = [&](const char* name, const char* items, json::value item) {
    json::object document = {{"id", dora.id + "/outbox?page=" + name},
                             {"type", "CollectionPage"},
                             {items, json::array{std::move(item)}}};
    internet.serve(dora.id + "/outbox?page=" + name, json::serialize(document));
    return dora.id + "/outbox?page=" + name;
  };
  posts.push_back(write("items", loop.wall_now()));
  serve({{"type", "Collection"},
         {"items", json::array{json::object{{"type", "Create"}, {"object", posts.back()}}}}});
  posts.push_back(write("bare", loop.wall_now()));
  serve({{"type", "OrderedCollection"}, {"orderedItems", json::array{posts.back()}}});
  posts.push_back(write("link", loop.wall_now()));
  serve({{"type", "Collection"},
         {"first",
          json::object{{"type", "Link"},
                       {"href", page("link", "items",
                                     json::object{{"type", "Create"},
                                                  {"object", json::object{{"id", posts.back()}}}})}}}});
  posts.push_back(write("stub", loop.wall_now()));
  serve({{"type", "Collection"},
         {"first", json::object{{"type", "CollectionPage"},
                                {"id", page("stub", "items", json::value(posts.back()))}}}});
}

TEST_F(Outboxes, OfAServerThatAsksToBeLeftAloneAreReadToTheirEndAsSoonAsItMayBeAsked) {
  Author erin = make_author("https://near.example/users/erin");
  befriend(erin);
  settle(std::chrono::minutes(1));  // away
  std::vector<std::string> posts;
  HttpResponse busy = with_status(429);
  busy.headers.set("Retry-After", "600");
  for (int i = 0; i < 40; ++i) {
    posts.push_back(write(std::to_string(i), loop.wall_now()));
    if (i >= 28) answer_until(loop.wall_now() + std::chrono::minutes(10), posts.back(), busy);
  }
  posts.push_back(write_as(erin, "1", loop.wall_now()));
  internet.calls.clear();
  start(config_);
  settle(std::chrono::minutes(9));
  EXPECT_THAT(history("dogs"), SizeIs(29)) << "of others all";
  EXPECT_THAT(internet.sent_to(posts[28]), SizeIs(1));
  EXPECT_THAT(internet.sent_to(posts[29]), IsEmpty());
  settle(std::chrono::minutes(6));
  EXPECT_THAT(history("dogs"), ::testing::UnorderedElementsAreArray(posts));
  EXPECT_THAT(internet.sent_to(posts[0]), SizeIs(1)) << "once";
}

TEST_F(Outboxes, OfAServerThatDoesNotAnswerAfterTheStartAreReadOnceItDoesForADay) {
  settle(std::chrono::minutes(1));  // away
  const std::string missed = write("missed", loop.wall_now());
  const HttpResponse profile = internet.documents[dora.id];
  internet.documents[dora.id] = with_status(503);
  come_back();
  settle(std::chrono::hours(5));
  internet.documents[dora.id] = profile;
  settle(std::chrono::hours(1));
  EXPECT_THAT(history("dogs"), ElementsAre(missed));

  write("later", loop.wall_now());
  internet.documents[dora.id] = with_status(503);
  internet.calls.clear();
  come_back();
  settle(std::chrono::hours(25));
  const std::size_t asked = internet.sent_to(dora.id).size();
  EXPECT_LT(asked, 60U) << "ever more seldom";
  internet.documents[dora.id] = profile;
  settle(std::chrono::hours(2));
  EXPECT_THAT(internet.sent_to(dora.id + "/outbox"), IsEmpty());
}

TEST_F(Outboxes, APostThatItsServerDoesNotShowHoldsUpNoneBehindItAndIsLookedForAgain) {
  settle(std::chrono::minutes(1));  // away
  const std::string broken = write("broken", loop.wall_now());
  const std::string slow = write("slow", loop.wall_now());
  const std::string missed = write("missed", loop.wall_now());
  answer_until(loop.wall_now() + std::chrono::days(9), broken, with_status(500));
  answer_until(loop.wall_now() + std::chrono::hours(1), slow, with_status(502));
  come_back();
  EXPECT_THAT(history("dogs"), ElementsAre(missed));
  settle(std::chrono::hours(3));
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(missed, slow));
  settle(std::chrono::days(1));
  EXPECT_LT(internet.sent_to(broken).size(), 60U);
}

TEST_F(Outboxes, OfManyPostsTheAuthorsProfileIsFetchedOnceUntilItsServerSaysThatItChanged) {
  settle(std::chrono::minutes(1));  // away
  for (int i = 0; i < 20; ++i) write(std::to_string(i), loop.wall_now());
  internet.calls.clear();
  come_back();
  EXPECT_THAT(history("dogs"), SizeIs(20));
  EXPECT_LE(internet.sent_to(dora.id).size(), 2U) << "to find the outbox, and to know the author";

  const auto tell_of = [&](const std::string& name) {
    const json::object create = {
        {"id", dora.id + "#creates/" + name},
        {"type", "Create"},
        {"actor", dora.id},
        {"object", write(name, loop.wall_now())},
    };
    EXPECT_EQ(post_signed(json::serialize(create), dora).status, 202);
    settle();
  };
  tell_of("next");
  const std::size_t asked = internet.sent_to(dora.id).size();
  tell_of("after_that");
  EXPECT_EQ(internet.sent_to(dora.id).size(), asked);
  const json::object update = {{"id", dora.id + "#updates/1"},
                               {"type", "Update"},
                               {"actor", dora.id},
                               {"object", json::parse_object(dora.document()).value()}};
  EXPECT_EQ(post_signed(json::serialize(update), dora).status, 202);
  tell_of("last");
  EXPECT_EQ(internet.sent_to(dora.id).size(), asked + 1);
  EXPECT_THAT(history("dogs"), SizeIs(23));
}

TEST_F(Outboxes, OfTooManyOthersAreReadEachTime) {
  const std::size_t many = publisher::Outboxes::kSourcesMax + 100;
  const auto name = [](std::size_t i) { return fmt::format("https://far.example/groups/{:04}", i); };
  for (std::size_t i = 0; i < many; ++i) {
    const instances::OwnFollow follow{origin + "/tag/dogs", name(i), name(i) + "/inbox",
                                      name(i) + "/follow",  true,    {}};
    EXPECT_TRUE(run(stores->instances.save_own_follow(follow)));
  }
  start(config_);
  internet.calls.clear();
  settle(std::chrono::hours(1));
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < many; ++i) {
    if (!internet.sent_to(name(i)).empty()) asked.push_back(i);
  }
  EXPECT_THAT(asked, ::testing::AnyOf(SizeIs(publisher::Outboxes::kSourcesMax),
                                      SizeIs(publisher::Outboxes::kSourcesMax - 1)))
      << "and maybe the person";
  EXPECT_GT(asked.back(), publisher::Outboxes::kSourcesMax + 50);
}

TEST_F(Outboxes, AreReadWhenTheNodeIsBackOnItsRingFromWhichItWasCutOff) {
  bool is_cut_off = false;
  const ring::Contact self = node->rings().of(Ring::kRelay).vservers().front()->self();
  ring::Contact other;
  other.host = "tags.other.example";
  other.address = *IpAddress::parse("2001:db8:2::1");
  other.incarnation = 1;
  other.id =
      ring::make_node_id(ring::IdScheme::kSpread, other.address.prefix64(), "other.example", other.vserver);
  const std::string path(overlay::RingService::kPath);
  internet.answers[other.origin() + path] = [&](const HttpCall& call) -> Result<HttpResponse> {
    if (is_cut_off) return fail(ErrorCode::kTimedOut, "no answer");
    ring::Reply reply = ring::Done{};
    const ring::Envelope asked = ring::decode_envelope(call.body).value();
    if (std::holds_alternative<ring::GetNeighbours>(asked.request.body))
      reply = ring::Neighbours{self, {self}};
    HttpResponse answer = with_status(200, ring::encode(reply));
    answer.headers.set("Content-Type", "application/json");
    return answer;
  };
  const auto meet = [&] {
    is_cut_off = false;
    const ring::Envelope envelope{"tagring", self.id, self.incarnation, {Ring::kRelay, ring::Notify{other}}};
    HttpRequest request;
    request.method = "POST";
    request.target = path;
    request.headers = {{"Host", "tags.home.example"}, {"Content-Type", "application/json"}};
    request.body = ring::encode(envelope);
    EXPECT_EQ(ask(std::move(request)).status, 200);
    settle(std::chrono::minutes(1));
    EXPECT_TRUE(node->rings().is_among_others());
  };
  const auto cut_off = [&](Duration duration) {
    is_cut_off = true;
    settle(duration);
    EXPECT_FALSE(node->rings().is_among_others());
  };
  meet();
  settle(std::chrono::minutes(2));
  const std::string missed = write("missed", loop.wall_now());
  cut_off(std::chrono::minutes(1));
  meet();
  settle(std::chrono::minutes(3));
  EXPECT_THAT(history("dogs"), IsEmpty()) << "servers try again for longer";
  cut_off(std::chrono::minutes(5));
  EXPECT_THAT(history("dogs"), IsEmpty());
  meet();
  settle(std::chrono::minutes(3));
  EXPECT_THAT(history("dogs"), ElementsAre(missed));
  EXPECT_THAT(unread(), IsEmpty());
  // A reading may come to its end while the node is cut off again.
  HttpResponse& outbox = internet.documents[dora.id + "/outbox"];
  outbox = with_status(503);
  cut_off(std::chrono::minutes(5));
  meet();
  settle(std::chrono::minutes(3));
  EXPECT_THAT(unread(), SizeIs(1));
  cut_off(std::chrono::minutes(2));
  outbox = with_status(404);
  settle(std::chrono::minutes(20));
  EXPECT_THAT(unread(), SizeIs(1)) << "for who starts it before it is back";
  const std::string later = write("later", loop.wall_now());
  meet();
  settle(std::chrono::minutes(3));
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(missed, later));
  EXPECT_THAT(unread(), IsEmpty());
}

TEST_F(Outboxes, AreReadWhenTheNodeCanWriteAgainAfterItCouldNot) {
  machine = &disk;
  const std::string known = write("known", loop.wall_now());
  come_back();
  ASSERT_THAT(history("dogs"), ElementsAre(known));
  disk.is_full = true;
  settle(std::chrono::minutes(1));
  const std::string missed = write("missed", loop.wall_now());
  disk.is_full = false;
  settle(std::chrono::minutes(3));
  EXPECT_THAT(history("dogs"), ElementsAre(known)) << "servers try again for longer";
  EXPECT_THAT(unread(), IsEmpty());
  disk.is_full = true;
  settle(std::chrono::minutes(30));
  EXPECT_THAT(history("dogs"), ElementsAre(known));
  disk.is_full = false;
  settle(std::chrono::minutes(3));
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(known, missed));
  EXPECT_THAT(unread(), IsEmpty());
}

TEST_F(Outboxes, AreReadBackToWhatWasKnownBeforeTheMachineSlept) {
  const std::string known = write("known", loop.wall_now());
  come_back();
  ASSERT_THAT(history("dogs"), ElementsAre(known));
  settle(std::chrono::minutes(1));
  clock.sleep(std::chrono::hours(6));
  const std::string missed = write("missed", clock.wall_now() - std::chrono::hours(1));
  const PostText delivered{.uri = write("delivered", clock.wall_now()), .author = dora.id, .tags = {"dogs"}};
  serve_paged();
  page(1, {delivered.uri}, true);
  page(2, {missed}, true);
  page(3, {known}, false);
  deliver(delivered);
  settle(std::chrono::minutes(3));
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(known, missed, delivered.uri));
}

// As Mastodon and Misskey show their posts.
TEST_F(Outboxes, OfPostsThatAreShownWholeThoseAreNotFetchedThatCouldNotBePublished) {
  settle(std::chrono::minutes(1));  // away
  const auto show = [&](const std::string& name, const std::function<void(json::object&)>& change) {
    const std::string uri = write(name, loop.wall_now());
    json::object note = json::parse_object(internet.documents[uri].body).value();
    change(note);
    items_[dora.id].back().as_object()["object"] = note;
    return uri;
  };
  const auto without_hashtags = [](json::object& note) { note["tag"] = json::array(); };
  const std::string good = show("good", [](json::object&) {});
  const std::string plain = show("plain", without_hashtags);
  const std::string unlisted = show("unlisted", [&](json::object& note) {
    note["to"] = dora.id + "/followers";
    note["cc"] = kEverybody;
  });
  const std::string in_part = show("in_part", [&](json::object& note) {
    without_hashtags(note);
    note.erase("to");
  });
  const std::string last = write("last", loop.wall_now());
  internet.calls.clear();
  come_back();
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(good, in_part, last));
  EXPECT_THAT(internet.sent_to(plain), IsEmpty());
  EXPECT_THAT(internet.sent_to(unlisted), IsEmpty());
  // Its own server is asked about what is known.
  json::object note = json::parse_object(internet.documents[good].body).value();
  without_hashtags(note);
  items_[dora.id][0].as_object()["object"] = note;
  note["updated"] = to_rfc3339(loop.wall_now());
  internet.serve(good, json::serialize(note));
  const std::string later = write("later", loop.wall_now());
  come_back();
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(in_part, last, later));
}

// --- people of instances that have the node as a relay -----------------------------------------------------

TEST_F(Outboxes, OfPeopleOfInstancesAreReadAfterADayAndNotAfterAnHour) {
  const Author erin = add_author("https://social.example/users/erin");
  write_as(erin, "old", loop.wall_now() - std::chrono::hours(1));  // from before the instance came
  add_instance("social.example");
  const std::string known = publish_as(erin, "known");
  ASSERT_THAT(history("dogs"), ElementsAre(known));
  const std::string early = write_as(erin, "early", loop.wall_now());
  be_away(std::chrono::hours(1));
  internet.calls.clear();
  come_back();
  EXPECT_THAT(internet.sent_to(erin.id + "/outbox"), IsEmpty()) << "its server tries for longer";
  be_away(publisher::Outboxes::kInstancesTry);
  const std::string late = write_as(erin, "late", loop.wall_now());
  come_back();
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(known, early, late));
  EXPECT_THAT(unread(), IsEmpty());
  const std::size_t fetched = internet.sent_to(late).size();
  come_back();
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(known, early, late));
  EXPECT_THAT(internet.sent_to(late), SizeIs(fetched));
}

TEST_F(Outboxes, OfPeopleOfInstancesAreReadWhereTheMachineSleptForADay) {
  const Author erin = add_author("https://social.example/users/erin");
  add_instance("social.example");
  const std::string known = publish_as(erin, "known");
  clock.sleep(std::chrono::hours(6));
  const std::string missed = write_as(erin, "missed", clock.wall_now());
  settle(std::chrono::minutes(3));
  EXPECT_THAT(history("dogs"), ElementsAre(known));
  clock.sleep(publisher::Outboxes::kInstancesTry);
  settle(std::chrono::minutes(3));
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(known, missed));
}

TEST_F(Outboxes, OfPeopleOfInstancesARestartWhileTheyAreReadLosesNothing) {
  const Author erin = add_author("https://social.example/users/erin");
  add_instance("social.example");
  const std::string known = publish_as(erin, "known");
  be_away(std::chrono::hours(30));
  const std::string missed = write_as(erin, "missed", loop.wall_now());
  const std::string delivered = write_as(erin, "delivered", loop.wall_now());
  const HttpResponse outbox = std::exchange(internet.documents[erin.id + "/outbox"], with_status(503));
  start(config_);
  settle(std::chrono::seconds(30));
  // Its server still tries to, with this one.
  deliver({.uri = delivered, .author = erin.id, .tags = {"dogs"}}, erin);
  start(config_);  // before it was asked
  come_back();     // and while it is asked again
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(known, delivered));
  EXPECT_THAT(unread(), SizeIs(1));
  internet.documents[erin.id + "/outbox"] = outbox;
  come_back();
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(known, missed, delivered));
  EXPECT_THAT(unread(), IsEmpty());
}

TEST_F(Outboxes, OfPeopleOfInstancesAreReadOnceTheDatabaseThatFailedAnswersAgain) {
  machine = &disk;
  const Author erin = add_author("https://social.example/users/erin");
  add_instance("social.example");
  const std::string known = publish_as(erin, "known");
  be_away(std::chrono::hours(30));
  const std::string missed = write_as(erin, "missed", loop.wall_now());
  start(config_);
  settle(std::chrono::seconds(30));
  execute("ALTER TABLE posts RENAME TO posts_elsewhere");
  settle(std::chrono::seconds(45));
  EXPECT_THAT(log_lines, ::testing::Contains(::testing::HasSubstr("outboxes_unread")));
  disk.is_full = true;
  settle(std::chrono::seconds(40));
  disk.is_full = false;
  settle(std::chrono::minutes(1));
  EXPECT_THAT(unread(), SizeIs(1)) << "who was away for a moment has still missed it";
  execute("ALTER TABLE posts_elsewhere RENAME TO posts");
  settle(std::chrono::minutes(3));
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(known, missed));
  EXPECT_THAT(unread(), IsEmpty());
}

TEST_F(Outboxes, OfPeopleOfInstancesAreReadAlsoIfItCouldNotBeWrittenDownSinceWhenTheyAreMissed) {
  machine = &disk;
  const Author erin = add_author("https://social.example/users/erin");
  add_instance("social.example");
  const std::string known = publish_as(erin, "known");
  be_away(std::chrono::hours(30));
  const std::string missed = write_as(erin, "missed", loop.wall_now());
  const HttpResponse outbox = std::exchange(internet.documents[erin.id + "/outbox"], with_status(503));
  disk.is_full = true;
  start(config_);
  execute("DELETE FROM counters WHERE name LIKE 'outboxes%'");
  settle(std::chrono::minutes(10));
  disk.is_full = false;
  settle(std::chrono::minutes(3));
  EXPECT_THAT(history("dogs"), ElementsAre(known));
  internet.documents[erin.id + "/outbox"] = outbox;
  settle(std::chrono::minutes(40));
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(known, missed));
  EXPECT_THAT(unread(), IsEmpty());
}

// It is asked after one, two and four minutes.
TEST_F(Outboxes, AReadingThatEndsWhileTheNodeComesBackIsNotReadAgain) {
  machine = &disk;
  internet.documents[dora.id] = with_status(503);
  come_back();
  disk.is_full = true;
  settle(std::chrono::minutes(1));
  EXPECT_THAT(unread(), SizeIs(1));
  disk.is_full = false;
  internet.documents[dora.id] = with_status(404);
  database_pause = std::chrono::minutes(5);
  settle(std::chrono::minutes(7));
  database_pause = Duration::zero();
  settle(std::chrono::minutes(5));
  EXPECT_THAT(unread(), IsEmpty());
}

TEST_F(Outboxes, WhatANodeMissesThatGoesAwayWhileAReadingEndsIsStillKnown) {
  machine = &disk;
  const Author erin = add_author("https://social.example/users/erin");
  add_instance("social.example");
  publish_as(erin, "known");
  internet.documents[dora.id] = with_status(503);
  come_back();
  EXPECT_THAT(unread(), SizeIs(1));
  settle(std::chrono::minutes(1));
  internet.documents[dora.id] = with_status(404);
  database_pause = std::chrono::minutes(5);
  settle(std::chrono::seconds(80));  // it is over
  database_pause = Duration::zero();
  disk.is_full = true;
  settle(std::chrono::minutes(1));
  EXPECT_THAT(unread(), SizeIs(2));
  settle(std::chrono::minutes(6));
  EXPECT_THAT(unread(), SizeIs(2)) << "also of people of instances";
}

TEST_F(Outboxes, OfPeopleOfInstancesAreReadOnceWhereTheDatabaseIsSlow) {
  const Author erin = add_author("https://social.example/users/erin");
  add_instance("social.example");
  const std::string known = publish_as(erin, "known");
  settle(std::chrono::minutes(1));
  clock.sleep(publisher::Outboxes::kInstancesTry);
  const std::string missed = write_as(erin, "missed", clock.wall_now());
  internet.calls.clear();
  database_pause = std::chrono::seconds(95);
  settle(std::chrono::minutes(12));
  database_pause = Duration::zero();
  settle(std::chrono::minutes(5));
  EXPECT_THAT(internet.sent_to(erin.id + "/outbox"), SizeIs(1)) << "that it takes long is no absence";
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(known, missed));
}

TEST_F(Outboxes, OfPeopleOfInstancesAreReadIfItIsNotKnownSinceWhenTheyAreMissed) {
  const Author erin = add_author("https://social.example/users/erin");
  add_instance("social.example");
  const std::string known = publish_as(erin, "known");
  const auto people = delivery::Store::KnownOf::kPeopleOfInstances;
  EXPECT_TRUE(run(stores->relay.save_known_until(people, WallTime::min())));
  be_away(std::chrono::minutes(10));
  const std::string missed = write_as(erin, "missed", loop.wall_now());
  come_back();
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(known, missed));
  EXPECT_THAT(unread(), IsEmpty());
}

TEST_F(Outboxes, OfPeopleOfInstancesAShortRestartReadsNoneWhoeverElseDoesNotAnswer) {
  const Author erin = add_author("https://social.example/users/erin");
  const Author dead = add_author("https://dead.example/users/erin");
  add_instance("social.example");
  add_instance("dead.example");
  publish_as(erin, "known");
  publish_as(dead, "known");
  be_away(std::chrono::hours(30));
  const std::string late = write_as(erin, "late", loop.wall_now());
  internet.documents[dora.id] = with_status(503);  // whom the node follows
  internet.documents[dead.id] = with_status(503);
  come_back();
  EXPECT_THAT(history("dogs"), ::testing::Contains(late));
  EXPECT_THAT(unread(), SizeIs(2));
  settle(publisher::Outboxes::kPeopleAgain);
  EXPECT_THAT(unread(), SizeIs(1)) << "of the person";
  internet.calls.clear();
  come_back();
  EXPECT_THAT(internet.sent_to(dora.id), ::testing::Not(IsEmpty()));
  EXPECT_THAT(internet.sent_to(erin.id + "/outbox"), IsEmpty());
  EXPECT_THAT(internet.sent_to(dead.id), IsEmpty());
}

TEST_F(Outboxes, OfPeopleOfAnInstanceThatFollowsAgainAreReadBackToItsFirstFollow) {
  const Author erin = add_author("https://social.example/users/erin");
  const Author instance = add_instance("social.example");
  const std::string known = publish_as(erin, "known");
  be_away(std::chrono::hours(30));
  const std::string missed = write_as(erin, "missed", loop.wall_now());
  settle(std::chrono::minutes(1));
  start(config_);
  EXPECT_EQ(post_signed(follow_text(instance, {kEverybody}), instance).status, 202);
  settle(std::chrono::minutes(2));
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(known, missed));
}

TEST_F(Outboxes, OfPeopleOfAnInstanceAreReadAlsoWhileAFollowThatItRepeatsIsNotAnswered) {
  const Author erin = add_author("https://social.example/users/erin");
  const Author instance = add_instance("social.example");
  const std::string known = publish_as(erin, "known");
  be_away(std::chrono::hours(30));
  const std::string missed = write_as(erin, "missed", loop.wall_now());
  const HttpResponse outbox = std::exchange(internet.documents[erin.id + "/outbox"], with_status(503));
  come_back();
  execute("ALTER TABLE letters RENAME TO letters_elsewhere");
  EXPECT_GE(post_signed(follow_text(instance, {kEverybody}), instance).status, 500);
  execute("ALTER TABLE letters_elsewhere RENAME TO letters");
  internet.documents[erin.id + "/outbox"] = outbox;
  settle(std::chrono::minutes(10));
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(known, missed));
}

TEST_F(Outboxes, OfPeopleOfInstancesWhoAreNotWelcomeOrHaveLeftNoneIsRead) {
  std::map<std::string, Author> authors;
  std::map<std::string, Author> instances;
  for (const char* name : {"good", "left", "denied", "blocked", "waiting"}) {
    const std::string host = std::string(name) + ".example";
    authors.emplace(name, add_author("https://" + host + "/users/erin"));
    instances.emplace(name, add_instance(host));
    publish_as(authors.at(name), "known");
  }
  const Author banned = add_author("https://good.example/users/banned");
  const Author refuser = add_author("https://good.example/users/refuser");
  publish_as(banned, "of_banned");
  publish_as(refuser, "of_refuser");
  EXPECT_EQ(post_signed(undo_follow_text(instances.at("left"), {kEverybody}), instances.at("left")).status,
            202);
  admin("/instances/permit", {{"host", "denied.example"}, {"publishes", false}, {"receives", true}});
  admin("/blocks/add", {{"kind", "domain"}, {"what", "blocked.example"}, {"reason", "spam"}});
  admin("/blocks/add", {{"kind", "author"}, {"what", banned.id}, {"reason", "spam"}});
  const json::object block = {{"id", refuser.id + "/blocks/1"},
                              {"type", "Block"},
                              {"actor", refuser.id},
                              {"object", origin + "/actor"}};
  EXPECT_EQ(post_signed(json::serialize(block), refuser).status, 202);
  settle();
  be_away(std::chrono::hours(30));
  const std::string late = write_as(authors.at("good"), "late", loop.wall_now());
  for (const char* name : {"left", "denied", "blocked"}) write_as(authors.at(name), "late", loop.wall_now());
  // It leaves while its server does not answer.
  const std::string waiting = authors.at("waiting").id + "/outbox";
  const HttpResponse outbox = std::exchange(internet.documents[waiting], with_status(503));
  internet.calls.clear();
  come_back();
  EXPECT_THAT(history("dogs"), ::testing::Contains(late));
  for (const char* name : {"left", "denied", "blocked"})
    EXPECT_THAT(internet.sent_to(authors.at(name).id + "/outbox"), IsEmpty()) << name;
  EXPECT_THAT(internet.sent_to(banned.id + "/outbox"), IsEmpty());
  EXPECT_THAT(internet.sent_to(refuser.id + "/outbox"), IsEmpty());
  EXPECT_THAT(internet.sent_to(waiting), ::testing::Not(IsEmpty()));
  const Author& leaver = instances.at("waiting");
  EXPECT_EQ(post_signed(undo_follow_text(leaver, {kEverybody}), leaver).status, 202);
  internet.documents[waiting] = outbox;
  internet.calls.clear();
  settle(std::chrono::hours(2));
  EXPECT_THAT(internet.sent_to(waiting), IsEmpty());
  EXPECT_THAT(unread(), IsEmpty());
}

TEST_F(Outboxes, OfPeopleOfInstancesThoseAreReadWhoPublishedLastAndNoMoreThanThat) {
  const std::size_t many = publisher::Outboxes::kAuthorsOfHostMax + 20;
  add_instance("social.example");
  const auto name = [](std::size_t i) { return fmt::format("https://social.example/users/{:04}", i); };
  const WallTime now = loop.wall_now();
  be_away(std::chrono::hours(30));
  const auto know_post_of = [&](const std::string& author, WallTime published) {
    serve_with_outbox({.id = author, .key = dora.key, .inbox = author + "/inbox"});
    const delivery::PublishedPost post{author + "/notes/1", author, published, {Tag::parse("dogs").value()}};
    const auto owed = run(stores->relay.publish(post, 1));
    EXPECT_TRUE(run(stores->relay.acknowledge({{owed.value().at(0).seq, 1}})));
  };
  for (std::size_t i = 0; i < many; ++i) know_post_of(name(i), now - std::chrono::minutes(i));
  const std::string idle = "https://social.example/users/idle";
  know_post_of(idle, now - std::chrono::days(8));
  internet.calls.clear();
  start(config_);
  settle(std::chrono::minutes(30));
  std::size_t asked = 0;
  for (std::size_t i = 0; i < many; ++i) asked += internet.sent_to(name(i) + "/outbox").empty() ? 0 : 1;
  EXPECT_EQ(asked, publisher::Outboxes::kAuthorsOfHostMax);
  EXPECT_THAT(internet.sent_to(name(many - 1) + "/outbox"), IsEmpty()) << "who published longest ago";
  EXPECT_THAT(internet.sent_to(idle + "/outbox"), IsEmpty());
}

TEST_F(Outboxes, OfWhomTheNodeDoesNotFollowNothingIsRead) {
  const std::string post = write("1", loop.wall_now());
  EXPECT_EQ(post_signed(undo_follow_text(dora, {origin + "/actor"}), dora).status, 202);
  internet.calls.clear();
  come_back();
  EXPECT_THAT(history("dogs"), IsEmpty());
  EXPECT_THAT(internet.sent_to(dora.id + "/outbox"), IsEmpty());
}

}  // namespace
}  // namespace tagring::node
