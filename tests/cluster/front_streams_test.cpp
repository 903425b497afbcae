// Streams through a front: between a reader and a core that only have it in common.
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

#include "base/runtime.hpp"
#include "cluster/channel.hpp"
#include "cluster/front.hpp"
#include "cluster/fronts.hpp"
#include "net/fixture.hpp"
#include "net/stream_client.hpp"

namespace tagring::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kSocket =
    "GET /api/v1/streaming?stream=hashtag&tag=cats&access_token=abc HTTP/1.1\r\nHost: tags.example.org\r\n"
    "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: token\r\n\r\n";
constexpr const char* kEvents =
    "GET /api/v1/streaming/hashtag?tag=cats HTTP/1.1\r\nHost: tags.example.org\r\n"
    "Authorization: Bearer abc\r\n\r\n";

// What the core has for a reader: `pieces`, and then a sign of life now and then, until it is closed.
class Feed final : public HttpStream {
 public:
  explicit Feed(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
  Task<std::optional<std::string>> next() override {
    if (given_ < pieces_.size()) {
      ++given;
      co_return pieces_[given_++];
    }
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, milliseconds(20));
    co_await timer.async_wait(boost::asio::use_awaitable);
    if (closed) co_return std::nullopt;
    co_return heard_.empty() ? std::string(beats ? "+" : "") : std::exchange(heard_, "");
  }
  Task<void> receive(std::string message) override {
    heard_ = "heard " + message;
    co_return;
  }
  void close() override { closed = true; }
  bool wait_until_closed() const {
    for (int i = 0; i < 600 && !closed; ++i) std::this_thread::sleep_for(milliseconds(50));
    return closed;
  }

  bool beats = true;
  std::atomic<bool> closed = false;
  std::atomic<std::size_t> given = 0;

 private:
  std::vector<std::string> pieces_;
  std::size_t given_ = 0;
  std::string heard_;
};

// `server` is the front's, for the world.
class FrontStreams : public net::NetTest {
 protected:
  FrontStreams() {
    server::HttpServerOptions at = plain();
    at.trusted_proxies = {{.address = {}, .bits = 0}};
    auto started = server::HttpServer::start(
        at, io.get_executor(), loop.get_executor(),
        [this](HttpRequest request) { return fronts->answer(std::move(request), node); });
    EXPECT_TRUE(started);
    core = std::move(*started);
    place = fmt::format("127.0.0.1:{}", core->port());
    const Fronts::Options options{.place = place, .secret = Secret(key)};
    fronts = std::make_unique<Fronts>(options, *inside, budget, clock, log);
  }
  ~FrontStreams() override {
    stop();
    std::swap(server, core);
    stop();
  }

  static server::HttpServerOptions plain() {
    auto options = server_options();
    options.certificate_file = options.key_file = "";
    return options;
  }
  static net::HttpClientOptions one_connection() {
    auto options = client_options();
    options.connections_per_host_max = 1;
    return options;
  }
  Task<HttpResponse> answer(HttpRequest request) {
    seen = request;
    HttpResponse response;
    if (path_of(request.target) == "/other") {
      response.body = "another page";
    } else if (feed == nullptr) {
      response =
          HttpResponse{.status = 429, .headers = {{"Retry-After", "60"}}, .body = "{\"error\":\"enough\"}"};
    } else {
      response.stream = feed;
      if (request.headers.find("Upgrade")) response.status = 101;
      response.headers.add("Content-Type", "text/event-stream");
    }
    co_return response;
  }
  void begin(std::vector<std::string> pieces) { feed = std::make_shared<Feed>(std::move(pieces)); }
  void serve_world(server::HttpServerOptions options = plain()) {
    serve(options, [this](HttpRequest request) { return front.answer(std::move(request)); });
  }
  // Runs the loop of both processes in this thread while `talk` runs in another.
  template <class F>
  auto while_serving(F talk) {
    loop.restart();
    const auto working = boost::asio::make_work_guard(loop);
    bool knows_core = false;
    boost::asio::co_spawn(loop, front.get_in_touch(), [&](const std::exception_ptr&) { knows_core = true; });
    while (!knows_core) loop.run_one();
    auto result = std::async(std::launch::async, [this, talk = std::move(talk)] {
      auto value = talk();
      loop.stop();
      return value;
    });
    loop.run();
    return result.get();
  }

  std::unique_ptr<server::HttpServer> core;
  std::string place;
  HttpHandler node = [this](HttpRequest request) { return answer(std::move(request)); };
  std::shared_ptr<Feed> feed;  // null: there are too many
  HttpRequest seen;            // by the core
  net::SystemClock clock{loop.get_executor()};
  Log log = Log::off();
  Workers workers{io.get_executor()};
  budget::Manager budget{budget::default_budgets(), clock};
  const crypto::PrivateKey key = crypto::PrivateKey::ed25519_from_seed(std::string(32, 'a'));
  const federation::Identity identity{"https://tags.example.org", key};
  std::unique_ptr<net::BeastHttpClient> inside = make_client(one_connection());
  net::StreamClient streams{io.get_executor()};
  std::unique_ptr<Fronts> fronts;
  Front front{{.core = {.place = "127.0.0.1:1",
                        .secret = Secret(key),
                        .find_core = [this]() -> Task<Result<std::string>> { co_return place; }},
               .certificate = [] { return std::nullopt; }},
              identity,
              budget,
              {*client, *inside, streams, *inside},
              Runtime{clock, loop.get_executor(), workers, log, Rng(1)}};
};

TEST_F(FrontStreams, EventsArriveAsTheyAreMade) {
  begin({":)\n", "data: one\n\n"});
  serve_world();
  const std::string heard = while_serving([&] {
    const net::RawPeer reader(server->port(), 7);
    reader.say(kEvents);
    return reader.hear_until("one\n\n") + reader.hear_until("+\r\n");
  });
  EXPECT_THAT(heard, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(heard, HasSubstr("\r\nContent-Type: text/event-stream\r\n"));
  EXPECT_THAT(heard, HasSubstr("\r\nTransfer-Encoding: chunked\r\n"));
  EXPECT_EQ(seen.target, "/api/v1/streaming/hashtag?tag=cats");
  EXPECT_EQ(seen.headers.find("Authorization"), "Bearer abc");
  EXPECT_EQ(seen.peer.text(), "127.0.0.7") << "whose budget it is";
}

TEST_F(FrontStreams, AWebSocketIsSpokenWithTheCore) {
  begin({"hello"});
  feed->beats = false;
  serve_world();
  bool left = false;
  const std::string heard = while_serving([&] {
    std::string all;
    {
      const net::RawPeer reader(server->port(), 7);
      reader.say(kSocket);
      all = reader.hear_until("hello");
      reader.say(std::string("\x81\x83\0\0\0\0abc", 9));  // masked with zeros
      all += reader.hear_until("heard abc");
    }
    left = feed->wait_until_closed();
    return all;
  });
  EXPECT_THAT(heard, StartsWith("HTTP/1.1 101 Switching Protocols\r\n"));
  EXPECT_THAT(heard, HasSubstr("\r\nConnection: Upgrade\r\n"));
  EXPECT_THAT(heard, HasSubstr("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
      << "RFC 6455, 1.3";
  EXPECT_THAT(heard, HasSubstr("\r\nSec-WebSocket-Protocol: token\r\n"));
  EXPECT_THAT(heard, HasSubstr("\r\n\r\n\x81\x05hello"));
  EXPECT_THAT(heard, EndsWith("\x81\x09heard abc"));
  EXPECT_EQ(seen.target, "/api/v1/streaming?stream=hashtag&tag=cats&access_token=abc");
  EXPECT_EQ(seen.peer.text(), "127.0.0.7");
  EXPECT_TRUE(left) << "the core is told at once that the reader has left";
}

TEST_F(FrontStreams, TheEndOfAWebSocketIsThatOfTheCore) {
  begin({"hello"});
  serve_world();
  const std::string heard = while_serving([&] {
    const net::RawPeer reader(server->port());
    reader.say(kSocket);
    std::string all = reader.hear_until("hello");
    feed->closed = true;
    all += reader.hear_until(std::string("\x88\x02\x03\xe8", 4));
    reader.say(std::string("\x88\x82\0\0\0\0\x03\xe8", 8));
    return all + reader.hear_all();
  });
  EXPECT_THAT(heard, EndsWith(std::string("\x88\x02\x03\xe8", 4))) << "1000: normal";
}

TEST_F(FrontStreams, WhatTheCoreRefusesIsRefused) {
  serve_world();
  for (const std::string ask : {kEvents, kSocket}) {
    const std::string heard = while_serving([&] {
      const net::RawPeer reader(server->port());
      reader.say(ask);
      return reader.hear_until("}");
    });
    EXPECT_THAT(heard, StartsWith("HTTP/1.1 429 "));
    EXPECT_THAT(heard, HasSubstr("\r\nRetry-After: 60\r\n"));
    EXPECT_THAT(heard, EndsWith("{\"error\":\"enough\"}"));
  }
}

// The limits of bodies are not those of streams, and pieces may be larger than what is read at once.
TEST_F(FrontStreams, MuchArrivesWhole) {
  constexpr std::size_t kSize = 1U << 20U;
  std::vector<std::string> pieces;
  for (const char c : std::string_view("abcdefghijkl")) pieces.push_back(std::string(kSize, c));
  begin(pieces);
  feed->closed = true;  // ends after them
  serve_world();
  const std::string heard = while_serving([&] {
    const net::RawPeer reader(server->port());
    reader.say("GET /api/v1/streaming/hashtag HTTP/1.0\r\n\r\n");
    return reader.hear_all();
  });
  const std::size_t begins = heard.find("\r\n\r\n") + 4;
  ASSERT_EQ(heard.size() - begins, 12 * kSize);
  for (std::size_t i = 0; i < 12 * kSize; ++i) {
    if (heard[begins + i] != static_cast<char>('a' + i / kSize)) FAIL() << i;
  }
}

TEST_F(FrontStreams, WhoDoesNotReadIsCutOffAndHasNothingHeldForThem) {
  for (const std::string ask : {kEvents, kSocket}) {
    begin(std::vector<std::string>(200, std::string(1U << 20U, 'x')));
    auto options = plain();
    options.stream_timeout = milliseconds(300);
    serve_world(options);
    const bool is_cut_off = while_serving([&] {
      const net::RawPeer reader(server->port());
      reader.say(ask);
      return feed->wait_until_closed();
    });
    EXPECT_TRUE(is_cut_off);
    EXPECT_LT(feed->given, 50U) << "the kernels of both took what they take";
    stop();
  }
}

TEST_F(FrontStreams, WhoAsksOnlyAboutAStreamLeavesNone) {
  begin({"hello"});
  serve_world();
  const std::string heard = while_serving([&] {
    const net::RawPeer reader(server->port());
    reader.say("HEAD /api/v1/streaming/hashtag HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    std::string all = reader.hear_all();
    return feed->wait_until_closed() ? all : "it is open";
  });
  EXPECT_THAT(heard, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(heard, EndsWith("\r\n\r\n"));
}

TEST_F(FrontStreams, TheCoreNoticesThatAReaderOfEventsHasLeft) {
  begin({});
  serve_world();
  EXPECT_TRUE(while_serving([&] {
    {
      const net::RawPeer reader(server->port());
      reader.say(kEvents);
      (void)reader.hear_until("+");
    }
    return feed->wait_until_closed();
  }));
}

TEST_F(FrontStreams, AStreamEndsWithTheFrontAndTheCoreNotices) {
  for (const std::string ask : {kEvents, kSocket}) {
    begin({"hello"});
    serve_world();
    EXPECT_TRUE(while_serving([&] {
      const net::RawPeer reader(server->port());
      reader.say(ask);
      (void)reader.hear_until("hello");
      server.reset();
      (void)reader.hear_all();
      return feed->wait_until_closed();
    }));
  }
}

TEST_F(FrontStreams, AStreamEndsWithTheCore) {
  serve_world();
  begin({"hello"});
  const std::string heard = while_serving([&] {
    const net::RawPeer events(server->port());
    const net::RawPeer socket(server->port());
    events.say(kEvents);
    (void)events.hear_until("hello");
    socket.say(kSocket);
    (void)socket.hear_until("+");
    core.reset();
    (void)socket.hear_all();
    return events.hear_all();
  });
  EXPECT_THAT(heard, EndsWith("0\r\n\r\n"));
}

TEST_F(FrontStreams, NoneTakesAConnectionFromOtherCalls) {
  serve_world();
  begin({"hello"});
  const std::string heard = while_serving([&] {
    const net::RawPeer one(server->port());
    const net::RawPeer two(server->port());
    one.say(kEvents);
    two.say(kSocket);
    (void)one.hear_until("+");
    (void)two.hear_until("+");
    const net::RawPeer other(server->port());
    other.say("GET /other HTTP/1.1\r\nHost: tags.example.org\r\nConnection: close\r\n\r\n");
    return other.hear_all();
  });
  EXPECT_THAT(heard, EndsWith("another page"));
}

TEST_F(FrontStreams, WithoutACoreThereAreNone) {
  core.reset();
  serve_world();
  const std::string heard = while_serving([&] {
    const net::RawPeer reader(server->port());
    reader.say(kEvents);
    return reader.hear_until("}");
  });
  EXPECT_THAT(heard, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(heard, HasSubstr("\r\nRetry-After: 5\r\n"));
}

}  // namespace
}  // namespace tagring::cluster
