#include "server/http_server.hpp"

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <future>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>

#include "budget/metered.hpp"
#include "net/control_socket.hpp"
#include "net/fixture.hpp"
#include "server/stream_writer.hpp"

namespace tagring::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PlainServerTest : public NetTest {
 protected:
  SystemClock clock{loop.get_executor()};
  static server::HttpServerOptions plain() {
    auto options = server_options();
    options.certificate_file = options.key_file = "";
    return options;
  }
  static bool is_served(const RawPeer& peer) {
    peer.say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    return peer.hear_until("GET / 0").contains("GET / 0");
  }
  // Runs the node's loop in this thread while `talk` runs in another.
  template <class F>
  auto while_serving(F talk) {
    loop.restart();
    const auto working = boost::asio::make_work_guard(loop);
    auto result = std::async(std::launch::async, [this, talk = std::move(talk)] {
      auto value = talk();
      loop.stop();
      return value;
    });
    loop.run();
    return result.get();
  }
  std::string dialogue(const std::string& text) {
    return while_serving([&] {
      const RawPeer peer(server->port());
      peer.say(text);
      return peer.hear_all();
    });
  }
};

TEST_F(PlainServerTest, AnswersPipelinedRequestsInOrder) {
  serve(plain(), echo);
  const std::string answer = dialogue(
      "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
      "GET /3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const auto first = answer.find("GET /1 0");
  const auto second = answer.find("POST /2 3");
  const auto third = answer.find("GET /3 0");
  ASSERT_NE(third, std::string::npos) << answer;
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
}

TEST_F(PlainServerTest, ClosesAfterHttp10UnlessAskedToKeep) {
  serve(plain(), echo);
  EXPECT_NE(dialogue("GET / HTTP/1.0\r\n\r\n").find("Connection: close"), std::string::npos);
  const std::string kept =
      dialogue("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\n");
  EXPECT_NE(kept.find("GET /2 0"), std::string::npos) << kept;
}

TEST_F(PlainServerTest, RefusesGarbage) {
  serve(plain(), [](HttpRequest) -> Task<HttpResponse> {
    ADD_FAILURE() << "garbage reached the handler";
    co_return HttpResponse{};
  });
  for (const char* garbage :
       {"\x16\x03\x01\x02\x01garbage\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        "GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: "
        "chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"}) {
    EXPECT_TRUE(dialogue(garbage).starts_with("HTTP/1.1 400 ")) << garbage;
  }
}

TEST_F(PlainServerTest, ABodyOfUnknownLengthIsNeverTheNextRequest) {
  serve(plain(), [](HttpRequest) -> Task<HttpResponse> {
    ADD_FAILURE() << "reached the handler";
    co_return HttpResponse{};
  });
  for (const char* coding : {"xchunked", "gzip", "identity", "chunked, identity", "\"chunked\"", "",
                             "\xA0"
                             "chunked",
                             "gzip, chunked", "chunked, chunked", "chunked\r\nTransfer-Encoding: gzip"}) {
    const std::string answer =
        dialogue(fmt::format("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: {}\r\n\r\n"
                             "GET /next HTTP/1.1\r\nHost: x\r\n\r\n",
                             coding));
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 501 ") || answer.starts_with("HTTP/1.1 400 "))
        << coding << answer;
    EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos) << coding << answer;
  }
  EXPECT_TRUE(dialogue("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
                  .starts_with("HTTP/1.1 400 "));
}

TEST_F(PlainServerTest, HostMustNameAHost) {
  serve(plain(), echo);
  const auto status = [&](const std::string& host) {
    return dialogue("GET / HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n").substr(9, 3);
  };
  for (const char* host : {"", "a b/c@d", "a/b", "user@a", "a:b", "[::1", "[zz]", "a:80:80", "a,\x7F"})
    EXPECT_EQ(status(host), "400") << host;
  for (const char* host :
       {"a", "a.example:443", "192.0.2.1:8443", "[2001:db8::1]:443", "[2001:db8::1]", "A_b.example:"})
    EXPECT_EQ(status(host), "200") << host;
}

TEST_F(PlainServerTest, ReadsTheFirstLineAsRfc9112Says) {
  serve(plain(), echo);
  const auto status = [&](const std::string& line) {
    return dialogue(line + "\r\nHost: x\r\nConnection: close\r\n\r\n").substr(9, 3);
  };
  EXPECT_EQ(status("\r\n\r\nGET / HTTP/1.1"), "200") << "empty lines come before it";
  EXPECT_EQ(status("GET / HTTP/1.2"), "200");
  EXPECT_EQ(status("GET / HTTP/2.0"), "505");
  EXPECT_EQ(status("GET / HTTP/0.9"), "400");
  EXPECT_EQ(status("GET / http/1.1"), "400");
  EXPECT_TRUE(dialogue("GET /\r\n\r\n").starts_with("HTTP/1.1 400 ")) << "and does not wait for more";
  EXPECT_TRUE(dialogue(std::string(40'000, 'x')).starts_with("HTTP/1.1 431 "));
}

TEST_F(PlainServerTest, AWholeUrlAsTargetNamesTheHostItself) {
  serve(plain(), [](HttpRequest request) -> Task<HttpResponse> {
    co_return HttpResponse{.status = 200,
                           .headers = {},
                           .body = request.target + " at " + request.headers.joined("Host").value_or("?")};
  });
  const auto answer = [&](const std::string& target) {
    const std::string whole =
        dialogue("GET " + target + " HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n");
    return whole.substr(9, 4) + whole.substr(whole.find("\r\n\r\n") + 4);
  };
  EXPECT_EQ(answer("https://tags.example/actor?a=b"), "200 /actor?a=b at tags.example");
  EXPECT_EQ(answer("HTTP://Tags.Example:8080"), "200 / at tags.example:8080");
  EXPECT_EQ(answer("/actor"), "200 /actor at other.example");
  EXPECT_EQ(answer("ftp://tags.example/actor"), "400 ");
  EXPECT_EQ(answer("https://me@tags.example/actor"), "400 ");
  EXPECT_EQ(answer("actor"), "400 ");
  const std::string whole = "GET https://tags.example/ HTTP/1.1\r\n";
  EXPECT_TRUE(dialogue(whole + "\r\n").starts_with("HTTP/1.1 400 ")) << "without a Host";
  EXPECT_TRUE(dialogue(whole + "Host: a\r\nHost: b\r\n\r\n").starts_with("HTTP/1.1 400 ")) << "with two";
}

TEST_F(PlainServerTest, SaysThatTheAnswerDependsOnTheCodingAskedFor) {
  serve(plain(), [](HttpRequest) -> Task<HttpResponse> {
    co_return HttpResponse{.status = 200,
                           .headers = {{"Content-Type", "text/html"}, {"Vary", "Accept"}},
                           .body = std::string(5000, 'x')};
  });
  for (const char* coding : {"", "Accept-Encoding: gzip\r\n"}) {
    const std::string answer =
        dialogue(std::string("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n") + coding + "\r\n");
    EXPECT_NE(answer.find("\r\nVary: Accept, Accept-Encoding\r\n"), std::string::npos)
        << answer.substr(0, 400);
    EXPECT_EQ(answer.contains("Content-Encoding: gzip"), *coding != 0);
  }
}

TEST_F(PlainServerTest, ABodyThatIsCompressedIsRefusedAsThat) {
  serve(plain(), echo);
  const auto answer_to = [&](const std::string& coding) {
    return dialogue(
        fmt::format("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Encoding: {}\r\n"
                    "Content-Length: 1\r\n\r\nx",
                    coding));
  };
  for (const char* coding : {"gzip", "br", "identity, gzip"}) {
    const std::string answer = answer_to(coding);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 415 ")) << answer;
    EXPECT_TRUE(answer.contains("\r\nAccept-Encoding: identity\r\n")) << answer;
  }
  for (const char* coding : {"", "Identity"})
    EXPECT_TRUE(answer_to(coding).starts_with("HTTP/1.1 200 ")) << coding;
}

TEST_F(PlainServerTest, WhoSpeaksHttp10IsNotToldToGoOn) {
  serve(plain(), echo);
  const std::string answer =
      dialogue("POST / HTTP/1.0\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
}

TEST_F(PlainServerTest, RefusesHeadersAndBodiesOverTheLimit) {
  auto options = plain();
  options.body_size_max = 1000;
  serve(options, echo);
  EXPECT_TRUE(dialogue("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n")
                  .starts_with("HTTP/1.1 431 "));
  EXPECT_TRUE(
      dialogue("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n").starts_with("HTTP/1.1 413 "));
  const std::string chunk = "3e8\r\n" + std::string(1000, 'x') + "\r\n";
  EXPECT_TRUE(dialogue("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + chunk)
                  .starts_with("HTTP/1.1 413 "));
}

TEST_F(NetTest, TheClientSeesThatItsBodyWasTooLarge) {
  serve(echo);
  HttpCall post = call("POST", "/");
  post.body = std::string(3U << 20U, 'x');
  const auto response = send(post);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 413);
}

TEST_F(PlainServerTest, AllowsABodyThatWasAnnounced) {
  serve(plain(), echo);
  const std::string answer = while_serving([&] {
    const RawPeer peer(server->port());
    peer.say(
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\nConnection: "
        "close\r\n\r\n");
    EXPECT_EQ(peer.hear_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    peer.say("abc");
    return peer.hear_all();
  });
  EXPECT_NE(answer.find("POST / 3"), std::string::npos) << answer;
}

TEST_F(PlainServerTest, IgnoresTrailerFields) {
  std::optional<HttpRequest> seen;
  serve(plain(), [&](HttpRequest request) -> Task<HttpResponse> {
    seen = request;
    return echo(std::move(request));
  });
  const std::string answer = dialogue(
      "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n0\r\nSignature: late\r\n\r\n");
  ASSERT_TRUE(seen) << answer;
  EXPECT_EQ(seen->body, "abc");
  EXPECT_FALSE(seen->headers.find("Signature"));
}

TEST_F(PlainServerTest, CutsASlowPeer) {
  auto options = plain();
  options.request_timeout = milliseconds(150);
  serve(options, echo);
  const bool cut = while_serving([&] {
    const RawPeer peer(server->port());
    // A byte now and then must not extend the time.
    const Instant start = steady_now();
    peer.say("GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    while (steady_now() - start < seconds(5) && peer.drip()) std::this_thread::sleep_for(milliseconds(20));
    return steady_now() - start < seconds(5);
  });
  EXPECT_TRUE(cut);
}

TEST_F(PlainServerTest, ClosesAnIdleConnection) {
  auto options = plain();
  options.idle_timeout = milliseconds(100);
  serve(options, echo);
  const bool closed = while_serving([&] {
    const RawPeer peer(server->port());
    return peer.hear_all().empty();
  });
  EXPECT_TRUE(closed);
}

TEST_F(PlainServerTest, LimitsTheConnectionsOfAPeer) {
  auto options = plain();
  budget::Budgets budgets = budget::default_budgets();
  budgets[0] = {100, 2, 0, {}};
  budget::Manager budget(budgets, clock);
  options.budget = &budget;
  serve(options, echo);
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string third = while_serving([&] {
    const RawPeer one(server->port());
    const RawPeer two(server->port());
    one.say(request);
    two.say(request);
    EXPECT_NE(one.hear_until("GET / 0"), "");
    EXPECT_NE(two.hear_until("GET / 0"), "");
    const RawPeer three(server->port());
    return three.hear_all();
  });
  EXPECT_EQ(third, "");
  stop();  // while there is a budget
}

// Processes of the node bring what strangers ask, who have had their share of connections elsewhere.
TEST_F(PlainServerTest, CountsNoConnectionsWhereItIsToldNotTo) {
  auto options = plain();
  budget::Budgets budgets = budget::default_budgets();
  budgets[0] = {100, 2, 0, {}};
  budget::Manager budget(budgets, clock);
  options.budget = &budget;
  options.counts_connections = false;
  serve(options, echo);
  while_serving([&] {
    std::vector<std::unique_ptr<RawPeer>> peers;
    for (int i = 0; i < 5; ++i) {
      peers.push_back(std::make_unique<RawPeer>(server->port()));
      peers.back()->say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      EXPECT_NE(peers.back()->hear_until("GET / 0"), "") << i;
    }
    return true;
  });
  stop();  // while there is a budget
}

TEST_F(PlainServerTest, WhatAFrontSaysForItselfIsHeardWhenStrangersHaveUsedUpTheirShare) {
  auto options = plain();
  budget::Budgets budgets = budget::default_budgets();
  budgets.at(static_cast<std::size_t>(budget::Resource::kBodies)) = {4'000, 500, 0, {}};
  budget::Manager budget(budgets, clock);
  options.budget = &budget;
  options.counts_connections = false;
  options.trusted_proxies = {{.address = {}, .bits = 0}};
  serve(options, echo);
  const auto post = [&](const std::string& on_behalf) {
    return while_serving([&] {
      const RawPeer front(server->port(), 2);
      front.say(
          fmt::format("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{}Content-Length: 1000\r\n\r\n{}",
                      on_behalf, std::string(1'000, 'x')));
      return front.hear_all().substr(0, 12);
    });
  };
  EXPECT_EQ(post("X-Forwarded-For: 203.0.113.9\r\n"), "HTTP/1.1 503");
  EXPECT_EQ(post(""), "HTTP/1.1 200");
  stop();  // while there is a budget
}

TEST_F(PlainServerTest, WhoComesTooOftenIsNotShakenHandsWith) {
  auto options = plain();
  budget::Budgets budgets = budget::default_budgets();
  budgets.at(static_cast<std::size_t>(budget::Resource::kArrivals)) = {100, 2, 0, std::chrono::hours(1)};
  budget::Manager budget(budgets, clock);
  options.budget = &budget;
  serve(options, echo);
  const auto is_served = [&](std::uint8_t last) {
    const RawPeer peer(server->port(), last);
    peer.say("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    return peer.hear_all().contains("GET / 0");
  };
  const std::vector<bool> served =
      while_serving([&] { return std::vector{is_served(2), is_served(2), is_served(2), is_served(3)}; });
  EXPECT_EQ(served, (std::vector{true, true, false, true}));
  stop();  // while there is a budget
}

TEST_F(PlainServerTest, WhoHasMostConnectionsMakesRoom) {
  auto options = plain();
  budget::Budgets budgets = budget::default_budgets();
  budgets[0] = {12, 6, 0, {}};  // 9 for strangers
  budget::Manager budget(budgets, clock);
  budget.note_known(*IpAddress::parse("127.0.0.9"));
  options.budget = &budget;
  serve(options, echo);
  const bool all = while_serving([&] {
    std::vector<std::unique_ptr<RawPeer>> peers;
    for (const int last : {2, 2, 2, 2, 2, 2, 3, 3, 3}) {
      peers.push_back(std::make_unique<RawPeer>(server->port(), static_cast<std::uint8_t>(last)));
      EXPECT_TRUE(is_served(*peers.back())) << last;
    }
    const RawPeer newcomer(server->port(), 4);
    EXPECT_TRUE(is_served(newcomer));
    const auto served = std::ranges::count_if(peers, [&](const auto& peer) { return is_served(*peer); });
    EXPECT_EQ(served, 8);
    for (std::size_t i = 6; i < 9; ++i) EXPECT_TRUE(is_served(*peers[i])) << "who has few keeps them";
    const RawPeer heavy(server->port(), 3);
    EXPECT_TRUE(is_served(heavy)) << "five of 2, four of 3";
    const RawPeer heaviest(server->port(), 2);
    EXPECT_EQ(heaviest.hear_all(), "") << "nobody has more";
    const RawPeer known(server->port(), 9);
    EXPECT_TRUE(is_served(known)) << "there is room that strangers cannot take";
    return true;
  });
  EXPECT_TRUE(all);
  stop();
}

TEST_F(PlainServerTest, WhoIsKnownMakesRoomForAnotherWhoIs) {
  auto options = plain();
  budget::Budgets budgets = budget::default_budgets();
  budgets[0] = {8, 6, 0, {}};
  budget::Manager budget(budgets, clock);
  for (const char* known : {"127.0.0.7", "127.0.0.8", "127.0.0.9"})
    budget.note_known(*IpAddress::parse(known));
  options.budget = &budget;
  serve(options, echo);
  const bool all = while_serving([&] {
    std::vector<std::unique_ptr<RawPeer>> peers;
    for (const int last : {9, 8, 8, 8, 8, 8, 8, 8}) {
      peers.push_back(std::make_unique<RawPeer>(server->port(), static_cast<std::uint8_t>(last)));
      EXPECT_TRUE(is_served(*peers.back())) << last;
    }
    const RawPeer stranger(server->port(), 2);
    EXPECT_EQ(stranger.hear_all(), "");
    const RawPeer newcomer(server->port(), 7);
    EXPECT_TRUE(is_served(newcomer));
    const auto served = std::ranges::count_if(peers, [&](const auto& peer) { return is_served(*peer); });
    EXPECT_EQ(served, 7);
    EXPECT_TRUE(is_served(*peers.front())) << "who has few keeps them";
    return true;
  });
  EXPECT_TRUE(all);
  stop();
}

void keep_busy(Duration time) {
  const auto spent = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  for (const auto begun = spent(); spent() - begun < time;) continue;
}

// Waits for a while, and then works.
Task<HttpResponse> work(HttpRequest request) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor,
                                  milliseconds(request.target == "/waits" ? 100 : 1));
  co_await timer.async_wait(boost::asio::use_awaitable);
  if (request.target == "/works") keep_busy(milliseconds(60));
  co_return HttpResponse{};
}

TEST_F(PlainServerTest, WhoHasHadTheirTimeOfTheLoopGetsNoMore) {
  auto options = plain();
  budget::Budgets budgets = budget::default_budgets();
  budgets.at(static_cast<std::size_t>(budget::Resource::kLoop)) = {0, 50'000, 0, std::chrono::hours(1)};
  budget::Manager budget(budgets, clock);
  options.budget = &budget;
  serve(options, work);
  const auto ask = [&](std::uint8_t last) {
    return while_serving([&] {
      const RawPeer peer(server->port(), last);
      for (const char* target : {"/waits", "/works", "/more"})
        peer.say(fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", target));
      peer.say("GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      std::string statuses;
      const std::string all = peer.hear_all();
      for (std::size_t at = 0; (at = all.find("HTTP/1.1 ", at)) != std::string::npos; ++at)
        statuses += all.substr(at + 9, 4);
      if (all.contains("HTTP/1.1 429 ")) EXPECT_TRUE(all.contains("Retry-After: ")) << all;
      return statuses;
    });
  };
  EXPECT_EQ(ask(2), "200 200 429 429 ");
  EXPECT_EQ(ask(2), "429 429 429 429 ");
  EXPECT_EQ(ask(3), "200 200 429 429 ") << "another";
  EXPECT_EQ(ask(1), "200 200 200 200 ") << "this machine";
  stop();  // while there is a budget
}

TEST_F(PlainServerTest, WhoHasHadTheirTimeOfTheDatabaseReadsNoMore) {
  auto options = plain();
  budget::Budgets budgets = budget::default_budgets();
  budgets.at(static_cast<std::size_t>(budget::Resource::kDatabase)) = {0, 50'000, 0, std::chrono::hours(1)};
  budget::Manager budget(budgets, clock);
  options.budget = &budget;
  serve(options, [](HttpRequest request) -> Task<HttpResponse> {
    const Executor here = co_await boost::asio::this_coro::executor;
    const auto* metered = here.target<budget::Metered>();
    if (metered == nullptr) co_return HttpResponse{.status = 204, .headers = {}, .body = {}};
    metered->meter()->charge_database(milliseconds(60));
    const bool is_refused = request.method == "GET";
    EXPECT_EQ(metered->meter()->may_read(), !is_refused) << "what is sent is heard to its end";
    co_return HttpResponse{};
  });
  const auto ask = [&](std::uint8_t last, const std::string& method) {
    return while_serving([&] {
      std::string statuses;
      for (int i = 0; i < 2; ++i) {
        const RawPeer peer(server->port(), last);
        peer.say(method + " / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        statuses += peer.hear_all().substr(9, 4);
      }
      return statuses;
    });
  };
  EXPECT_EQ(ask(2, "GET"), "200 429 ");
  EXPECT_EQ(ask(3, "POST"), "200 200 ") << "a node, whose readers have had it";
  EXPECT_EQ(ask(1, "GET"), "204 204 ") << "this machine";
  stop();  // while there is a budget
}

TEST_F(PlainServerTest, BodiesThatWaitTakeTheBudgetOfTheirSender) {
  auto options = plain();
  budget::Budgets budgets = budget::default_budgets();
  budgets.at(static_cast<std::size_t>(budget::Resource::kBodies)) = {4'000, 1'500, 0, {}};
  budget::Manager budget(budgets, clock);
  options.budget = &budget;
  serve(options, echo);
  const std::string begin = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1000\r\n\r\n";
  const bool all = while_serving([&] {
    const RawPeer first(server->port());
    first.say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_NE(first.hear_until("GET / 0"), "");
    first.say("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n");
    EXPECT_TRUE(first.hear_until("\r\n\r\n").contains(" 100 "));
    const RawPeer second(server->port());
    second.say(begin);
    const std::string refused = second.hear_all();
    EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused;
    EXPECT_TRUE(refused.contains("Retry-After: ")) << refused;
    first.say(std::string(1'000, 'x'));
    EXPECT_TRUE(first.hear_until("POST / 1000").contains("POST / 1000"));
    const RawPeer third(server->port());
    third.say(begin + std::string(1'000, 'x'));
    return third.hear_all().contains("POST / 1000");
  });
  EXPECT_TRUE(all) << "given back with the answer";
  stop();
}

// Bodies that are begun, and what they take of the budget.
class BodiesTest : public PlainServerTest {
 protected:
  std::optional<budget::Manager> budget;

  // Three quarters of `total` are for strangers. 127.0.0.8 and 127.0.0.9 are known.
  void serve_with(std::uint64_t total, std::uint64_t each, HttpHandler handler = echo) {
    budget::Budgets budgets = budget::default_budgets();
    budgets.at(static_cast<std::size_t>(budget::Resource::kBodies)) = {total, each, 0, {}};
    budget.emplace(budgets, clock);
    for (const char* known : {"127.0.0.8", "127.0.0.9"}) budget->note_known(*IpAddress::parse(known));
    auto options = plain();
    options.budget = &*budget;
    serve(options, std::move(handler));
  }
  [[nodiscard]] bool is_used(std::uint64_t size) const {
    for (int i = 0; i < 200 && budget->used(budget::Resource::kBodies) != size; ++i)
      std::this_thread::sleep_for(milliseconds(10));
    return budget->used(budget::Resource::kBodies) == size;
  }
  // So much of so much.
  [[nodiscard]] std::unique_ptr<RawPeer> begin(std::uint8_t last, std::size_t size, std::size_t of) const {
    auto peer = std::make_unique<RawPeer>(server->port(), last);
    peer->say(fmt::format("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}",
                          of, std::string(size, 'x')));
    return peer;
  }
  [[nodiscard]] std::string post(std::uint8_t last, std::size_t size) const {
    return begin(last, size, size)->hear_all();
  }
  static bool is_open(const RawPeer& peer) { return peer.drip(); }
};

TEST_F(BodiesTest, WhoOnlySaysThatOneWillComeTakesNothingFromOthers) {
  serve_with(400'000, 100'000);
  while_serving([&] {
    std::vector<std::unique_ptr<RawPeer>> silent;
    for (const std::uint8_t last : {2, 3, 4, 5}) {
      silent.push_back(std::make_unique<RawPeer>(server->port(), last));
      silent.back()->say(
          "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\nExpect: 100-continue\r\n\r\n");
      EXPECT_TRUE(silent.back()->hear_until("\r\n\r\n").contains(" 100 "));
    }
    EXPECT_LE(budget->used(budget::Resource::kBodies), 4U * (16U << 10U));
    EXPECT_TRUE(post(6, 100'000).contains("POST / 100000"));
    for (const auto& peer : silent) EXPECT_TRUE(is_open(*peer));
    return true;
  });
  stop();  // while there is a budget
}

TEST_F(BodiesTest, OneIsReadInWhateverPiecesItComes) {
  serve_with(400'000, 300'000, [](HttpRequest request) -> Task<HttpResponse> {
    HttpResponse response;
    response.body = std::move(request.body);
    co_return response;
  });
  std::string text;
  for (std::size_t i = 0; i < 100'000; ++i) text += static_cast<char>('a' + i % 23);
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
  std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  for (std::size_t at = 0; at < text.size(); at += 20'000)
    chunked += fmt::format("{:x}\r\n{}\r\n", 20'000, text.substr(at, 20'000));
  EXPECT_TRUE(dialogue(chunked + "0\r\n\r\n").ends_with("\r\n\r\n" + text));
  EXPECT_TRUE(dialogue(head + "Content-Length: 100000\r\n\r\n" + text).ends_with("\r\n\r\n" + text));
  EXPECT_TRUE(is_used(0));
  stop();
}

TEST_F(BodiesTest, WhoHasMostThatIsNotWholeMakesRoom) {
  serve_with(400'000, 200'000);
  while_serving([&] {
    const auto oldest = begin(2, 90'000, 100'000);
    EXPECT_TRUE(is_used(100'000));
    const auto next = begin(2, 90'000, 100'000);
    EXPECT_TRUE(is_used(200'000));
    const auto few = begin(3, 60'000, 61'000);
    EXPECT_TRUE(is_used(261'000));
    EXPECT_TRUE(post(4, 60'000).contains("POST / 60000"));
    EXPECT_EQ(oldest->hear_all(), "");
    few->say(std::string(1'000, 'x'));
    EXPECT_TRUE(few->hear_all().contains("POST / 61000")) << "who has few keeps it";
    next->say(std::string(10'000, 'x'));
    EXPECT_TRUE(next->hear_all().contains("POST / 100000"));
    return true;
  });
  EXPECT_TRUE(is_used(0));
  stop();
}

TEST_F(BodiesTest, WhoHasAsMuchMakesNone) {
  serve_with(400'000, 150'000);
  while_serving([&] {
    std::vector<std::unique_ptr<RawPeer>> peers;
    for (const std::uint8_t last : {2, 3, 4}) peers.push_back(begin(last, 90'000, 100'000));
    EXPECT_TRUE(is_used(300'000));
    EXPECT_TRUE(post(2, 20'000).starts_with("HTTP/1.1 503 "));
    for (const auto& peer : peers) EXPECT_TRUE(is_open(*peer));
    return true;
  });
  stop();
}

TEST_F(BodiesTest, WhatIsDealtWithMakesNone) {
  std::atomic<bool> has_begun = false;
  std::atomic<bool> may_end = false;
  serve_with(200'000, 150'000, [&](HttpRequest request) -> Task<HttpResponse> {
    has_begun = true;
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
    while (!may_end) {
      timer.expires_after(milliseconds(10));
      co_await timer.async_wait(boost::asio::use_awaitable);
    }
    HttpResponse response = co_await echo(std::move(request));
    co_return response;
  });
  while_serving([&] {
    const auto whole = begin(2, 140'000, 140'000);
    for (int i = 0; i < 200 && !has_begun; ++i) std::this_thread::sleep_for(milliseconds(10));
    EXPECT_TRUE(has_begun);
    const std::string refused = post(3, 60'000);
    EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused;
    EXPECT_TRUE(refused.contains("Retry-After: ")) << refused;
    may_end = true;
    EXPECT_TRUE(whole->hear_all().contains("POST / 140000"));
    return true;
  });
  stop();
}

TEST_F(BodiesTest, WhatIsNotWholeMakesRoomForAnAnswerToo) {
  serve_with(400'000, 150'000, [](HttpRequest) -> Task<HttpResponse> {
    co_return HttpResponse{.status = 200, .headers = {}, .body = std::string(60'000, 'x')};
  });
  while_serving([&] {
    std::vector<std::unique_ptr<RawPeer>> peers;
    for (const std::uint8_t last : {2, 3, 4}) {
      peers.push_back(begin(last, 90'000, 100'000));
      EXPECT_TRUE(is_used(peers.size() * 100'000));
    }
    const RawPeer reader(server->port(), 5);
    reader.say("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(reader.hear_all().starts_with("HTTP/1.1 200 "));
    EXPECT_EQ(peers[0]->hear_all(), "");
    EXPECT_TRUE(is_open(*peers[1]) && is_open(*peers[2]));
    return true;
  });
  stop();
}

TEST_F(BodiesTest, AnswersThatNobodyTakesMakeRoomForThoseOfOthers) {
  constexpr std::size_t kSize = 48U << 20U;  // more than the system takes in advance, on both sides
  serve_with(160U << 20U, 100U << 20U, [](HttpRequest) -> Task<HttpResponse> {
    co_return HttpResponse{.status = 200, .headers = {}, .body = std::string(kSize, 'x')};
  });
  while_serving([&] {
    std::vector<std::unique_ptr<RawPeer>> silent;
    for (std::uint64_t count = 1; count <= 2; ++count) {
      silent.push_back(std::make_unique<RawPeer>(server->port(), 2));
      silent.back()->say("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      EXPECT_TRUE(silent.back()->hear_until("\r\n\r\n").starts_with("HTTP/1.1 200 "));
      EXPECT_TRUE(is_used(count * kSize));
    }
    const RawPeer reader(server->port(), 5);
    reader.say("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const std::string answer = reader.hear_all();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer.substr(0, 100);
    EXPECT_GT(answer.size(), kSize);
    EXPECT_LT(silent[0]->hear_all().size(), kSize / 2) << "it was cut off";
    EXPECT_GT(silent[1]->hear_all().size(), kSize / 2);
    return true;
  });
  EXPECT_TRUE(is_used(0));
  stop();
}

TEST_F(BodiesTest, WhoIsKnownMakesRoomOnlyForAnotherWhoIs) {
  serve_with(400'000, 300'000);
  while_serving([&] {
    std::vector<std::unique_ptr<RawPeer>> peers;
    for (std::uint64_t count = 1; count <= 3; ++count) {
      peers.push_back(begin(9, 90'000, 100'000));
      EXPECT_TRUE(is_used(count * 100'000));
    }
    EXPECT_TRUE(post(2, 100'000).starts_with("HTTP/1.1 503 "));
    for (const auto& peer : peers) EXPECT_TRUE(is_open(*peer));
    EXPECT_TRUE(post(8, 100'000).contains("POST / 100000"));
    while (is_open(*peers[0])) std::this_thread::sleep_for(milliseconds(10));
    EXPECT_TRUE(is_open(*peers[1]) && is_open(*peers[2]));
    return true;
  });
  stop();
}

TEST_F(PlainServerTest, AnswersThatNobodyReadsTakeTheBudgetOfWhoAskedForThem) {
  constexpr std::size_t kSize = 48U << 20U;  // more than the system takes in advance, on both sides
  auto options = plain();
  budget::Budgets budgets = budget::default_budgets();
  budgets.at(static_cast<std::size_t>(budget::Resource::kBodies)) = {4 * kSize, kSize + kSize / 2, 0, {}};
  budget::Manager budget(budgets, clock);
  options.budget = &budget;
  serve(options, [](HttpRequest) -> Task<HttpResponse> {
    co_return HttpResponse{.status = 200, .headers = {}, .body = std::string(kSize, 'x')};
  });
  const std::string question = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  while_serving([&] {
    const RawPeer slow(server->port());
    slow.say(question);
    EXPECT_TRUE(slow.hear_until("\r\n\r\n").starts_with("HTTP/1.1 200 "));
    EXPECT_EQ(budget.used(budget::Resource::kBodies), kSize);
    const RawPeer second(server->port());
    second.say(question);
    const std::string refused = second.hear_all();
    EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused.substr(0, 100);
    EXPECT_TRUE(refused.contains("Retry-After: ")) << refused.substr(0, 100);
    EXPECT_LT(refused.size(), 1'000U);
    const RawPeer third(server->port());
    third.say("HEAD" + question.substr(3));
    EXPECT_TRUE(third.hear_all().starts_with("HTTP/1.1 200 "));
    EXPECT_FALSE(slow.hear_all().empty());
    EXPECT_EQ(budget.used(budget::Resource::kBodies), 0U) << "given back when it was taken";
    return true;
  });
  stop();  // while there is a budget
}

TEST_F(PlainServerTest, AThrowingHandlerAnswers500AndLeavesOutBrokenFields) {
  serve(plain(), [](HttpRequest request) -> Task<HttpResponse> {
    if (request.target == "/throw") throw std::runtime_error("no");
    co_return HttpResponse{.status = 200, .headers = {{"X", "a\r\nSet-Cookie: b"}, {"Y", "c"}}, .body = {}};
  });
  EXPECT_TRUE(
      dialogue("GET /throw HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 500 "));
  const std::string answer = dialogue("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(answer.find("Set-Cookie"), std::string::npos);
  EXPECT_NE(answer.find("Y: c\r\n"), std::string::npos);
}

// Answers when it is told to.
struct Gate {
  explicit Gate(boost::asio::io_context& loop) : timer(loop, seconds(60)) {}
  boost::asio::steady_timer timer;
  int waiting = 0;

  Task<HttpResponse> pass(HttpRequest request) {
    ++waiting;
    co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    co_return co_await echo(std::move(request));
  }
};

Task<void> ask(BeastHttpClient* client, HttpCall call, std::optional<Result<HttpResponse>>* response) {
  response->emplace(co_await client->send(std::move(call)));
}

// Stops the server while the handler holds one request; opens the gate meanwhile if `open`.
Task<Result<HttpResponse>> stop_while_running(server::HttpServer* server, BeastHttpClient* client,
                                              HttpCall call, Gate* gate, bool open) {
  const auto executor = co_await boost::asio::this_coro::executor;
  std::optional<Result<HttpResponse>> response;
  TaskGroup group(executor);
  group.spawn("ask", ask(client, std::move(call), &response));
  while (gate->waiting == 0) co_await boost::asio::post(executor, boost::asio::use_awaitable);
  if (open) {
    boost::asio::post(executor, [gate] { gate->timer.cancel(); });
  }
  co_await server->stop(open ? Duration(10'000) : Duration(50));
  co_await group.join();
  co_return std::move(*response);
}

TEST_F(NetTest, StopLetsRunningRequestsFinish) {
  Gate gate(loop);
  serve([&gate](HttpRequest request) { return gate.pass(std::move(request)); });
  const Instant start = steady_now();
  const auto response =
      run(loop, stop_while_running(server.get(), client.get(), call("GET", "/"), &gate, true));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "GET / 0");
  EXPECT_EQ(response->headers.find("Connection"), "close");
  EXPECT_LT(steady_now() - start, seconds(8));
  EXPECT_FALSE(send(call("GET", "/")));
}

TEST_F(NetTest, StopCancelsRequestsAfterTheGrace) {
  Gate gate(loop);
  serve([&gate](HttpRequest request) { return gate.pass(std::move(request)); });
  const auto response =
      run(loop, stop_while_running(server.get(), client.get(), call("GET", "/"), &gate, false));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
}

TEST_F(NetTest, StopDoesNotWaitForIdleConnections) {
  serve(echo);
  ASSERT_TRUE(send(call("GET", "/")));
  const Instant start = steady_now();
  stop();
  EXPECT_LT(steady_now() - start, seconds(4));
}

TEST_F(NetTest, MayBeDestroyedWithoutStopping) {
  serve(echo);
  ASSERT_TRUE(send(call("GET", "/")));
  server.reset();
}

TEST_F(NetTest, ServesARenewedCertificateAfterReload) {
  auto options = server_options();
  const auto folder = std::filesystem::path(options.certificate_file).parent_path();
  options.certificate_file = (folder / "live.pem").string();
  options.key_file = (folder / "live.key").string();
  const auto install = [&](const std::string& name) {
    using enum std::filesystem::copy_options;
    std::filesystem::copy_file(folder / (name + ".pem"), options.certificate_file, overwrite_existing);
    std::filesystem::copy_file(folder / (name + ".key"), options.key_file, overwrite_existing);
  };
  install("old.test");
  serve(options, echo);
  EXPECT_FALSE(send(call("GET", "/")));
  install("a.test");
  ASSERT_TRUE(server->take_certificate(options.certificate_file, options.key_file));
  EXPECT_TRUE(send(call("GET", "/")));
}

TEST_F(NetTest, SaysWhatIsWrongWithCertificateAndKey) {
  auto options = server_options();
  const auto start = [&] {
    auto started = server::HttpServer::start(options, io.get_executor(), loop.get_executor(), echo);
    EXPECT_FALSE(started);
    return started ? Error(ErrorCode::kCorrupt, "") : started.error();
  };
  options.key_file = (certificates() / "b.test.key").string();
  EXPECT_NE(start().message.find("mismatch"), std::string::npos) << start().message;
  options.key_file = "/nonexistent.key";
  EXPECT_EQ(start().code, ErrorCode::kNotFound);
  options.key_file = options.certificate_file;
  EXPECT_EQ(start().code, ErrorCode::kInvalid);
}

TEST_F(NetTest, SaysThatThePortIsTaken) {
  serve(echo);
  auto options = server_options();
  options.port = server->port();
  const auto second = server::HttpServer::start(options, io.get_executor(), loop.get_executor(), echo);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(second.error().message.find("another program has it"), std::string::npos)
      << second.error().message;
}

TEST_F(NetTest, AnAnswerSaysUntilWhenTheCertificateIsGood) {
  serve(echo);
  const WallTime now = system_wall_now();
  for (int i = 0; i < 2; ++i) {  // the second one comes over the same connection
    const auto response = send(call("GET", "/"));
    ASSERT_TRUE(response && response->certificate);
    EXPECT_LT(response->certificate->from, now);
    EXPECT_GT(response->certificate->until, now + std::chrono::hours(23));
    EXPECT_LE(response->certificate->until, now + std::chrono::hours(24));
  }
}

// As in a container, and behind a router that translates addresses.
TEST_F(NetTest, WhereTheAddressIsNotOfThisMachineItListensOnAllIfItMay) {
  auto options = server_options();
  options.bind_address = *IpAddress::parse("192.0.2.1");  // for documents, so nobody's
  const auto refused = server::HttpServer::start(options, io.get_executor(), loop.get_executor(), echo);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  options.or_any = true;
  EXPECT_EQ(serve(options, echo).address().text(), "0.0.0.0") << "as the doctor says it";
  const auto response = send(call("GET", "/"));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
}

class ControlSocketTest : public PlainServerTest {
 protected:
  static server::HttpServerOptions local() {
    server::HttpServerOptions options;
    options.socket_path = (certificates() / "control.sock").string();
    return options;
  }
  Result<HttpResponse> ask_control(HttpRequest request, Duration timeout = seconds(10)) {
    return while_serving(
        [request, timeout] { return call_control_socket(local().socket_path, request, timeout); });
  }
};

TEST_F(ControlSocketTest, AnswersAndIsPrivate) {
  serve(local(), echo);
  HttpRequest request;
  request.method = "POST";
  request.target = "/status";
  request.body = std::string(200'000, 'x');
  const auto response = ask_control(request);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "POST /status 200000");
  struct stat status{};
  ASSERT_EQ(::stat(local().socket_path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  stop();
  EXPECT_FALSE(std::filesystem::exists(local().socket_path));
  const auto nobody = call_control_socket(local().socket_path, {}, seconds(1));
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::kUnavailable);
}

TEST_F(ControlSocketTest, TheCallerDoesNotWaitForever) {
  Gate gate(loop);
  serve(local(), [&gate](HttpRequest request) { return gate.pass(std::move(request)); });
  const auto response = ask_control({}, milliseconds(100));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::kTimedOut);
  gate.timer.cancel();
}

TEST_F(ControlSocketTest, ReplacesAStaleSocketOnly) {
  const std::string path = local().socket_path;
  {
    boost::asio::io_context context;
    const boost::asio::local::stream_protocol::acceptor left_behind(context, path);
  }
  ASSERT_TRUE(std::filesystem::is_socket(path));
  serve(local(), echo);
  EXPECT_TRUE(ask_control({}));
  const auto second = server::HttpServer::start(local(), io.get_executor(), loop.get_executor(), echo);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_TRUE(ask_control({}));
  stop();
  std::ofstream(path) << "precious";
  const auto third = server::HttpServer::start(local(), io.get_executor(), loop.get_executor(), echo);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(std::filesystem::file_size(path), 8U);
  std::filesystem::remove(path);
}

// Gives `pieces`, then ends; or waits for ever.
class Pieces final : public HttpStream {
 public:
  Pieces(std::vector<std::string> pieces, bool endless) : pieces_(std::move(pieces)), endless_(endless) {}
  Task<std::optional<std::string>> next() override {
    if (given_ < pieces_.size()) co_return pieces_[given_++];
    if (!endless_ || closed) co_return std::nullopt;
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, std::chrono::milliseconds(20));
    co_await timer.async_wait(boost::asio::use_awaitable);
    co_return heard.empty() ? std::string() : std::exchange(heard, "");
  }
  Task<void> receive(std::string message) override {
    heard = "heard " + message;
    co_return;
  }
  void close() override { closed = true; }
  std::string heard;
  bool closed = false;

 private:
  std::vector<std::string> pieces_;
  bool endless_;
  std::size_t given_ = 0;
};

HttpHandler streaming(std::shared_ptr<Pieces> pieces, int status = 200) {
  return [pieces, status](HttpRequest) -> Task<HttpResponse> {
    HttpResponse response;
    response.status = status;
    response.stream = pieces;
    co_return response;
  };
}

TEST(Streams, EndWhereTheyWereMadeWhoeverLetsGoOfThemLast) {
  boost::asio::io_context node;
  const auto pieces = std::make_shared<Pieces>(std::vector<std::string>(), true);
  std::shared_ptr<HttpStream> held = server::ending_on(node.get_executor(), pieces);
  std::thread([&] { held.reset(); }).join();
  EXPECT_FALSE(pieces->closed);
  node.poll();
  EXPECT_TRUE(pieces->closed);
  EXPECT_EQ(pieces.use_count(), 1);
}

TEST_F(PlainServerTest, WritesAStreamInChunks) {
  const auto pieces = std::make_shared<Pieces>(std::vector<std::string>{"one", "", "three"}, false);
  serve(plain(), streaming(pieces));
  const std::string answer = dialogue("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(answer.find("Transfer-Encoding: chunked"), std::string::npos) << answer;
  EXPECT_NE(answer.find("\r\n\r\n3\r\none\r\n5\r\nthree\r\n0\r\n\r\n"), std::string::npos) << answer;
}

TEST_F(PlainServerTest, SaysNoLengthOfAStreamThatIsOnlyAskedAbout) {
  const auto pieces = std::make_shared<Pieces>(std::vector<std::string>{"one"}, false);
  serve(plain(), streaming(pieces));
  const std::string answer = dialogue("HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
  EXPECT_EQ(answer.find("Content-Length"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
  loop.restart();
  loop.poll();
  EXPECT_TRUE(pieces->closed) << "nobody reads it";
}

TEST_F(PlainServerTest, WritesAStreamToHttp10UntilTheEnd) {
  serve(plain(), streaming(std::make_shared<Pieces>(std::vector<std::string>{"one", "two"}, false)));
  const std::string answer = dialogue("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(answer.find("Transfer-Encoding"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\nonetwo")) << answer;
}

TEST_F(PlainServerTest, CutsOffAReaderWhoDoesNotRead) {
  auto options = plain();
  options.stream_timeout = std::chrono::milliseconds(300);
  const auto pieces =
      std::make_shared<Pieces>(std::vector<std::string>(200, std::string(1U << 20U, 'x')), true);
  serve(options, streaming(pieces));
  const bool closed = while_serving([&] {
    const RawPeer peer(server->port());
    peer.say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    for (int i = 0; i < 100 && !pieces->closed; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return pieces->closed;
  });
  EXPECT_TRUE(closed);
}

TEST_F(PlainServerTest, SpeaksWebSocketBothWays) {
  const auto pieces = std::make_shared<Pieces>(std::vector<std::string>{"hello"}, true);
  serve(plain(), streaming(pieces, 101));
  const std::string answer = while_serving([&] {
    const RawPeer peer(server->port());
    peer.say(
        "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    std::string heard = peer.hear_until("hello");
    // A masked text frame "abc", with a mask of zeros.
    peer.say(std::string("\x81\x83\0\0\0\0abc", 9));
    heard += peer.hear_until("heard abc");
    return heard;
  });
  EXPECT_NE(answer.find("101 Switching Protocols"), std::string::npos) << answer;
  EXPECT_NE(answer.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), std::string::npos) << "RFC 6455, 1.3";
  EXPECT_NE(answer.find("\x81\x05hello"), std::string::npos) << answer;
  EXPECT_NE(answer.find("\x81\x09heard abc"), std::string::npos) << answer;
}

TEST_F(PlainServerTest, SpeaksNoWebSocketWithWhoDoesNotAskForItAsTheyShould) {
  const auto pieces = std::make_shared<Pieces>(std::vector<std::string>{"hello"}, true);
  serve(plain(), streaming(pieces, 101));
  const std::string answer =
      dialogue("GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 426 ")) << answer;
  EXPECT_NE(answer.find("Upgrade: websocket"), std::string::npos) << answer;
  loop.restart();
  loop.poll();
  EXPECT_TRUE(pieces->closed);
}

// Takes its time for what it hears, says so, and ends after so many messages in any case.
class Busy final : public HttpStream {
 public:
  explicit Busy(int most) : most_(most) {}
  Task<std::optional<std::string>> next() override {
    while (told_ == heard_) {
      if (heard_ == most_ || closed_) co_return std::nullopt;
      boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, milliseconds(5));
      co_await timer.async_wait(boost::asio::use_awaitable);
    }
    co_return fmt::format("heard {}", ++told_);
  }
  Task<void> receive(std::string /*message*/) override {
    keep_busy(milliseconds(60));
    ++heard_;
    co_return;
  }
  void close() override { closed_ = true; }

 private:
  const int most_;
  int heard_ = 0;
  int told_ = 0;
  bool closed_ = false;
};

TEST_F(PlainServerTest, WhatIsSaidOnAStreamTakesTheTimeOfWhoOpenedIt) {
  auto options = plain();
  options.stream_timeout = milliseconds(300);
  budget::Budgets budgets = budget::default_budgets();
  budgets.at(static_cast<std::size_t>(budget::Resource::kLoop)) = {0, 100'000, 0, std::chrono::hours(1)};
  budget::Manager budget(budgets, clock);
  options.budget = &budget;
  serve(options, [](HttpRequest request) -> Task<HttpResponse> {
    HttpResponse response;
    if (request.target != "/tunnel" && request.target != "/socket") co_return response;
    response.status = 101;
    response.is_tunnel = request.target == "/tunnel";
    response.stream = std::make_shared<Busy>(response.is_tunnel ? 1 : 2);
    co_return response;
  });
  const auto open = [](const RawPeer& peer, const char* target) {
    peer.say(
        fmt::format("GET {} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                    target));
    EXPECT_TRUE(peer.hear_until("\r\n\r\n").starts_with("HTTP/1.1 101 "));
  };
  const std::string message("\x81\x83\0\0\0\0abc", 9);
  const std::string try_later = "\x88\x02\x03\xf5";  // 1013
  const auto status_of = [&](std::uint8_t last) {
    const RawPeer peer(server->port(), last);
    peer.say("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    return peer.hear_all().substr(9, 3);
  };
  while_serving([&] {
    const RawPeer first(server->port(), 2);
    const RawPeer second(server->port(), 2);
    const RawPeer tunnel(server->port(), 2);
    const RawPeer other(server->port(), 3);
    for (const RawPeer* socket : {&first, &second, &other}) open(*socket, "/socket");
    open(tunnel, "/tunnel");
    for (const RawPeer* socket : {&first, &second}) {
      socket->say(message);
      EXPECT_TRUE(socket->hear_until("heard 1").contains("heard 1"));
    }
    EXPECT_EQ(status_of(2), "429");
    for (const RawPeer* socket : {&first, &second}) {
      socket->say(message);
      EXPECT_EQ(socket->hear_all(), try_later);
    }
    const budget::Spender who = budget.who(IpAddress::from_v4({127, 0, 0, 2}));
    const std::uint64_t spent = budget.used(budget::Resource::kLoop, who);
    tunnel.say("anything");
    EXPECT_EQ(status_of(3), "200");
    other.say(message);
    EXPECT_TRUE(other.hear_until("heard 1").contains("heard 1"));
    EXPECT_EQ(budget.used(budget::Resource::kLoop, who), spent) << "it waits";
    budget.use(budget::default_budgets());
    EXPECT_TRUE(tunnel.hear_until("heard 1").contains("heard 1")) << "who only answers pings is not cut off";
    return true;
  });
  stop();  // while there is a budget
}

// Whoever is behind the stream has answered already.
TEST_F(PlainServerTest, PassesOnWhatFollowsTheAnswerOfATunnel) {
  const auto pieces = std::make_shared<Pieces>(std::vector<std::string>{"\x81\x05hello"}, true);
  serve(plain(), [pieces](HttpRequest) -> Task<HttpResponse> {
    HttpResponse response{.status = 101, .headers = {{"Sec-WebSocket-Accept", "so it is"}}, .body = {}};
    response.stream = pieces;
    response.is_tunnel = true;
    co_return response;
  });
  const std::string answer = while_serving([&] {
    const RawPeer peer(server->port());
    peer.say(
        "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    std::string heard = peer.hear_until("hello");
    peer.say("no frame");
    heard += peer.hear_until("no frame");
    return heard;
  });
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 101 Switching Protocols\r\n")) << answer;
  EXPECT_NE(answer.find("\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("\r\nSec-WebSocket-Accept: so it is\r\n"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n\x81\x05helloheard no frame")) << answer;
}

TEST_F(PlainServerTest, CutsOffAWebSocketThatIsNotRead) {
  auto options = plain();
  options.stream_timeout = std::chrono::milliseconds(300);
  const auto pieces =
      std::make_shared<Pieces>(std::vector<std::string>(200, std::string(1U << 20U, 'x')), true);
  serve(options, streaming(pieces, 101));
  const bool closed = while_serving([&] {
    const RawPeer peer(server->port());
    peer.say(
        "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    for (int i = 0; i < 100 && !pieces->closed; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return pieces->closed;
  });
  EXPECT_TRUE(closed);
}

TEST_F(NetTest, OverTlsTheNodeSaysThatItIsReachedByNothingElse) {
  serve(echo);
  const auto answer = send(call("GET", "/"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->headers.find("Strict-Transport-Security"), "max-age=86400");
}

TEST_F(PlainServerTest, WithoutTlsItSaysNothingOfTheSort) {
  serve(plain(), echo);
  EXPECT_EQ(dialogue("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").find("Strict-Transport"),
            std::string::npos);
}

}  // namespace
}  // namespace tagring::net
