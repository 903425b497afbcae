// Posts as they arrive, for readers who wait.
#include <fmt/format.h>
#include <memory>

#include "mastodon_api/entity_fields.hpp"
#include "mastodon_api/live_reader.hpp"
#include "node/fixture.hpp"

namespace tagring::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class Streaming : public NodeTest {
 protected:
  Author alice = make_author("https://home.example/users/alice");

  HttpResponse open(const std::string& target, bool as_socket = false) {
    HttpRequest request;
    request.target = target;
    if (as_socket) request.headers.add("Upgrade", "websocket");
    return ask(std::move(request));
  }
  std::string publish(const std::string& name, const std::vector<std::string>& tags,
                      Duration ago = Duration(0), const std::string& content = "<p>line\nbreak</p>") {
    const PostText post{.uri = "https://home.example/notes/" + name, .author = alice.id, .tags = tags};
    json::object note = note_object(post);
    note["published"] = to_rfc3339(loop.wall_now() - ago);
    note["content"] = content;
    json::object create = json::parse_object(create_text(post)).value();
    create["object"] = note;
    internet.serve(post.uri, json::serialize(note));
    EXPECT_EQ(post_signed(json::serialize(create), alice).status, 202);
    return post.uri;
  }
  // Its server has it otherwise from now on, and tells.
  void edit(const std::string& uri) {
    const PostText post{.uri = uri, .author = alice.id, .tags = {"cats"}};
    json::object update = json::parse_object(update_text(post)).value();
    json::object& note = update["object"].as_object();
    note["published"] = to_rfc3339(loop.wall_now());
    note["content"] = "<p>as edited</p>";
    update["signature"] = json::object{{"type", "RsaSignature2017"}, {"signatureValue", "c2ln"}};
    internet.serve(uri, json::serialize(note));
    EXPECT_EQ(post_signed(json::serialize(update), alice).status, 202);
  }
  void tell(const HttpResponse& socket, const std::string& message) {
    run([](std::shared_ptr<HttpStream> stream, std::string text) -> Task<bool> {
      co_await stream->receive(std::move(text));
      co_return true;
    }(socket.stream, message));
  }
  std::string next(const HttpResponse& response) { return run(response.stream->next()).value_or("end"); }
  json::object message(const HttpResponse& response) {
    return json::parse_object(next(response)).value_or(json::object());
  }
  // The JSON behind "data: ".
  static json::object data(const std::string& event) {
    const std::size_t begin = event.find("data: ") + 6;
    return json::parse_object(event.substr(begin, event.size() - begin - 2)).value_or(json::object());
  }
};

TEST_F(Streaming, EventsOfAHashtagComeAsTheyArriveAndDeletionsToo) {
  const HttpResponse stream = open("/api/v1/streaming/hashtag?tag=Cats");
  ASSERT_TRUE(stream.stream);
  EXPECT_EQ(stream.headers.find("Content-Type"), "text/event-stream");
  EXPECT_EQ(next(stream), ":)\n");
  publish("other", {"dogs"});
  const std::string uri = publish("1", {"cats"});
  const std::string update = next(stream);
  EXPECT_THAT(update, StartsWith("event: update\ndata: {"));
  const json::object status = data(update);
  EXPECT_EQ(mastodon_api::wrong_fields("Status", status), "");
  EXPECT_EQ(status.at("uri"), json::value(uri));
  settle();
  EXPECT_EQ(json::parse(get("/api/v1/timelines/tag/cats").body)->as_array().at(0).at("id"), status.at("id"));
  EXPECT_EQ(post_signed(delete_text(uri, alice.id), alice).status, 202);
  EXPECT_EQ(next(stream), fmt::format("event: delete\ndata: {}\n\n", status.at("id").as_string().c_str()));
  EXPECT_EQ(next(stream), ":thump\n") << "no event, so a sign of life";
}

TEST_F(Streaming, AuthorsWhoMayNotBeFoundAreNotStreamed) {
  const HttpResponse stream = open("/api/v1/streaming/hashtag?tag=cats");
  EXPECT_EQ(next(stream), ":)\n");
  alice.indexable = false;
  internet.serve(alice);
  publish("1", {"cats"});
  EXPECT_EQ(next(stream), ":thump\n");
}

TEST_F(Streaming, EditsComeToo) {
  const HttpResponse stream = open("/api/v1/streaming/hashtag?tag=cats");
  EXPECT_EQ(next(stream), ":)\n");
  const std::string uri = publish("1", {"cats"});
  EXPECT_THAT(next(stream), StartsWith("event: update"));
  edit(uri);
  const std::string event = next(stream);
  EXPECT_THAT(event, StartsWith("event: status.update"));
  EXPECT_EQ(data(event).at("content"), "<p>as edited</p>");
}

TEST_F(Streaming, APostWhoseServerHasTooMuchToDoComesWhenItAnswers) {
  const HttpResponse stream = open("/api/v1/streaming/hashtag?tag=cats");
  EXPECT_EQ(next(stream), ":)\n");
  internet.answers["https://home.example/notes/1"] = [](const HttpCall&) { return with_status(503); };
  const std::string uri = publish("1", {"cats"});
  EXPECT_EQ(next(stream), ":thump\n");
  internet.answers.clear();
  std::string event = next(stream);
  for (int i = 0; i < 10 && event == ":thump\n"; ++i) event = next(stream);
  EXPECT_THAT(event, StartsWith("event: update"));
  EXPECT_EQ(data(event).at("uri"), json::value(uri));
  EXPECT_EQ(next(stream), ":thump\n");
}

// Servers that never answer, with so many posts each, beside one that has too much to do.
class StreamingBesideTheSilent : public Streaming {
 protected:
  static Result<HttpResponse> busy(const HttpCall& /*call*/) { return with_status(503); }
  void expect_still_tried_again(const std::vector<std::string>& hosts, int posts) {
    config::Config all = config();
    all.instances = hosts;
    all.instances.emplace_back("home.example");
    start(all);
    const HttpResponse stream = open("/api/v1/streaming/hashtag?tag=cats");
    EXPECT_EQ(next(stream), ":)\n");
    for (const std::string& host : hosts) {
      const Author author = make_author("https://" + host + "/users/mallory");
      for (int i = 0; i < posts; ++i) {
        const PostText post{
            .uri = fmt::format("https://{}/notes/{}", host, i), .author = author.id, .tags = {"cats"}};
        internet.answers[post.uri] = busy;
        json::object create = json::parse_object(create_text(post)).value();
        create["object"].as_object()["published"] = to_rfc3339(loop.wall_now());
        EXPECT_EQ(post_signed(json::serialize(create), author).status, 202);
      }
    }
    internet.answers["https://home.example/notes/1"] = busy;
    const std::string uri = publish("1", {"cats"});
    EXPECT_EQ(next(stream), ":thump\n");
    internet.answers.erase("https://home.example/notes/1");
    std::string event = next(stream);
    for (int i = 0; i < 10 && event == ":thump\n"; ++i) event = next(stream);
    EXPECT_THAT(event, StartsWith("event: update"));
  }
};

TEST_F(StreamingBesideTheSilent, PostsOfOneDomainLeaveRoomToTryThoseOfOthersAgain) {
  std::vector<std::string> hosts;
  for (int of = 0; of < 7; ++of) hosts.push_back(fmt::format("s{}.silent.example", of));
  expect_still_tried_again(hosts, 50);
}

TEST_F(StreamingBesideTheSilent, SoDoThoseOfManyDomains) {
  std::vector<std::string> hosts;
  for (int of = 0; of < 9; ++of) hosts.push_back(fmt::format("silent{}.example", of));
  expect_still_tried_again(hosts, 37);
}

TEST_F(Streaming, APostThatIsDeletedBeforeItComesDoesNotComeAfterwards) {
  const HttpResponse stream = open("/api/v1/streaming/hashtag?tag=cats");
  EXPECT_EQ(next(stream), ":)\n");
  internet.answers["https://home.example/notes/1"] = [](const HttpCall&) { return with_status(503); };
  const std::string uri = publish("1", {"cats"});
  EXPECT_EQ(next(stream), ":thump\n");
  EXPECT_EQ(post_signed(delete_text(uri, alice.id), alice).status, 202);
  EXPECT_THAT(next(stream), StartsWith("event: delete"));
  internet.answers.clear();  // a cache of its server has it for some time
  for (int i = 0; i < 20; ++i) EXPECT_EQ(next(stream), ":thump\n");
}

TEST_F(Streaming, APostThatIsEditedBeforeItComesComesOnce) {
  const HttpResponse stream = open("/api/v1/streaming/hashtag?tag=cats");
  EXPECT_EQ(next(stream), ":)\n");
  internet.answers["https://home.example/notes/1"] = [](const HttpCall&) { return with_status(503); };
  const std::string uri = publish("1", {"cats"});
  EXPECT_EQ(next(stream), ":thump\n");
  edit(uri);
  EXPECT_EQ(next(stream), ":thump\n");
  internet.answers.clear();
  std::vector<std::string> events;
  for (int i = 0; i < 20; ++i) {
    if (std::string event = next(stream); event != ":thump\n") events.push_back(std::move(event));
  }
  ASSERT_EQ(events.size(), 1U);
  EXPECT_THAT(events.front(), StartsWith("event: update")) << "it is new to readers";
  EXPECT_EQ(data(events.front()).at("content"), "<p>as edited</p>");
}

TEST_F(Streaming, APostIsNotTriedAgainForWhoHasLeft) {
  const HttpResponse stream = open("/api/v1/streaming/hashtag?tag=cats");
  EXPECT_EQ(next(stream), ":)\n");
  internet.answers["https://home.example/notes/1"] = [](const HttpCall&) { return with_status(503); };
  publish("1", {"cats"});
  EXPECT_EQ(next(stream), ":thump\n");
  stream.stream->close();
  settle(std::chrono::minutes(5));
  internet.answers.clear();
  const HttpResponse later = open("/api/v1/streaming/hashtag?tag=cats");
  EXPECT_EQ(next(later), ":)\n");
  for (int i = 0; i < 60; ++i) EXPECT_EQ(next(later), ":thump\n");
}

// [Mastodon shows a post as it was for three minutes after an edit]
TEST_F(Streaming, AnEditThatItsServerDoesNotShowYetComesWhenItDoes) {
  const HttpResponse stream = open("/api/v1/streaming/hashtag?tag=cats");
  EXPECT_EQ(next(stream), ":)\n");
  const std::string uri = publish("1", {"dogs"}, Duration(0), "<p>as it was</p>");
  internet.documents[uri].headers.add("Cache-Control", "max-age=180, public");
  settle();
  const PostText post{.uri = uri, .author = alice.id, .tags = {"cats", "dogs"}};
  const auto edit = [&](const std::string& content) {
    json::object update = json::parse_object(update_text(post)).value();
    json::object note = json::parse_object(internet.documents[uri].body).value();
    note["tag"] = note_object(post).at("tag");
    note["content"] = content;
    note["updated"] = to_rfc3339(loop.wall_now());
    update["object"] = note;
    update["signature"] = json::object{{"type", "RsaSignature2017"}, {"signatureValue", "c2ln"}};
    EXPECT_EQ(post_signed(json::serialize(update), alice).status, 202);
    return json::serialize(note);
  };
  const auto next_event = [&] {
    std::string event = next(stream);
    for (int i = 0; i < 100 && event == ":thump\n"; ++i) event = next(stream);
    return event;
  };
  std::string document = edit("<p>one</p>");
  EXPECT_EQ(next(stream), ":thump\n") << "it is not under the hashtag there";
  internet.documents[uri].body = document;
  std::string event = next_event();
  EXPECT_THAT(event, StartsWith("event: update"));
  EXPECT_EQ(data(event).at("content"), "<p>one</p>");
  document = edit("<p>two</p>");
  EXPECT_EQ(data(next_event()).at("content"), "<p>one</p>");
  internet.documents[uri].body = document;
  event = next_event();
  EXPECT_THAT(event, StartsWith("event: status.update"));
  EXPECT_EQ(data(event).at("content"), "<p>two</p>");
  EXPECT_EQ(next(stream), ":thump\n");
}

TEST_F(Streaming, WhatWasTakenDownIsNotStreamedWhenItIsChanged) {
  const HttpResponse stream = open("/api/v1/streaming/hashtag?tag=cats");
  EXPECT_EQ(next(stream), ":)\n");
  const std::string uri = publish("1", {"cats"});
  EXPECT_THAT(next(stream), StartsWith("event: update"));
  settle();
  const json::object request = {{"tag", "cats"}, {"uri", uri}, {"reason", "a court"}};
  ASSERT_EQ(control("/takedown", json::serialize(request)).status, 200);
  EXPECT_THAT(next(stream), StartsWith("event: delete"));
  int edits = 0;
  const auto edit = [&](const std::vector<std::string>& tags) {
    const PostText post{.uri = uri, .author = alice.id, .tags = tags};
    json::object update = json::parse_object(update_text(post)).value();
    json::object& note = update["object"].as_object();
    update["id"] = fmt::format("{}#updates/{}", uri, ++edits);
    note["published"] = to_rfc3339(loop.wall_now() - std::chrono::minutes(1));
    note["updated"] = to_rfc3339(loop.wall_now());
    update["signature"] = json::object{{"type", "RsaSignature2017"}, {"signatureValue", "c2ln"}};
    internet.serve(uri, json::serialize(note));
    EXPECT_EQ(post_signed(json::serialize(update), alice).status, 202);
    return next(stream);
  };
  EXPECT_EQ(edit({"cats"}), ":thump\n");
  EXPECT_THAT(edit({"dogs"}), StartsWith("event: delete"));
  EXPECT_EQ(edit({"cats", "dogs"}), ":thump\n") << "put back";
}

TEST_F(Streaming, AReaderMakesTheNodeSubscribeForAsLongAsHeReadsAndALittleLonger) {
  HttpResponse stream = open("/api/v1/streaming/hashtag?tag=cats");
  settle(Duration(100));
  EXPECT_THAT(rows("SELECT tag||' '||reason FROM wants"), ElementsAre("cats readers"));
  stream.stream->close();
  EXPECT_EQ(next(stream), ":)\n");
  EXPECT_EQ(next(stream), "end");
  settle(std::chrono::minutes(5));
  EXPECT_THAT(rows("SELECT tag FROM wants"), ElementsAre("cats"));
  settle(std::chrono::minutes(6));
  EXPECT_THAT(rows("SELECT tag FROM wants"), IsEmpty());
}

TEST_F(Streaming, SubscriptionsOfReadersEndWithTheRunOfTheNode) {
  const HttpResponse stream = open("/api/v1/streaming/hashtag?tag=cats");
  EXPECT_EQ(control("/subscribe", R"({"tags":["dogs"]})").status, 200);
  settle();
  start(config());
  settle();
  EXPECT_THAT(rows("SELECT tag FROM wants"), ElementsAre("dogs"));
}

TEST_F(Streaming, WhoReadsOnAtOnceAfterARestartIsSubscribedForAtOnce) {
  const HttpResponse before = open("/api/v1/streaming/hashtag?tag=cats");
  settle();
  prepare(config());
  database_pause = std::chrono::seconds(1);
  ASSERT_TRUE(run(node->start()));
  EXPECT_TRUE(node->subscriber().wants(Tag::from_canonical("cats")))
      << "until the former reader is forgotten";
  const HttpResponse stream = open("/api/v1/streaming/hashtag?tag=cats");
  settle(std::chrono::seconds(20));
  EXPECT_THAT(rows("SELECT tag||' '||reason FROM wants"), ElementsAre("cats readers"));
}

TEST_F(Streaming, OldPostsThatArriveNowAreNoNews) {
  const HttpResponse stream = open("/api/v1/streaming/hashtag?tag=cats");
  EXPECT_EQ(next(stream), ":)\n");
  publish("old", {"cats"}, std::chrono::hours(2));
  const std::string uri = publish("new", {"cats"});
  EXPECT_EQ(data(next(stream)).at("uri"), json::value(uri));
}

TEST_F(Streaming, AWebSocketMaySubscribeToSeveralHashtags) {
  const HttpResponse socket = open("/api/v1/streaming?stream=hashtag&tag=cats", true);
  ASSERT_TRUE(socket.stream);
  EXPECT_EQ(socket.status, 101);
  tell(socket, R"({"type":"subscribe","stream":"hashtag","tag":"Dogs"})");
  publish("1", {"cats"});
  json::object event = message(socket);
  EXPECT_EQ(event.at("stream"), json::value(json::array{"hashtag", "cats"}));
  EXPECT_EQ(event.at("event"), "update");
  const json::object status = json::parse_object(event.at("payload").as_string()).value();
  EXPECT_EQ(mastodon_api::wrong_fields("Status", status), "");
  publish("2", {"dogs"});
  EXPECT_EQ(message(socket).at("stream"), json::value(json::array{"hashtag", "Dogs"}))
      << "as the reader spelled it";
  tell(socket, R"({"type":"unsubscribe","stream":"hashtag","tag":"dogs"})");
  publish("3", {"dogs"});
  settle();
  tell(socket, R"({"type":"subscribe","stream":"user"})");
  EXPECT_EQ(message(socket), (json::object{{"error", "Unknown stream type"}}));
}

TEST_F(Streaming, AReaderWhoDoesNotKeepUpIsCutOff) {
  const HttpResponse socket = open("/api/v1/streaming?stream=hashtag&tag=cats", true);
  for (int i = 0; i < 300; ++i) tell(socket, "x");
  EXPECT_EQ(next(socket), R"({"error":"Unknown stream type"})") << "what waited is still given";
  std::string last;
  for (int i = 0; i < 300 && last != "end"; ++i) last = next(socket);
  EXPECT_EQ(last, "end");
}

TEST_F(Streaming, AReaderWhoLeavesMuchUnreadIsCutOff) {
  const HttpResponse slow = open("/api/v1/streaming/hashtag?tag=cats");
  const HttpResponse quick = open("/api/v1/streaming/hashtag?tag=cats");
  EXPECT_EQ(next(quick), ":)\n");
  for (int i = 0; i < 15; ++i) {
    publish(std::to_string(i), {"cats"}, Duration(0), "<p>" + std::string(30'000, 'x') + "</p>");
    settle();
    EXPECT_THAT(next(quick), StartsWith("event: update"));
  }
  EXPECT_EQ(next(slow), "end");
}

// Or as many as may read would hold a post of some kilobytes as many times.
TEST_F(Streaming, WhatWaitsForManyReadersIsThereOnce) {
  using mastodon_api::LiveReader;
  struct Anything final : LiveReader::Owner {
    [[nodiscard]] bool offers(const Tag&) const override { return true; }
    void listens(LiveReader*, const Tag&) override {}
    void leaves(LiveReader*, const Tag&) override {}
    void closes(LiveReader*) override {}
  } anything;
  const Tag cats = Tag::parse("cats").value();
  const auto event = std::make_shared<const LiveReader::Event>(LiveReader::Event{cats, "update", "{}"});
  LiveReader page({}, anything, /*is_socket=*/false, runtime);
  LiveReader socket({}, anything, /*is_socket=*/true, runtime);
  for (LiveReader* reader : {&page, &socket}) {
    reader->listen(cats, "Cats");
    reader->push(event);
  }
  EXPECT_EQ(event.use_count(), 3);
  EXPECT_EQ(run(page.next()), ":)\n");
  EXPECT_EQ(run(page.next()), "event: update\ndata: {}\n\n");
  EXPECT_EQ(run(socket.next()), R"({"stream":["hashtag","Cats"],"event":"update","payload":"{}"})");
  EXPECT_EQ(event.use_count(), 1);
}

TEST_F(Streaming, StreamsAreLimited) {
  std::vector<HttpResponse> streams;
  for (int i = 0; i < 32; ++i) {
    streams.push_back(open("/api/v1/streaming/hashtag?tag=cats"));
    ASSERT_TRUE(streams.back().stream) << i;
  }
  EXPECT_EQ(open("/api/v1/streaming/hashtag?tag=cats").status, 429);
  streams.pop_back();
  EXPECT_EQ(open("/api/v1/streaming/hashtag?tag=cats").status, 200);
  const HttpResponse socket = open("/api/v1/streaming", true);
  for (int i = 0; i < 21; ++i)
    tell(socket, fmt::format(R"({{"type":"subscribe","stream":"hashtag","tag":"t{}"}})", i));
  EXPECT_EQ(message(socket), (json::object{{"error", "Too many hashtags"}}));
}

TEST_F(Streaming, NoHashtagIsNormalisedForAMessageThatIsRefusedInAnyCase) {
  const HttpResponse socket = open("/api/v1/streaming", true);
  const auto say = [&](const char* type, const std::string& tag) {
    tell(socket, fmt::format(R"({{"type":"{}","stream":"hashtag","tag":"{}"}})", type, tag));
  };
  const auto answer_to = [&](const char* type, const std::string& tag) {
    say(type, tag);
    return message(socket);
  };
  const std::string none = "!";  // which one sees only by normalising it
  EXPECT_EQ(answer_to("subscribe", none), (json::object{{"error", "No such hashtag"}}));
  EXPECT_EQ(answer_to("read", none), (json::object{{"error", "Unknown message type"}}));
  for (int i = 0; i < 20; ++i) say("subscribe", fmt::format("t{}", i));
  say("subscribe", "t3");  // once more: no answer
  EXPECT_EQ(answer_to("subscribe", none), (json::object{{"error", "Too many hashtags"}}));
  say("unsubscribe", "t0");
  say("subscribe", "cats" + std::string(300, '!'));
  settle(Duration(100));
  EXPECT_THAT(rows("SELECT tag FROM wants WHERE tag = 'cats'"), IsEmpty()) << "its spelling is too long";
}

TEST_F(Streaming, AWhole48HasNoMoreThanAFewAddresses) {
  std::vector<HttpResponse> streams;
  const auto open_from = [&](const std::string& address) {
    HttpRequest request;
    request.target = "/api/v1/streaming/hashtag?tag=cats";
    request.peer = *IpAddress::parse(address);
    streams.push_back(ask(std::move(request)));
    return streams.back().status;
  };
  for (int i = 0; i < 128; ++i) ASSERT_EQ(open_from(fmt::format("2001:db8:1:{}::1", i)), 200) << i;
  EXPECT_EQ(open_from("2001:db8:1:999::1"), 429);
  EXPECT_EQ(open_from("2001:db8:2::1"), 200);
}

TEST_F(Streaming, OtherStreamsAreNotThere) {
  EXPECT_EQ(get("/api/v1/streaming/health").body, "OK");
  EXPECT_EQ(open("/api/v1/streaming").status, 404);
  EXPECT_EQ(open("/api/v1/streaming/user").status, 404);
  EXPECT_EQ(open("/api/v1/streaming?stream=user", true).status, 404);
  EXPECT_EQ(open("/api/v1/streaming/hashtag").status, 422);
  EXPECT_EQ(control("/blocks/add", R"({"kind":"tag","what":"cats","reason":"a brand"})").status, 200);
  EXPECT_EQ(open("/api/v1/streaming/hashtag?tag=cats").status, 404);
}

TEST_F(Streaming, WhoComesAndGoesLeavesOneTimerBehind) {
  const HttpResponse socket = open("/api/v1/streaming", true);
  const auto say = [&](const char* type) {
    tell(socket, fmt::format(R"({{"type":"{}","stream":"hashtag","tag":"cats"}})", type));
  };
  const auto events_while_it_ends = [&] {
    const std::uint64_t before = loop.events();
    settle(std::chrono::minutes(20));
    return loop.events() - before;
  };
  say("subscribe");
  say("unsubscribe");
  const std::uint64_t of_one = events_while_it_ends();
  EXPECT_THAT(rows("SELECT tag FROM wants"), IsEmpty());
  for (int i = 0; i < 50; ++i) {
    say("subscribe");
    say("unsubscribe");
  }
  EXPECT_LT(events_while_it_ends(), of_one + 50);
  EXPECT_THAT(rows("SELECT tag FROM wants"), IsEmpty());
}

TEST_F(Streaming, ASubscriptionLingersAfterTheLastWhoLeft) {
  const HttpResponse socket = open("/api/v1/streaming", true);
  for (int i = 0; i < 2; ++i) {
    tell(socket, R"({"type":"subscribe","stream":"hashtag","tag":"cats"})");
    tell(socket, R"({"type":"unsubscribe","stream":"hashtag","tag":"cats"})");
    if (i == 0) settle(std::chrono::minutes(9));
  }
  settle(std::chrono::minutes(5));
  EXPECT_THAT(rows("SELECT tag FROM wants"), ElementsAre("cats"));
  settle(std::chrono::minutes(6));
  EXPECT_THAT(rows("SELECT tag FROM wants"), IsEmpty());
}

TEST_F(Streaming, WhatOthersWantNoMoreIsWantedForItsReaders) {
  ASSERT_TRUE(run(node->subscriber().want({Tag::from_canonical("cats")}, "admin")));
  const HttpResponse socket = open("/api/v1/streaming/hashtag?tag=cats", true);
  settle(Duration(100));
  EXPECT_THAT(rows("SELECT reason FROM wants"), ElementsAre("admin")) << "which costs the reader nothing";
  ASSERT_TRUE(run(node->subscriber().unwant({Tag::from_canonical("cats")}, "admin")));
  settle(std::chrono::minutes(2));
  EXPECT_THAT(rows("SELECT tag FROM wants"), ElementsAre("cats"));
}

TEST_F(Streaming, AReaderWhoSendsWithoutEndIsCutOff) {
  const HttpResponse socket = open("/api/v1/streaming", true);
  for (int i = 0; i < 100; ++i) {
    tell(socket, R"({"type":"subscribe","stream":"hashtag","tag":"cats"})");
    tell(socket, R"({"type":"unsubscribe","stream":"hashtag","tag":"cats"})");
  }
  EXPECT_EQ(next(socket), "end");
}

TEST_F(Streaming, OneAddressCannotTakeTheHashtagsOfAllReaders) {
  std::vector<HttpResponse> streams;
  const auto open_from = [&](const char* address, int tag) {
    HttpRequest request;
    request.target = fmt::format("/api/v1/streaming/hashtag?tag=t{}", tag);
    request.peer = *IpAddress::parse(address);
    streams.push_back(ask(std::move(request)));
  };
  for (int i = 0; i < 30; ++i) open_from("2001:db8:1::1", i);
  streams.clear();
  for (int i = 30; i < 60; ++i) open_from("2001:db8:1::2", i);
  settle(Duration(100));
  EXPECT_EQ(rows("SELECT tag FROM wants").size(), 40) << "those that linger count too";
  open_from("2001:db8:2::1", 60);
  settle(Duration(100));
  EXPECT_EQ(rows("SELECT tag FROM wants").size(), 41);
}

}  // namespace
}  // namespace tagring::node
