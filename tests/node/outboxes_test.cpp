// What people wrote while the node was away for longer than their servers try.
#include "publisher/outboxes.hpp"

#include "node/fixture.hpp"

namespace tagring::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class Outboxes : public NodeTest {
 protected:
  Outboxes() {
    config_.people = true;
    start(config_);
    json::object document = json::parse_object(dora.document()).value();
    document["outbox"] = dora.id + "/outbox";
    internet.serve(dora.id, json::serialize(document));
    EXPECT_EQ(post_signed(follow_text(dora, {origin + "/actor"}), dora).status, 202);
    settle();
    const json::object accept = {{"id", dora.id + "/accepts/1"},
                                 {"type", "Accept"},
                                 {"actor", dora.id},
                                 {"object", internet.posted_to(dora.inbox).back()}};
    EXPECT_EQ(post_signed(json::serialize(accept), dora).status, 202);
    settle(std::chrono::minutes(2));
  }
  // In the outbox, as GoToSocial writes it (seen with 0.20): Create with the id of the post.
  std::string write(const std::string& name, WallTime published,
                    const std::string& to = "https://www.w3.org/ns/activitystreams#Public") {
    const PostText post{.uri = "https://far.example/notes/" + name,
                        .author = dora.id,
                        .tags = {"dogs"},
                        .to = json::value(to)};
    json::object note = note_object(post);
    note["published"] = to_rfc3339(published);
    internet.serve(post.uri, json::serialize(note));
    items_.push_back(json::object{
        {"id", post.uri + "#create"}, {"type", "Create"}, {"actor", dora.id}, {"object", post.uri}});
    internet.serve(dora.id + "/outbox",
                   json::serialize(json::object{{"id", dora.id + "/outbox"},
                                                {"type", "OrderedCollection"},
                                                {"first", dora.id + "/outbox?page=true"}}));
    internet.serve(dora.id + "/outbox?page=true",
                   json::serialize(json::object{{"id", dora.id + "/outbox?page=true"},
                                                {"type", "OrderedCollectionPage"},
                                                {"orderedItems", items_}}));
    return post.uri;
  }
  void come_back() {
    start(config_);
    settle(std::chrono::minutes(2));
  }

  Author dora = make_author("https://far.example/users/dora");
  config::Config config_ = config();
  json::array items_;
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

TEST_F(Outboxes, AreReadBackToWhatIsKnownFromBefore) {
  const auto page = [&](int number, const std::vector<std::string>& posts, bool more) {
    json::array items;
    for (const std::string& uri : posts)
      items.push_back(
          json::object{{"id", uri + "#create"}, {"type", "Create"}, {"actor", dora.id}, {"object", uri}});
    json::object document = {{"id", fmt::format("{}/outbox?page={}", dora.id, number)},
                             {"type", "OrderedCollectionPage"},
                             {"orderedItems", std::move(items)}};
    if (more) document["next"] = fmt::format("{}/outbox?page={}", dora.id, number + 1);
    internet.serve(json::id_of(document), json::serialize(document));
  };
  const std::string oldest = write("oldest", loop.wall_now());
  const std::string known = write("known", loop.wall_now());
  come_back();
  ASSERT_THAT(history("dogs"), UnorderedElementsAre(oldest, known));
  settle(std::chrono::minutes(1));  // away
  const std::string first = write("first", loop.wall_now());
  const std::string second = write("second", loop.wall_now());
  const PostText delivered{.uri = write("delivered", loop.wall_now()), .author = dora.id, .tags = {"dogs"}};
  internet.serve(dora.id + "/outbox", json::serialize(json::object{{"id", dora.id + "/outbox"},
                                                                   {"type", "OrderedCollection"},
                                                                   {"first", dora.id + "/outbox?page=1"}}));
  page(1, {delivered.uri, second}, true);
  page(2, {first}, true);
  page(3, {known}, true);
  page(4, {oldest}, false);
  start(config_);
  // Its server still tries to deliver one: that is no end of what was missed.
  json::object create = json::parse_object(create_text(delivered)).value();
  create["object"].as_object()["published"] = to_rfc3339(loop.wall_now());
  EXPECT_EQ(post_signed(json::serialize(create), dora).status, 202);
  settle(std::chrono::minutes(2));
  EXPECT_THAT(history("dogs"), UnorderedElementsAre(oldest, known, first, second, delivered.uri));
  EXPECT_THAT(internet.sent_to(dora.id + "/outbox?page=3"), SizeIs(1));
  EXPECT_THAT(internet.sent_to(dora.id + "/outbox?page=4"), IsEmpty());
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
