// Posts that are not brought by their authors: given by their URIs, or announced by groups. They are taken as
// their own servers give them. And posts of authors whose servers use the node otherwise than Mastodon.
#include <algorithm>
#include <fmt/format.h>

#include "node/fixture.hpp"

namespace tagring::node {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ToldPosts : public NodeTest {
 protected:
  Author alice = make_author("https://home.example/users/alice");
  Author group = make_group("https://home.example/category/2");
  PostText post{.uri = "https://home.example/notes/1", .author = alice.id, .tags = {"cats"}};

  Author make_group(const std::string& id) {
    Author author = make_author(id);
    author.type = "Group";
    internet.serve(author);
    return author;
  }
  void serve() { internet.serve(post.uri, json::serialize(note_object(post))); }
  static std::string activity(const std::string& type, const std::string& actor, const json::value& object) {
    static int count = 0;
    return json::serialize(json::object{{"@context", "https://www.w3.org/ns/activitystreams"},
                                        {"id", fmt::format("{}#activity/{}", actor, ++count)},
                                        {"type", type},
                                        {"actor", actor},
                                        {"object", object}});
  }
  static std::string activity(const std::string& type, const std::string& actor, const std::string& uri) {
    return activity(type, actor, json::value(uri));
  }
  std::string announce(const std::string& type, const json::value& object) {
    return activity(
        "Announce", group.id,
        json::object{{"id", alice.id + "#1"}, {"type", type}, {"actor", alice.id}, {"object", object}});
  }
  std::string announce(const std::string& type, const std::string& uri) {
    return announce(type, json::value(uri));
  }
  HttpResponse bring(const std::string& text, const Author& sender) {
    HttpResponse response = post_signed(text, sender);
    settle();
    return response;
  }
  HttpResponse ask_node(const std::string& path, const json::object& body) {
    HttpResponse response = control(path, json::serialize(body));
    settle();
    return response;
  }
  std::vector<std::string> types_at(const std::string& inbox) {
    std::vector<std::string> types;
    for (const json::object& sent : internet.posted_to(inbox)) types.push_back(json::id_of(sent, "type"));
    return types;
  }
  void permit(const std::string& host, bool publishes) {
    const json::object body = {{"host", host}, {"publishes", publishes}, {"receives", false}};
    EXPECT_EQ(ask_node("/instances/permit", body).status, 200);
  }
};

TEST_F(ToldPosts, ACreateThatNamesItsPostIsLookedUp) {
  serve();
  EXPECT_EQ(bring(activity("Create", alice.id, post.uri), alice).status, 202);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  post.tags = {"dogs"};
  serve();
  EXPECT_EQ(bring(activity("Update", alice.id, json::value(json::array{post.uri})), alice).status, 202);
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(history("dogs"), ElementsAre(post.uri));
  post.to = json::value(alice.id + "/followers");
  serve();
  EXPECT_EQ(bring(activity("Update", alice.id, post.uri), alice).status, 202);
  EXPECT_THAT(history("dogs"), IsEmpty()) << "it is not public any more";
}

// [Mastodon answers for three minutes from a cache, whatever has changed]
TEST_F(ToldPosts, WhatACacheMayHaveShownIsLookedAtOnceMoreAlsoAfterARestart) {
  serve();
  EXPECT_EQ(bring(activity("Create", alice.id, post.uri), alice).status, 202);
  EXPECT_EQ(bring(activity("Update", alice.id, post.uri), alice).status, 202);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri)) << "as it was";
  post.tags = {"dogs"};
  serve();
  start(config());
  settle(std::chrono::minutes(6));
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(history("dogs"), ElementsAre(post.uri));
  EXPECT_THAT(rows("SELECT uri FROM put_off"), IsEmpty());
  EXPECT_THAT(bring(announce("Delete", post.uri), group).body, HasSubstr("still there"));
  internet.calls.clear();
  internet.serve(post.uri, R"({"type":"Tombstone","id":")" + post.uri + R"("})");
  settle(std::chrono::minutes(6));
  EXPECT_THAT(history("dogs"), IsEmpty());
  EXPECT_THAT(rows("SELECT uri FROM put_off"), IsEmpty());
  EXPECT_THAT(internet.sent_to(post.uri), SizeIs(1)) << "not again and again";
}

TEST_F(ToldPosts, WhatACacheMayHaveShownTurnsBackNoEdit) {
  serve();
  internet.documents[post.uri].headers.add("Cache-Control", "max-age=180, public");
  EXPECT_EQ(bring(create_text(post), alice).status, 202);
  post.tags = {"dogs"};
  json::object update = json::parse_object(update_text(post)).value();
  update["object"].as_object()["updated"] = to_rfc3339(loop.wall_now());
  EXPECT_EQ(bring(json::serialize(update), alice).status, 202);
  EXPECT_EQ(bring(activity("Update", alice.id, post.uri), alice).status, 202);
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(history("dogs"), ElementsAre(post.uri));
}

// [Mastodon tells of votes by an Update, without `updated` until the poll is edited]
TEST_F(ToldPosts, VotesThatComeLateTurnBackNoEdit) {
  const auto poll = [&](const std::string& type, std::optional<WallTime> updated = {}) {
    json::object text = json::parse_object(create_text(post, type)).value();
    json::object& note = text["object"].as_object();
    note["type"] = "Question";
    if (updated) note["updated"] = to_rfc3339(*updated);
    return text;
  };
  const auto tell = [&](const json::object& text) { return bring(json::serialize(text), alice); };
  tell(poll("Create"));
  tell(poll("Update"));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  const json::object votes = poll("Update");
  post.tags = {"dogs"};
  const json::object edit = poll("Update", loop.wall_now());
  tell(edit);
  internet.serve(post.uri, json::serialize(edit.at("object")));
  internet.calls.clear();
  EXPECT_THAT(tell(votes).body, HasSubstr("looked at again"));
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(history("dogs"), ElementsAre(post.uri));
  settle(std::chrono::minutes(6));
  EXPECT_THAT(internet.sent_to(post.uri), SizeIs(1));
  EXPECT_THAT(rows("SELECT uri FROM put_off"), IsEmpty());
  EXPECT_THAT(history("dogs"), ElementsAre(post.uri));
  // Nor do they publish what had lost its hashtags before it came here.
  post.uri = "https://home.example/notes/2";
  const json::object early_votes = poll("Update");
  post.tags = {};
  tell(poll("Update", loop.wall_now()));
  tell(early_votes);
  EXPECT_THAT(history("dogs"), ElementsAre("https://home.example/notes/1"));
}

// [Mastodon tells so that a quote was accepted, or may be: without `updated` until the post is edited]
TEST_F(ToldPosts, AnUpdateThatWasMadeBeforeAnEditAndComesAfterItTurnsItBackNot) {
  const auto tell = [&](const json::object& text) { return bring(json::serialize(text), alice).body; };
  const auto update = [&] {
    json::object text = json::parse_object(update_text(post)).value();
    text["published"] = to_rfc3339(loop.wall_now());
    return text;
  };
  const auto edit = [&] {
    json::object text = update();
    text["object"].as_object()["updated"] = text["published"];
    internet.serve(post.uri, json::serialize(text.at("object")));
    return text;
  };
  int number = 1;
  for (const bool is_withdrawn : {false, true}) {
    post = {.uri = fmt::format("https://home.example/notes/{}", ++number),
            .author = alice.id,
            .tags = {"cats", "dogs"}};
    bring(create_text(post), alice);
    const json::object accepted = update();
    settle(std::chrono::minutes(1));
    post.tags = {"cats"};
    if (is_withdrawn) post.to = json::value(alice.id + "/followers");
    tell(edit());
    EXPECT_THAT(tell(accepted), HasSubstr("looked at again"));
    settle(std::chrono::minutes(6));
    EXPECT_THAT(history("dogs"), IsEmpty());
    EXPECT_THAT(history("cats"), ElementsAre("https://home.example/notes/2"));
    EXPECT_THAT(rows("SELECT uri FROM put_off"), IsEmpty());
  }
  // Nor does it publish what had lost its hashtags before it came here.
  post = {.uri = "https://home.example/notes/4", .author = alice.id, .tags = {"dogs"}};
  const json::object early = update();
  settle(std::chrono::minutes(1));
  post.tags = {};
  tell(edit());
  tell(early);
  EXPECT_THAT(history("dogs"), IsEmpty());
  // What was made later counts at once.
  post = {.uri = "https://home.example/notes/5", .author = alice.id, .tags = {"dogs", "emus"}};
  bring(create_text(post), alice);
  for (const std::vector<std::string>& tags : {std::vector<std::string>{"dogs"}, {"emus"}}) {
    settle(std::chrono::minutes(1));
    post.tags = tags;
    tell(update());
    EXPECT_THAT(rows("SELECT tags FROM posts WHERE uri LIKE '%/5'"), ElementsAre(tags.front()));
  }
}

// Of edits that name no time the node's own counts, which is later than all that was made before they came.
TEST_F(ToldPosts, WhatWasTakenOutAndPutBackWhileTheNodeWasAwayIsUnderItsHashtagAgain) {
  const auto edit = [&](std::vector<std::string> tags) {
    post.tags = std::move(tags);
    json::object text = json::parse_object(update_text(post)).value();
    text["published"] = to_rfc3339(loop.wall_now());
    serve();
    settle(std::chrono::minutes(1));
    return json::serialize(text);
  };
  bring(create_text(post), alice);
  const std::string taken_out = edit({});
  const std::string put_back = edit({"cats"});
  bring(taken_out, alice);
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(bring(put_back, alice).body, HasSubstr("looked at again"));
  settle(std::chrono::minutes(6));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  EXPECT_THAT(rows("SELECT uri FROM put_off"), IsEmpty());
}

TEST_F(ToldPosts, WhatHasNotChangedIsLookedAtOnlyOnceMore) {
  serve();
  EXPECT_EQ(bring(activity("Create", alice.id, post.uri), alice).status, 202);
  EXPECT_EQ(bring(activity("Update", alice.id, post.uri), alice).status, 202);
  internet.calls.clear();
  settle(std::chrono::minutes(30));
  EXPECT_THAT(internet.sent_to(post.uri), SizeIs(1));
  EXPECT_THAT(rows("SELECT uri FROM put_off"), IsEmpty());
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
}

// Nobody tells this node of her profile: her server brings nothing here itself.
TEST_F(ToldPosts, WhatTheProfileSaysNowCountsForThePostThatItIsFetchedFor) {
  const Author fan = make_author("https://far.example/users/fan", "https://far.example/inbox");
  EXPECT_EQ(post_signed(follow_text(fan, {origin + "/tag/cats"}), fan).status, 202);
  const auto announced = [&](const std::string& uri) {
    return std::ranges::count_if(
        internet.posted_to("https://far.example/inbox"), [&](const json::object& sent) {
          return json::id_of(sent, "type") == "Announce" && json::id_of(sent, "object") == uri;
        });
  };
  const auto write = [&](const std::string& name) {
    post.uri = "https://home.example/notes/" + name;
    serve();
    return bring(announce("Create", post.uri), group).body;
  };
  write("willing");
  EXPECT_EQ(announced(post.uri), 1);
  settle(std::chrono::days(1));
  alice.indexable = false;
  internet.serve(alice);
  write("not_for_the_archive");
  EXPECT_EQ(announced(post.uri), 1);
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(rows("SELECT tie FROM history"), SizeIs(1)) << "of the one before, which was taken out";
  for (const bool is_restarted : {false, true}) {
    alice.summary = "";
    internet.serve(alice);
    settle(std::chrono::days(1));
    write(is_restarted ? "third" : "second");
    EXPECT_EQ(announced(post.uri), 1);
    settle(std::chrono::days(1));
    alice.summary = "<p>#nobot</p>";
    internet.serve(alice);
    if (is_restarted) start(config());
    EXPECT_THAT(write(is_restarted ? "refused_after_a_start" : "refused"), HasSubstr("does not wish"));
    settle(std::chrono::minutes(1));
    EXPECT_EQ(announced(post.uri), 0);
  }
}

TEST_F(ToldPosts, SomebodyElsesPostIsNotTakenForTheSenders) {
  const Author bob = make_author("https://home.example/users/bob");
  serve();
  EXPECT_THAT(bring(activity("Create", bob.id, post.uri), bob).body, HasSubstr("by somebody else"));
  EXPECT_THAT(history("cats"), IsEmpty());
}

TEST_F(ToldPosts, WhoMayNotPublishMakesTheNodeFetchNothing) {
  const Author eve = make_author("https://evil.example/users/eve");
  const Author club = make_group("https://evil.example/category/1");
  const std::string named = "https://evil.example/notes/1";
  EXPECT_EQ(bring(activity("Create", eve.id, named), eve).status, 202);
  for (const Author& by : {eve, club})
    EXPECT_LT(bring(activity("Announce", by.id, json::value(note_object(post))), by).status, 300);
  EXPECT_THAT(internet.sent_to(named), IsEmpty());
  EXPECT_THAT(internet.sent_to(post.uri), IsEmpty());
  EXPECT_THAT(history("cats"), IsEmpty());
}

TEST_F(ToldPosts, WhatAGroupAnnouncesIsReadAtItsOrigin) {
  serve();
  PostText forged = post;
  forged.tags = {"spam"};
  // Whole, as NodeBB does; what it says is the group's word.
  EXPECT_EQ(bring(activity("Announce", group.id, json::value(note_object(forged))), group).status, 202);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  EXPECT_THAT(history("spam"), IsEmpty());
}

TEST_F(ToldPosts, AGroupTellsWhatHappenedToAPost) {
  serve();
  EXPECT_EQ(bring(announce("Create", json::value(note_object(post))), group).status, 202);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  post.tags = {"dogs"};
  serve();
  EXPECT_EQ(bring(announce("Update", post.uri), group).status, 202);
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(history("dogs"), ElementsAre(post.uri));
  EXPECT_THAT(bring(announce("Delete", post.uri), group).body, HasSubstr("still there"));
  EXPECT_THAT(history("dogs"), ElementsAre(post.uri));
  internet.serve(post.uri, R"({"type":"Tombstone","id":")" + post.uri + R"("})");
  EXPECT_EQ(bring(announce("Delete", post.uri), group).status, 202);
  EXPECT_THAT(history("dogs"), IsEmpty());
}

// Servers count refusals against whoever answers them, and take 404 for the end of the inbox.
TEST_F(ToldPosts, WhatIsNotShownIsNobodysFault) {
  const auto expect_passed_over = [&](const std::string& because) {
    for (const HttpResponse& response :
         {bring(activity("Create", alice.id, post.uri), alice), bring(announce("Create", post.uri), group),
          bring(activity("Announce", group.id, post.uri), group),
          bring(announce("Delete", post.uri), group)}) {
      EXPECT_EQ(response.status, 202) << because;
      EXPECT_THAT(response.body, HasSubstr("ignored"));
    }
  };
  for (const int status : {401, 403, 404, 410}) {
    internet.documents[post.uri] = with_status(status);
    expect_passed_over(fmt::format("{}", status));
  }
  internet.serve(post.uri, "{");
  expect_passed_over("no JSON");
  serve();
  internet.documents[alice.id] = with_status(404);
  settle(std::chrono::hours(1));
  EXPECT_EQ(bring(announce("Create", post.uri), group).status, 202) << "the author is gone";
  EXPECT_THAT(history("cats"), IsEmpty());
}

// A Lemmy sends one activity after the other, and the next when the one before was taken.
TEST_F(ToldPosts, WhoTellsOfAPostDoesNotWaitForTheServerOfIt) {
  serve();
  const HttpResponse found = internet.documents[post.uri];
  internet.documents[post.uri] = with_status(503);
  EXPECT_THAT(bring(announce("Create", post.uri), group).body, HasSubstr("asked later"));
  EXPECT_THAT(history("cats"), IsEmpty());
  internet.documents[post.uri] = found;
  settle(std::chrono::hours(1));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
}

TEST_F(ToldPosts, OfOneSilentServerSoManyPostsAreAskedForLater) {
  constexpr auto kMost = delivery::Store::kPutOffOfAuthorMax;
  for (std::size_t i = 0; i <= kMost; ++i) {
    const std::string uri = fmt::format("https://home.example/notes/{}", 100 + i);
    internet.documents[uri] = with_status(503);
    EXPECT_THAT(bring(announce("Create", uri), group).body,
                HasSubstr(i < kMost ? "asked later" : "too many of its posts wait"));
  }
}

TEST_F(ToldPosts, APostThatIsNotShownHoldsUpNoOtherOfItsServer) {
  for (const int status : {403, 500}) {
    const std::string hidden = fmt::format("https://home.example/hidden/{}", status);
    post.uri = fmt::format("https://home.example/notes/{}", status);
    for (const std::string& uri : {hidden, post.uri}) {
      internet.documents[uri] = with_status(503);
      EXPECT_THAT(bring(announce("Create", uri), group).body, HasSubstr("asked later"));
    }
    internet.documents[hidden] = with_status(status);
    serve();
    settle(std::chrono::hours(1));
    EXPECT_THAT(history("cats"), Contains(post.uri));
  }
}

// However old it is: it waits from now on.
TEST_F(ToldPosts, ADeletionOfAnOldPostIsLookedAtUntilItsServerAnswers) {
  serve();
  bring(announce("Create", post.uri), group);
  settle(std::chrono::days(9));
  internet.serve(post.uri, with_status(503));
  bring(announce("Delete", post.uri), group);
  settle(std::chrono::hours(2));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  internet.serve(post.uri, with_status(404));
  settle(std::chrono::hours(1));
  EXPECT_THAT(history("cats"), IsEmpty());
}

class LooksToCome : public ToldPosts {
 protected:
  // A post is deleted, which its server shows from a cache still.
  void delete_cached(Duration age) {
    serve();
    bring(announce("Create", post.uri), group);
    settle(age);
    EXPECT_THAT(bring(announce("Delete", post.uri), group).body, HasSubstr("looked at again"));
    EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  }
  void expect_taken_out() {
    internet.serve(post.uri, with_status(404));
    settle(std::chrono::hours(1));
    EXPECT_THAT(history("cats"), IsEmpty());
    EXPECT_THAT(rows("SELECT uri FROM put_off"), IsEmpty());
  }
};

TEST_F(LooksToCome, AreTriedAgainAtOldPostsToo) {
  delete_cached(std::chrono::days(9));
  internet.serve(post.uri, with_status(503));
  settle(std::chrono::minutes(6));
  expect_taken_out();
}

TEST_F(LooksToCome, ComeWhateverIsSaidOfThePostMeanwhile) {
  delete_cached(std::chrono::hours(1));
  EXPECT_EQ(bring(create_text(post), alice).status, 202);
  expect_taken_out();
}

TEST_F(LooksToCome, ComeThoughItsServerMayNotPublishAnyMore) {
  delete_cached(std::chrono::hours(1));
  const auto denied =
      control("/instances/permit", R"({"host":"home.example","publishes":false,"receives":true})");
  EXPECT_EQ(denied.status, 200);
  expect_taken_out();
}

TEST_F(LooksToCome, DoNotWaitForTheLimitsOfTheAuthor) {
  config::Config strict = config();
  strict.posts_an_hour = 1;
  start(strict);
  delete_cached(std::chrono::hours(2));
  PostText next = post;
  next.uri += "0";
  EXPECT_EQ(bring(create_text(next), alice).status, 202);
  internet.serve(post.uri, with_status(404));
  settle(std::chrono::minutes(6));
  EXPECT_THAT(history("cats"), ElementsAre(next.uri));
}

TEST_F(ToldPosts, AnUpdateOfWhatIsGoneTakesItOut) {
  for (const int status : {404, 410}) {
    post.uri += "0";
    serve();
    EXPECT_EQ(bring(activity("Create", alice.id, post.uri), alice).status, 202);
    EXPECT_THAT(history("cats"), ElementsAre(post.uri));
    internet.documents[post.uri] = with_status(status);
    EXPECT_EQ(bring(activity("Update", alice.id, post.uri), alice).status, 202);
    EXPECT_THAT(history("cats"), IsEmpty());
  }
}

TEST_F(ToldPosts, ADeletionThatCannotBeCheckedIsLookedAtLater) {
  serve();
  bring(announce("Create", post.uri), group);
  internet.serve(post.uri, with_status(503));
  EXPECT_THAT(bring(announce("Delete", post.uri), group).body, HasSubstr("asked later"));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  internet.serve(post.uri, with_status(404));
  settle(std::chrono::hours(1));
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(bring(announce("Delete", std::string("https://home.example/notes/9")), group).body,
              HasSubstr("not known here"));
}

TEST_F(ToldPosts, WhatIsAnnouncedByItsIdMayBeWhatHappened) {
  serve();
  const std::string create = "https://home.example/activities/1";
  internet.serve(create, R"({"id":")" + create + R"(","type":"Create","actor":")" + alice.id +
                             R"(","object":")" + post.uri + R"("})");
  EXPECT_EQ(bring(activity("Announce", group.id, create), group).status, 202);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  const std::string foreign = "https://home.example/activities/2";
  internet.serve(foreign, R"({"id":")" + foreign + R"(","type":"Create","actor":")" + alice.id +
                              R"(","object":"https://evil.example/1"})");
  EXPECT_THAT(bring(activity("Announce", group.id, foreign), group).body, HasSubstr("another server"));
  EXPECT_THAT(internet.sent_to("https://evil.example/1"), IsEmpty());
}

TEST_F(ToldPosts, WhatIsAnnouncedByTheIdOfAnActivityIsNotAskedForAgainOnceItIsPublished) {
  serve();
  const std::string create = "https://home.example/activities/1";
  internet.documents[create] = with_status(503);
  EXPECT_THAT(bring(activity("Announce", group.id, create), group).body, HasSubstr("asked later"));
  internet.serve(create, R"({"id":")" + create + R"(","type":"Create","actor":")" + alice.id +
                             R"(","object":")" + post.uri + R"("})");
  settle(std::chrono::hours(1));
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  EXPECT_THAT(rows("SELECT uri FROM put_off"), IsEmpty());
}

TEST_F(ToldPosts, AnEditThatBringsAHashtagBackIsAskedForLaterToo) {
  serve();
  bring(announce("Create", post.uri), group);
  post.tags = {};
  serve();
  bring(announce("Update", post.uri), group);
  EXPECT_THAT(history("cats"), IsEmpty());
  internet.documents[post.uri] = with_status(503);
  EXPECT_THAT(bring(announce("Update", post.uri), group).body, HasSubstr("asked later"));
  post.tags = {"dogs"};
  serve();
  settle(std::chrono::hours(1));
  EXPECT_THAT(history("dogs"), ElementsAre(post.uri));
  EXPECT_THAT(rows("SELECT uri FROM put_off"), IsEmpty());
}

// [WordPress ActivityPub 7f32440, add_inboxes_of_relays: what is public goes to the inboxes that are typed
// in, and nothing is asked before]
TEST_F(ToldPosts, WhoFollowsNobodyPublishesOnceItsServerIsAllowedTo) {
  const Author ann = make_author("https://blog.example/author/ann");
  post = {.uri = "https://blog.example/?p=121", .author = ann.id, .tags = {"cats"}};
  const auto article = [&](const std::string& type) {
    json::object document = note_object(post);
    document["type"] = "Article";
    document["updated"] = to_rfc3339(loop.wall_now());
    return activity(type, ann.id, json::value(document));
  };
  EXPECT_THAT(bring(article("Create"), ann).body, HasSubstr("takes no posts of that author's server"));
  permit("blog.example", true);
  EXPECT_EQ(bring(article("Create"), ann).status, 202);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  post.tags = {"dogs"};
  EXPECT_EQ(bring(article("Update"), ann).status, 202);
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(history("dogs"), ElementsAre(post.uri));
  EXPECT_EQ(bring(delete_text(post.uri, ann.id), ann).status, 202);
  EXPECT_THAT(history("dogs"), IsEmpty());
  EXPECT_THAT(rows("SELECT actor FROM links"), IsEmpty());
  EXPECT_THAT(types_at(ann.inbox), IsEmpty());
}

// [Friendica 02379f9: user 0 follows the relay's actor, and posts go to its inbox as their authors' own]
TEST_F(ToldPosts, AnApplicationMayFollowForPeopleWhoSendTheirPostsThemselves) {
  Author friendica = make_author("https://friendica.example/friendica");
  friendica.type = "Application";
  internet.serve(friendica);
  const json::object both = {{"host", "friendica.example"}, {"publishes", true}, {"receives", true}};
  EXPECT_EQ(ask_node("/instances/permit", both).status, 200);
  EXPECT_EQ(bring(follow_text(friendica, {origin + "/actor"}), friendica).status, 202);
  EXPECT_THAT(types_at(friendica.inbox), ElementsAre("Accept", "Follow"));
  const Author ann = make_author("https://friendica.example/profile/ann");
  post = {.uri = "https://friendica.example/objects/1", .author = ann.id, .tags = {"cats"}};
  json::object note = note_object(post);
  note["interactionPolicy"] =
      json::object{{"canQuote", json::object{{"automaticApproval", json::array{kEverybody}}}}};
  EXPECT_EQ(bring(activity("Create", ann.id, json::value(note)), ann).status, 202);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
}

// Lemmy and PieFed send what is posted to a community to who follows it, and to nobody else.
class GroupsFollowed : public ToldPosts {
 protected:
  HttpResponse follow(const std::string& uri, const std::string& tag = "birds") {
    return ask_node("/instances/follow", {{"group", uri}, {"tag", tag}});
  }
  Author birds = make_group("https://lemmy.example/c/birds");
};

TEST_F(GroupsFollowed, AreFollowedByTheActorOfAHashtagUntilTheyAreLeft) {
  permit("lemmy.example", true);
  EXPECT_EQ(ask_node("/instances/follow", {{"group", birds.id}}).status, 200);
  ASSERT_THAT(types_at(birds.inbox), ElementsAre("Follow"));
  const json::object sent = internet.posted_to(birds.inbox).back();
  EXPECT_EQ(json::id_of(sent, "actor"), origin + "/tag/birds") << "of the type Service, as Lemmy wants it";
  EXPECT_EQ(json::id_of(sent, "object"), birds.id);
  EXPECT_THAT(control("/instances").body, HasSubstr(R"("followed_back":"waits")"));
  EXPECT_EQ(bring(activity("Accept", birds.id, json::value(sent)), birds).status, 202);
  start(config());
  settle();
  EXPECT_THAT(control("/instances").body,
              HasSubstr(R"({"actor":"https://lemmy.example/c/birds","relay":")" + origin +
                        R"(/tag/birds","style":"group","accepted":true,"followed_back":"accepted"})"));
  EXPECT_EQ(ask_node("/instances/unfollow", {{"group", birds.id}}).status, 200);
  EXPECT_THAT(types_at(birds.inbox), ElementsAre("Follow", "Undo"));
  EXPECT_EQ(ask_node("/instances/unfollow", {{"group", birds.id}}).status, 404);
}

TEST_F(GroupsFollowed, HearThatTheyAreFollowedAgainAfterTheUndoThatCouldNotArrive) {
  permit("lemmy.example", true);
  follow(birds.id);
  bool is_up = false;
  internet.answers[birds.inbox] = [&](const HttpCall&) { return with_status(is_up ? 202 : 503); };
  EXPECT_EQ(ask_node("/instances/unfollow", {{"group", birds.id}}).status, 200);
  internet.calls.clear();
  is_up = true;
  EXPECT_EQ(follow(birds.id).status, 200);
  settle(std::chrono::minutes(1));
  EXPECT_THAT(types_at(birds.inbox), ElementsAre("Undo", "Follow"));
}

// Some keep the id of the first Follow, and answer by it to another that comes while it waits.
TEST_F(GroupsFollowed, MayAnswerByTheIdOfAnEarlierFollowUnlessItHasEnded) {
  permit("lemmy.example", true);
  const auto followed = [&] {
    EXPECT_EQ(follow(birds.id).status, 200);
    return internet.posted_to(birds.inbox).back();
  };
  const auto accepted_by = [&](const json::value& object) {
    EXPECT_EQ(bring(activity("Accept", birds.id, object), birds).status, 202);
    return rows("SELECT accepted FROM own_follows");
  };
  const json::object ended = followed();
  EXPECT_EQ(ask_node("/instances/unfollow", {{"group", birds.id}}).status, 200);
  const json::object first = followed();
  const json::object second = followed();
  const json::object third = followed();
  EXPECT_NE(json::id_of(first), json::id_of(second));
  EXPECT_NE(json::id_of(second), json::id_of(third));
  start(config());
  settle();
  EXPECT_THAT(accepted_by(json::value(ended)), ElementsAre("0"));
  EXPECT_THAT(accepted_by(json::value(json::id_of(ended))), ElementsAre("0"));
  EXPECT_THAT(accepted_by(json::value(json::id_of(first))), ElementsAre("1"));
}

// What the Accept is written over was still followed when that began.
TEST_F(GroupsFollowed, AreLeftAlsoIfTheyAcceptAtThatMoment) {
  permit("lemmy.example", true);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(follow(birds.id).status, 200);
    const std::string accept =
        activity("Accept", birds.id, json::value(internet.posted_to(birds.inbox).back()));
    database_pause = Duration(50);
    boost::asio::co_spawn(loop.executor(kOwner), node->answer(signed_request(birds, accept)),
                          [](std::exception_ptr, const HttpResponse&) {});
    loop.run_for(i * Duration(20));
    EXPECT_EQ(ask_node("/instances/unfollow", {{"group", birds.id}}).status, 200);
    database_pause = Duration::zero();
    settle();
    EXPECT_THAT(rows("SELECT object FROM own_follows"), IsEmpty()) << i;
  }
}

TEST_F(GroupsFollowed, BringTheirPosts) {
  permit("lemmy.example", true);
  follow(birds.id);
  const Author ann = make_author("https://lemmy.example/u/ann");
  post = {.uri = "https://lemmy.example/post/7", .author = ann.id, .tags = {"birds"}};
  serve();
  const json::object create = {
      {"id", ann.id + "#1"}, {"type", "Create"}, {"actor", ann.id}, {"object", note_object(post)}};
  EXPECT_EQ(bring(activity("Announce", birds.id, json::value(create)), birds).status, 202);
  EXPECT_THAT(history("birds"), ElementsAre(post.uri));
}

// [PeerTube 0c7a89a, send-announce: by the URL of the video, to who follows the channel; 0cf4d9a,
// send-update: by the account, to the same]
TEST_F(GroupsFollowed, MayBeChannelsOfVideos) {
  permit("tube.example", true);
  const Author channel = make_group("https://tube.example/video-channels/owls");
  EXPECT_EQ(ask_node("/instances/follow", {{"group", channel.id}}).status, 200);
  ASSERT_THAT(types_at(channel.inbox), ElementsAre("Follow"));
  const json::object sent = internet.posted_to(channel.inbox).back();
  EXPECT_EQ(json::id_of(sent, "actor"), origin + "/tag/owls");
  EXPECT_EQ(bring(activity("Accept", channel.id, json::value(sent)), channel).status, 202);
  const Author ann = make_author("https://tube.example/accounts/ann");
  post = {.uri = "https://tube.example/videos/watch/1", .author = ann.id, .tags = {"cats"}};
  const auto video = [&] {
    json::object document = note_object(post);
    document["type"] = "Video";
    document["attributedTo"] = json::array{json::object{{"type", "Person"}, {"id", ann.id}},
                                           json::object{{"type", "Group"}, {"id", channel.id}}};
    document["updated"] = to_rfc3339(loop.wall_now());
    internet.serve(post.uri, json::serialize(document));
    return json::value(document);
  };
  video();
  EXPECT_EQ(bring(activity("Announce", channel.id, post.uri), channel).status, 202);
  EXPECT_THAT(history("cats"), ElementsAre(post.uri));
  post.tags = {"dogs"};
  EXPECT_EQ(bring(activity("Update", ann.id, video()), ann).status, 202);
  EXPECT_THAT(history("cats"), IsEmpty());
  EXPECT_THAT(history("dogs"), ElementsAre(post.uri));
}

TEST_F(GroupsFollowed, HaveAnOutboxWithWhatTheyAnnouncedMeanwhile) {
  json::object document = json::parse_object(birds.document()).value();
  document["outbox"] = birds.id + "/outbox";
  internet.serve(birds.id, json::serialize(document));
  permit("lemmy.example", true);
  follow(birds.id);
  const json::object sent = internet.posted_to(birds.inbox).back();
  EXPECT_EQ(bring(activity("Accept", birds.id, json::value(sent)), birds).status, 202);
  const Author ann = make_author("https://lemmy.example/u/ann");
  post = {.uri = "https://lemmy.example/post/7", .author = ann.id, .tags = {"birds"}};
  json::object note = note_object(post);
  note["published"] = to_rfc3339(loop.wall_now());
  internet.serve(post.uri, json::serialize(note));
  const json::object create = {
      {"id", ann.id + "#1"}, {"type", "Create"}, {"actor", ann.id}, {"object", note}};
  const json::array items = {
      json::object{{"id", birds.id + "#1"}, {"type", "Announce"}, {"actor", birds.id}, {"object", create}}};
  internet.serve(birds.id + "/outbox",
                 json::serialize(json::object{
                     {"id", birds.id + "/outbox"}, {"type", "OrderedCollection"}, {"orderedItems", items}}));
  start(config());
  settle(std::chrono::minutes(2));
  EXPECT_THAT(history("birds"), ElementsAre(post.uri));
}

TEST_F(GroupsFollowed, OfAServerThatIsDeniedOrBlockedAreLeft) {
  permit("lemmy.example", true);
  follow(birds.id);
  permit("lemmy.example", false);
  EXPECT_THAT(types_at(birds.inbox), ElementsAre("Follow", "Undo"));
  EXPECT_EQ(follow(birds.id).status, 403);
  ask_node("/instances/permit", {{"host", "lemmy.example"}, {"publishes", false}, {"receives", true}});
  EXPECT_EQ(follow(birds.id).status, 403) << "it receives, and no more";
  permit("lemmy.example", true);
  follow(birds.id);
  const HttpResponse blocked = ask_node("/blocks/add", {{"kind", "domain"}, {"what", "lemmy.example"}});
  EXPECT_THAT(blocked.body, HasSubstr(R"("instances":["lemmy.example"])"));
  EXPECT_THAT(rows("SELECT object FROM own_follows"), IsEmpty());
  EXPECT_EQ(follow(birds.id).status, 403);
}

TEST_F(GroupsFollowed, ThatAreDeletedAreFollowedNoMore) {
  permit("lemmy.example", true);
  follow(birds.id);
  EXPECT_EQ(bring(activity("Delete", birds.id, birds.id), birds).status, 202);
  EXPECT_THAT(rows("SELECT object FROM own_follows"), IsEmpty());
}

TEST_F(GroupsFollowed, AreGroupsOfServersWhosePostsAreTaken) {
  EXPECT_THAT(follow(birds.id).body, HasSubstr("tagring instance allow --publish lemmy.example"));
  EXPECT_THAT(follow(alice.id).body, HasSubstr("is no group but a Person"));
  EXPECT_EQ(follow("https://home.example/c/none").status, 404);
  EXPECT_THAT(follow("birds").body, HasSubstr("no URL of a group"));
  EXPECT_THAT(ask_node("/instances/follow", {{"group", group.id}}).body, HasSubstr("name the hashtag"))
      << "whose address ends with a number";
  EXPECT_THAT(rows("SELECT object FROM own_follows"), IsEmpty());
}

}  // namespace
}  // namespace tagring::node
