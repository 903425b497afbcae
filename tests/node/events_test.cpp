// Posts that other nodes bring and announce: whom this node believes, and what it takes nobody's word for.
#include <fmt/format.h>

#include "node/fixture.hpp"

namespace tagring::node {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Events : public NodeTest {
 protected:
  Author peer = make_node_author("https://tags.peer.example");
  Author far_author = make_author("https://far.example/users/u");
  Author peer_author = make_author("https://peer.example/users/u");
  const std::string relay = origin + "/relay";
  const std::string storage = origin + "/storage";
  // Of an instance that the peer does not vouch for.
  PostText foreign{
      .uri = "https://far.example/notes/1", .author = "https://far.example/users/u", .tags = {"caturday"}};
  // Of the peer's own.
  PostText own{
      .uri = "https://peer.example/notes/1", .author = "https://peer.example/users/u", .tags = {"caturday"}};

  void expect_not_taken(const std::string& type, const std::string& target, const PostText& post,
                        const std::string& error) {
    const std::string before = state();
    const HttpResponse response = post_signed(batch_text(type, peer, target, {post}), peer);
    settle();
    EXPECT_THAT(refusals_of(response), ElementsAre(HasSubstr(error)));
    EXPECT_EQ(state(), before);
  }
};

TEST_F(Events, ANodeIsBelievedAboutPostsOfItsOwnHost) {
  EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, relay, {own}), peer)), IsEmpty());
  settle();
  EXPECT_THAT(history("caturday"), ElementsAre(own.uri));
}

TEST_F(Events, APostOfAnotherHostIsTakenOnceItsOriginConfirmsIt) {
  internet.serve(foreign.uri, json::serialize(note_object(foreign)));
  EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, relay, {foreign}), peer)), IsEmpty());
  EXPECT_EQ(internet.sent_to(foreign.uri).size(), 1U);
  EXPECT_TRUE(internet.sent_to(foreign.uri).front().headers.find("Signature"));
  settle();
  EXPECT_THAT(history("caturday"), ElementsAre(foreign.uri));
}

// A node whose clock is behind dates what it hears by its own, and gets the true date from the next relay.
TEST_F(Events, APostThatIsDatedAnewIsShownOnceInTheFeed) {
  for (const char* updated : {"2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"}) {
    json::object batch = *json::parse_object(batch_text("Add", peer, relay, {own}));
    batch["object"].as_array().front().as_object()["updated"] = updated;
    EXPECT_THAT(refusals_of(post_signed(json::serialize(batch), peer)), IsEmpty());
    settle();
  }
  EXPECT_EQ(rows("SELECT uri FROM feed").size(), 2U) << "for nodes, of which one may have heard of its end";
  EXPECT_EQ(json::parse_object(control("/feed").body)->at("entries").as_array().size(), 1U);
}

TEST_F(Events, APostThatItsOriginDoesNotHaveIsRefused) {
  for (const std::string& target : {relay, storage}) {
    expect_not_taken("Add", target, foreign, "far.example/notes/1 caturday not_found");
  }
}

TEST_F(Events, APostThatLacksTheTagAtItsOriginIsRefused) {
  PostText real = foreign;
  real.tags = {"dogs"};
  internet.serve(foreign.uri, json::serialize(note_object(real)));
  for (const std::string& target : {relay, storage}) {
    expect_not_taken("Add", target, foreign, "invalid: the post is not public or lacks the tag");
  }
}

TEST_F(Events, APostThatIsNotPublicAtItsOriginIsRefused) {
  PostText real = foreign;
  real.to = real.author + "/followers";
  real.cc = "https://www.w3.org/ns/activitystreams#Public";
  internet.serve(foreign.uri, json::serialize(note_object(real)));
  for (const std::string& target : {relay, storage}) {
    expect_not_taken("Add", target, foreign, "invalid: the post is not public or lacks the tag");
  }
}

TEST_F(Events, APostOfSomebodyElseThanClaimedIsRefused) {
  PostText real = foreign;
  real.author = "https://far.example/users/other";
  internet.serve(foreign.uri, json::serialize(note_object(real)));
  expect_not_taken("Add", relay, foreign, "the post is by somebody else");
}

TEST_F(Events, ADocumentThatIsAnotherPostIsRefused) {
  PostText real = foreign;
  real.uri = "https://far.example/notes/2";
  internet.serve(foreign.uri, json::serialize(note_object(real)));
  expect_not_taken("Add", relay, foreign, "invalid");
}

TEST_F(Events, ADocumentThatIsNoPostIsRefused) {
  for (const std::string type : {"Person", "Like", ""}) {
    json::object document = note_object(foreign);
    document["type"] = type;
    internet.serve(foreign.uri, json::serialize(document));
    expect_not_taken("Add", relay, foreign, "invalid");
    settle(std::chrono::hours(1));  // its host is asked for few such posts, and for this sender none at first
  }
  internet.serve(foreign.uri, "[]");
  expect_not_taken("Add", relay, foreign, "invalid");
}

TEST_F(Events, ADeletedPostIsNotThere) {
  json::object document = note_object(foreign);
  document["type"] = "Tombstone";
  internet.serve(foreign.uri, json::serialize(document));
  expect_not_taken("Add", relay, foreign, "not_found");
}

TEST_F(Events, APostThatItsOriginSendsToAnotherServerForIsRefused) {
  internet.serve(foreign.uri,
                 {.status = 302, .headers = {{"Location", "https://evil.example/x"}}, .body = {}});
  internet.serve("https://evil.example/x", json::serialize(note_object(foreign)));
  expect_not_taken("Add", relay, foreign, "redirect");
  EXPECT_THAT(internet.sent_to("https://evil.example/x"), IsEmpty());
}

TEST_F(Events, AnOriginThatIsDownIsAskedAgainLater) {
  internet.documents[foreign.uri] = with_status(503);
  expect_not_taken("Add", relay, foreign, "unavailable");
}

TEST_F(Events, ARemovalOfAPostThatStillCarriesTheTagIsRefused) {
  internet.serve(foreign.uri, json::serialize(note_object(foreign)));
  EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, relay, {foreign}), peer)), IsEmpty());
  settle();
  for (const std::string& target : {relay, storage}) {
    expect_not_taken("Remove", target, foreign, "busy");  // the author may have changed the profile since
    settle(std::chrono::minutes(1));
    expect_not_taken("Remove", target, foreign, "invalid: the post still carries the tag");
  }
  EXPECT_THAT(history("caturday"), ElementsAre(foreign.uri));
}

TEST_F(Events, ARemovalThatNamesAnotherAuthorIsRefused) {
  internet.serve(foreign.uri, json::serialize(note_object(foreign)));
  EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, relay, {foreign}), peer)), IsEmpty());
  settle();
  foreign.author = "https://far.example/users/other";
  for (const std::string& target : {relay, storage}) {
    expect_not_taken("Remove", target, foreign, "the post is by somebody else");
  }
}

TEST_F(Events, ARemovalIsTakenOnceThePostIsGoneAtItsOrigin) {
  for (const int status : {404, 410}) {
    foreign.uri = fmt::format("https://far.example/notes/{}", status);
    internet.serve(foreign.uri, json::serialize(note_object(foreign)));
    EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, relay, {foreign}), peer)), IsEmpty());
    internet.documents[foreign.uri] = with_status(status);
    EXPECT_THAT(refusals_of(post_signed(batch_text("Remove", peer, relay, {foreign}), peer)), IsEmpty());
    settle();
    EXPECT_THAT(history("caturday"), IsEmpty());
  }
}

TEST_F(Events, ARemovalIsTakenOnceATombstoneStandsAtTheOrigin) {
  internet.serve(foreign.uri, json::serialize(note_object(foreign)));
  EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, relay, {foreign}), peer)), IsEmpty());
  json::object tombstone = note_object(foreign);
  tombstone["type"] = "Tombstone";
  internet.serve(foreign.uri, json::serialize(tombstone));
  EXPECT_THAT(refusals_of(post_signed(batch_text("Remove", peer, relay, {foreign}), peer)), IsEmpty());
  settle();
  EXPECT_THAT(history("caturday"), IsEmpty());
}

// As Mastodon answers: the posts of who is suspended are shown to nobody, and the profile says so.
TEST_F(Events, ARemovalIsTakenOnceItsAuthorIsSuspended) {
  foreign.uri = far_author.id + "/statuses/1";
  for (const std::string& target : {relay, storage}) {
    foreign.uri += "0";
    internet.serve(far_author);
    internet.serve(foreign.uri, json::serialize(note_object(foreign)));
    EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, relay, {foreign}), peer)), IsEmpty());
    settle();
    EXPECT_THAT(history("caturday"), ElementsAre(foreign.uri));
    internet.documents[foreign.uri] = with_status(403);
    json::object suspended = json::parse_object(far_author.document()).value();
    suspended["suspended"] = true;
    internet.serve(far_author.id, json::serialize(suspended));
    settle(std::chrono::minutes(5));  // what was fetched is remembered for some minutes
    EXPECT_THAT(refusals_of(post_signed(batch_text("Remove", peer, target, {foreign}), peer)), IsEmpty());
    settle();
    EXPECT_THAT(history("caturday"), IsEmpty());
    settle(std::chrono::minutes(5));
  }
}

TEST_F(Events, ARemovalOfAPostThatIsNotShownIsLookedAtForAWhile) {
  internet.serve(foreign.uri, json::serialize(note_object(foreign)));
  EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, relay, {foreign}), peer)), IsEmpty());
  settle();
  internet.documents[foreign.uri] = with_status(403);
  for (int i = 0; i < 10; ++i) {
    expect_not_taken("Remove", relay, foreign, "busy");
    settle(std::chrono::minutes(2));
  }
  expect_not_taken("Remove", relay, foreign, "denied");
  EXPECT_THAT(history("caturday"), ElementsAre(foreign.uri));
}

TEST_F(Events, AnOriginThatIsDownIsNoReasonToRemoveAPost) {
  internet.serve(foreign.uri, json::serialize(note_object(foreign)));
  EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, relay, {foreign}), peer)), IsEmpty());
  settle();
  internet.documents[foreign.uri] = with_status(503);
  // Not "unavailable", which is what a relay says that has too much to do.
  expect_not_taken("Remove", relay, foreign, "busy: the origin is unavailable now");
}

TEST_F(Events, OfAuthorsOnOtherHostsTheProfileDecidesNotTheSender) {
  internet.serve(foreign.uri, json::serialize(note_object(foreign)));
  far_author.indexable = false;
  internet.serve(far_author);
  EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, relay, {foreign}), peer)), IsEmpty());
  settle();
  EXPECT_THAT(rows("SELECT uri||' '||indexable FROM feed"), ElementsAre(foreign.uri + " 0"));
  EXPECT_THAT(history("caturday"), IsEmpty());
  settle(std::chrono::minutes(5));  // authors are remembered for some minutes
  far_author.summary = "<p>I am <a href='x'>#<span>NoBots</span></a></p>";
  internet.serve(far_author);
  foreign.uri += "0";
  internet.serve(foreign.uri, json::serialize(note_object(foreign)));
  expect_not_taken("Add", relay, foreign, "denied: the author does not wish to be relayed");
}

TEST_F(Events, WhatWasFetchedIsNotFetchedAgain) {
  internet.serve(foreign.uri, json::serialize(note_object(foreign)));
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, relay, {foreign}), peer)), IsEmpty());
  PostText other = foreign;
  other.uri += "0";
  internet.serve(other.uri, json::serialize(note_object(other)));
  EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, relay, {other}), peer)), IsEmpty());
  EXPECT_EQ(internet.sent_to(foreign.uri).size(), 1U);
  EXPECT_EQ(internet.sent_to(far_author.id).size(), 1U);
}

TEST_F(Events, AnOriginThatAsksForPatienceIsLeftAloneAndOverloadsNobody) {
  HttpResponse limited = with_status(429);
  limited.headers.add("X-RateLimit-Remaining", "0");
  limited.headers.add("X-RateLimit-Reset", to_rfc3339(loop.wall_now() + std::chrono::minutes(5)));
  internet.documents[foreign.uri] = limited;
  for (int i = 0; i < 20; ++i) {
    expect_not_taken("Add", relay, foreign, "busy: the origin is unavailable now");
    settle(std::chrono::seconds(10));
  }
  EXPECT_EQ(internet.sent_to(foreign.uri).size(), 1U);
  internet.serve(foreign.uri, json::serialize(note_object(foreign)));
  settle(std::chrono::minutes(5));
  EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, relay, {foreign}), peer)), IsEmpty());
}

TEST_F(Events, WhatItsAuthorLetsNobodyAnnounceIsNotTaken) {
  json::object note = note_object(foreign);
  note["interactionPolicy"] =
      json::object{{"canAnnounce", json::object{{"automaticApproval", json::array{foreign.author}}}}};
  internet.serve(foreign.uri, json::serialize(note));
  expect_not_taken("Add", relay, foreign, "the post is not public or lacks the tag");
}

TEST_F(Events, TheArchiveTakesNothingThatIsNotIndexable) {
  own.indexable = false;
  expect_not_taken("Add", storage, own, "denied: the author does not wish to be found");
  EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, relay, {own}), peer)), IsEmpty());
  settle();
  EXPECT_THAT(rows("SELECT uri FROM feed"), ElementsAre(own.uri));
  EXPECT_THAT(history("caturday"), IsEmpty());
}

TEST_F(Events, TooManyPostsToCheckAtOnceAreAskedForAgain) {
  std::vector<PostText> posts;
  for (int i = 0; i < 60; ++i) {
    foreign.uri = fmt::format("https://far.example/notes/{}", i);
    posts.push_back(foreign);
    internet.serve(foreign.uri, json::serialize(note_object(foreign)));
  }
  const std::vector<std::string> refusals =
      refusals_of(post_signed(batch_text("Add", peer, relay, posts), peer));
  EXPECT_EQ(refusals.size(), 10U);
  EXPECT_THAT(refusals, Contains(HasSubstr("busy: too many posts to check at once")).Times(10));
}

TEST_F(Events, ATargetOfAnotherNodeIsRefused) {
  expect_refused(signed_request(peer, batch_text("Add", peer, "https://tags.other.example/relay", {own})),
                 400, "invalid", "`target` is neither this node's relay nor its storage");
  expect_ignored(signed_request(peer, batch_text("Add", peer, "https://tags.home.example/else", {own})),
                 "the target is not the relay or storage of a node");
}

TEST_F(Events, APostInABatchWithoutItsAuthorIsRefused) {
  json::object batch = json::parse_object(batch_text("Add", peer, relay, {own})).value();
  batch["object"].as_array()[0].as_object().erase("attributedTo");
  expect_refused(signed_request(peer, json::serialize(batch)), 400, "invalid", "lacks attributedTo");
  batch["object"] = json::array{own.uri};
  expect_refused(signed_request(peer, json::serialize(batch)), 400, "invalid", "lacks attributedTo");
}

// --- a node whose word is wrong ----------------------------------------------------------------------------

TEST_F(Events, ANodeThatIsCaughtLyingIsNotBelievedAnyMore) {
  // It vouches for hundreds of posts that its instance has never seen; one in 64 is looked at.
  std::vector<PostText> posts;
  for (int i = 0; i < 600; ++i) {
    own.uri = fmt::format("https://peer.example/notes/{}", i);
    posts.push_back(own);
    PostText real = own;
    real.tags = {"dogs"};
    internet.serve(own.uri, json::serialize(note_object(real)));
  }
  EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, relay, posts), peer)), IsEmpty());
  settle();
  EXPECT_THAT(log_lines, Contains(HasSubstr("sender_not_believed_any_more")));
  own.uri = "https://peer.example/notes/601";
  PostText real = own;
  real.tags = {"dogs"};
  internet.serve(own.uri, json::serialize(note_object(real)));
  expect_not_taken("Add", relay, own, "invalid: the post is not public or lacks the tag");
  // The truth is still taken from it.
  internet.serve(own.uri, json::serialize(note_object(own)));
  EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, relay, {own}), peer)), IsEmpty());
}

TEST_F(Events, AnHonestNodeIsLookedAtAndStaysBelieved) {
  std::vector<PostText> posts;
  for (int i = 0; i < 600; ++i) {
    own.uri = fmt::format("https://peer.example/notes/{}", i);
    posts.push_back(own);
    internet.serve(own.uri, json::serialize(note_object(own)));
  }
  EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, relay, posts), peer)), IsEmpty());
  settle();
  EXPECT_GT(json::get_int(status(), "checked").value_or(0), 0);
  EXPECT_LT(json::get_int(status(), "checked").value_or(0), 60);
  EXPECT_THAT(log_lines, Each(Not(HasSubstr("sender_not_believed_any_more"))));
}

// Of each post that a node invents on a server, as its own or as another's that is gone, that server may be
// asked once: whoever makes up a thousand must not have it asked a thousand times.
TEST_F(Events, AServerIsAskedForFewOfThePostsThatAreInventedOnIt) {
  const auto asked = [&](const std::string& host) {
    return std::ranges::count_if(internet.calls, [&](const HttpCall& call) {
      return call.method == "GET" && call.url.text().starts_with("https://" + host + "/notes/");
    });
  };
  std::vector<PostText> invented;
  std::vector<PostText> gone;
  for (int i = 0; i < 2000; ++i) {
    own.uri = fmt::format("https://peer.example/notes/{}", i);
    invented.push_back(own);
  }
  for (int i = 0; i < 40; ++i) {
    foreign.uri = fmt::format("https://far.example/notes/{}", i);
    gone.push_back(foreign);
  }
  for (std::size_t i = 0; i < invented.size(); i += 500) {
    const std::vector<PostText> some(invented.begin() + static_cast<std::ptrdiff_t>(i),
                                     invented.begin() + static_cast<std::ptrdiff_t>(i + 500));
    EXPECT_THAT(refusals_of(post_signed(batch_text("Add", peer, relay, some), peer)), IsEmpty());
  }
  EXPECT_THAT(refusals_of(post_signed(batch_text("Remove", peer, relay, gone), peer)),
              Contains(HasSubstr("busy: too many posts of far.example")).Times(testing::Ge(30)));
  settle(std::chrono::seconds(50));
  EXPECT_GT(asked("peer.example"), 0);
  EXPECT_LE(asked("peer.example"), 8);
  EXPECT_GT(asked("far.example"), 0);
  EXPECT_LE(asked("far.example"), 4);
}

// --- announcements -----------------------------------------------------------------------------------------

TEST_F(Events, AnAnnouncementFromSomebodyWeDoNotFollowIsRefused) {
  const std::string before = state();
  const HttpResponse response = post_signed(announce_text(peer, {own}), peer);
  settle();
  EXPECT_THAT(refusals_of(response),
              ElementsAre(own.uri + " caturday denied: this node does not follow the tag at you"));
  EXPECT_EQ(state(), before);
}

TEST_F(Events, APersonsBoostIsIgnoredWhateverItLooksLike) {
  const Author person = make_author("https://far.example/users/u");
  const std::string reason =
      "a boost, by nobody who speaks for others here: what people boost is no wish of its author";
  const std::string body =
      R"({"id":"https://far.example/boosts/1","type":"Announce","actor":"https://far.example/users/u",
          "object":"https://peer.example/notes/1"})";
  expect_ignored(signed_request(person, body), reason);
  expect_ignored(signed_request(person, announce_text(person, {own})), reason);
}

}  // namespace
}  // namespace tagring::node
