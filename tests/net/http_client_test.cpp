#include "net/http_client.hpp"

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

#include "net/fixture.hpp"

namespace tagring::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ErrorCode code_of(const Result<HttpResponse>& result) {
  EXPECT_FALSE(result) << "status " << result->status;
  return result ? ErrorCode::kCorrupt : result.error().code;
}

TEST_F(NetTest, CarriesRequestAndResponseOverTls) {
  std::optional<HttpRequest> seen;
  serve([&](HttpRequest request) -> Task<HttpResponse> {
    seen = request;
    return echo(std::move(request));
  });
  HttpCall post = call("POST", "/inbox?x=1");
  post.headers = {{"Content-Type", "application/activity+json"}};
  post.body = std::string(100'000, 'b');
  const auto response = send(std::move(post));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "POST /inbox?x=1 100000");
  EXPECT_EQ(response->headers.find("x-peer"), "127.0.0.1");
  EXPECT_TRUE(response->headers.find("Date"));
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->headers.find("Host"), fmt::format("a.test:{}", server->port()));
  EXPECT_EQ(seen->headers.find("User-Agent"), "tagring");
  EXPECT_EQ(seen->headers.find("content-type"), "application/activity+json");
  EXPECT_EQ(seen->body.size(), 100'000U);
}

TEST_F(NetTest, ResumesTheCallerAndTheHandlerOnTheirOwnThread) {
  const auto here = std::this_thread::get_id();
  bool handler_is_here = false;
  serve([&](HttpRequest request) -> Task<HttpResponse> {
    handler_is_here = std::this_thread::get_id() == here;
    return echo(std::move(request));
  });
  bool caller_is_here = false;
  const auto ask = [&]() -> Task<bool> {
    const auto response = co_await client->send(call("GET", "/"));
    caller_is_here = std::this_thread::get_id() == here;
    co_return response.has_value();
  };
  EXPECT_TRUE(run(loop, ask()));
  EXPECT_TRUE(handler_is_here);
  EXPECT_TRUE(caller_is_here);
}

TEST_F(NetTest, AnswersHeadWithoutBody) {
  serve(echo);
  for (int i = 0; i < 2; ++i) {
    const auto response = send(call("HEAD", "/x"));
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body, "");
    EXPECT_EQ(response->headers.find("Content-Length"), "9");
  }
}

TEST_F(NetTest, RefusesACertificateForAnotherName) {
  serve(server_options("b.test"), echo);
  EXPECT_EQ(code_of(send(call("GET", "/"))), ErrorCode::kDenied);
  EXPECT_TRUE(send(call("GET", "/", "b.test")));
}

TEST_F(NetTest, ComparesAddressesWithTheAddressesOfTheCertificate) {
  auto options = server_options();
  options.bind_address = IpAddress::from_v4({127, 0, 0, 9});
  serve(options, echo);
  EXPECT_TRUE(send(call("GET", "/", "127.0.0.9")));
  stop();
  serve(echo);
  EXPECT_EQ(code_of(send(call("GET", "/", "127.0.0.1"))), ErrorCode::kDenied);
}

TEST_F(NetTest, RefusesACertificateOfAnUnknownCa) {
  serve(server_options("rogue.test"), echo);
  EXPECT_EQ(code_of(send(call("GET", "/"))), ErrorCode::kDenied);
}

TEST_F(NetTest, RefusesAnExpiredCertificate) {
  serve(server_options("old.test"), echo);
  const auto response = send(call("GET", "/"));
  EXPECT_EQ(code_of(response), ErrorCode::kDenied);
  EXPECT_NE(response.error().message.find("expired"), std::string::npos) << response.error().message;
}

TEST_F(NetTest, ConnectsOnlyToTheRequiredPrefix) {
  serve(echo);
  // two.test has 127.0.0.2, where nobody listens, and 127.0.0.1; its certificate is for a.test.
  HttpCall right = call("GET", "/", "a.test");
  right.required_prefix = IpAddress::from_v4({127, 0, 0, 1}).prefix64();
  EXPECT_TRUE(send(right));
  HttpCall wrong = call("GET", "/", "a.test");
  wrong.required_prefix = IpAddress::from_v4({127, 0, 0, 2}).prefix64();
  // Also though a connection to the wrong address is kept.
  EXPECT_EQ(code_of(send(wrong)), ErrorCode::kDenied);
  HttpCall two = call("GET", "/", "two.test", "https");
  two.required_prefix = IpAddress::from_v4({127, 0, 0, 2}).prefix64();
  EXPECT_EQ(code_of(send(two)), ErrorCode::kUnavailable);
}

TEST_F(NetTest, ConnectsOnlyToTheExactAddressIfTheNameHasIt) {
  auto options = server_options();
  options.certificate_file = options.key_file = "";
  serve(options, echo);
  const auto send_to = [this](const char* address) {
    HttpCall to = call("GET", "/", "two.test", "http");
    to.exact_address = IpAddress::parse(address);
    return send(to);
  };
  EXPECT_TRUE(send_to("127.0.0.1"));
  // Neither the next address, nor a connection to it that is kept.
  EXPECT_EQ(code_of(send_to("127.0.0.2")), ErrorCode::kUnavailable);
  EXPECT_TRUE(send_to("127.0.0.3")) << "it is not one of the name's";
}

TEST_F(NetTest, ComesFromTheAddressThatIsChosen) {
  serve(echo);
  const auto peer_of = [this](const char* source) -> std::string {
    auto options = client_options();
    options.source = IpAddress::parse(source);
    client = make_client(options);
    const auto response = send(call("GET", "/"));
    return response ? std::string(response->headers.find("x-peer").value_or("")) : response.error().message;
  };
  EXPECT_EQ(peer_of("127.0.0.7"), "127.0.0.7");
  EXPECT_EQ(peer_of("::1"), "127.0.0.1") << "it is of no use for the other family";
  auto options = client_options();
  options.source = IpAddress::parse("192.0.2.1");
  const auto made = BeastHttpClient::make(options, io.get_executor(), *resolver);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(made.error().message, testing::HasSubstr("192.0.2.1"));
  EXPECT_THAT(made.error().message, testing::HasSubstr("network.source must be an address of this machine"));
}

TEST_F(NetTest, TriesTheNextAddress) {
  auto options = server_options();
  options.certificate_file = options.key_file = "";
  serve(options, echo);
  EXPECT_TRUE(send(call("GET", "/", "two.test", "http")));
}

TEST_F(NetTest, ProductionSettingsRefusePrivateAddressesPlainHttpAndOddPorts) {
  serve(echo);
  auto options = client_options();
  options.allow_private_addresses = false;
  client = make_client(options);
  EXPECT_EQ(code_of(send(call("GET", "/"))), ErrorCode::kDenied);  // the port
  EXPECT_EQ(code_of(send(call("GET", "/", "a.test", "http"))), ErrorCode::kDenied);
  options.ports = {server->port()};
  client = make_client(options);
  const auto response = send(call("GET", "/"));
  EXPECT_EQ(code_of(response), ErrorCode::kDenied);
  EXPECT_NE(response.error().message.find("public"), std::string::npos) << response.error().message;
}

TEST_F(NetTest, CutsAResponseOverTheLimit) {
  serve([](HttpRequest) -> Task<HttpResponse> {
    co_return HttpResponse{.status = 200, .headers = {}, .body = std::string(50'000, 'x')};
  });
  HttpCall small = call("GET", "/");
  small.response_size_max = 49'999;
  EXPECT_EQ(code_of(send(small)), ErrorCode::kTooLarge);
  small.response_size_max = 50'000;
  EXPECT_TRUE(send(small));
}

TEST_F(NetTest, RefusesToSendWhatWouldBreakOutOfAHeaderField) {
  serve(echo);
  HttpCall bad = call("GET", "/");
  bad.headers = {{"X", "a\r\nY: b"}};
  EXPECT_EQ(code_of(send(bad)), ErrorCode::kInvalid);
  bad.headers = {{"X Y", "a"}};
  EXPECT_EQ(code_of(send(bad)), ErrorCode::kInvalid);
}

Task<HttpResponse> never(HttpRequest) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, seconds(60));
  co_await timer.async_wait(boost::asio::use_awaitable);
  co_return HttpResponse{};
}

TEST_F(NetTest, GivesUpAtTheDeadline) {
  serve(never);
  HttpCall slow = call("GET", "/");
  slow.deadline = steady_now() + milliseconds(100);
  const Instant start = steady_now();
  EXPECT_EQ(code_of(send(slow)), ErrorCode::kTimedOut);
  EXPECT_LT(steady_now() - start, seconds(3));
  run(loop, [](server::HttpServer* running) -> Task<bool> {
    co_await running->stop(Duration(0));
    co_return true;
  }(server.get()));
}

TEST_F(NetTest, WaitsForAFreeConnectionNoLongerThanTheDeadline) {
  serve(never);
  auto options = client_options();
  options.connections_per_host_max = 1;
  client = make_client(options);
  std::vector<Task<Result<HttpResponse>>> tasks;
  for (int i = 0; i < 3; ++i) {
    HttpCall slow = call("GET", "/");
    slow.deadline = steady_now() + milliseconds(150);
    tasks.push_back(client->send(slow));
  }
  for (const auto& result : run(loop, all_of(std::move(tasks))))
    EXPECT_EQ(code_of(result), ErrorCode::kTimedOut);
  run(loop, [](server::HttpServer* running) -> Task<bool> {
    co_await running->stop(Duration(0));
    co_return true;
  }(server.get()));
}

TEST_F(NetTest, SendsManyRequestsOverFewConnections) {
  int most = 0;
  int now = 0;
  serve([&](HttpRequest request) -> Task<HttpResponse> {
    most = std::max(most, ++now);
    --now;
    return echo(std::move(request));
  });
  constexpr int kRequests = 2000;
  std::vector<Task<Result<HttpResponse>>> tasks;
  for (int i = 0; i < kRequests; ++i) {
    HttpCall post = call("POST", fmt::format("/{}", i));
    post.deadline = steady_now() + seconds(60);
    post.body = std::string(static_cast<std::size_t>(i), 'x');
    tasks.push_back(client->send(std::move(post)));
  }
  const auto results = run(loop, all_of(std::move(tasks)));
  for (int i = 0; i < kRequests; ++i) {
    const auto& result = results[static_cast<std::size_t>(i)];
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->body, fmt::format("POST /{} {}", i, i));
  }
}

// A hand-made server of one connection after the other: answers `answers[i]` to the i-th, whatever is asked.
class Scripted {
 public:
  explicit Scripted(std::vector<std::vector<std::string>> answers) {
    using boost::asio::ip::tcp;
    acceptor_.open(tcp::v4());
    acceptor_.bind(tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
    acceptor_.listen();
    thread_ = std::thread([this, answers = std::move(answers)] {
      for (const auto& of_connection : answers) {
        tcp::socket socket(context_);
        acceptor_.accept(socket);
        ++connections;
        for (const std::string& answer : of_connection) {
          std::array<char, 4096> part{};
          boost::system::error_code ignored;
          socket.read_some(boost::asio::buffer(part), ignored);
          boost::asio::write(socket, boost::asio::buffer(answer), ignored);
        }
      }
    });
  }
  ~Scripted() { thread_.join(); }
  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  std::atomic<int> connections = 0;

 private:
  boost::asio::io_context context_;
  boost::asio::ip::tcp::acceptor acceptor_{context_};
  std::thread thread_;
};

HttpCall plain_call(std::uint16_t port, std::string method = "GET") {
  return {std::move(method), *Url::parse(fmt::format("http://a.test:{}/", port)), steady_now() + seconds(10)};
}

constexpr const char* kWrong = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong";
constexpr const char* kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

TEST_F(NetTest, KeepsConnections) {
  Scripted peer({{kOk, kOk, kOk}});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(send(plain_call(peer.port())));
  EXPECT_EQ(peer.connections, 1);
}

TEST_F(NetTest, DoesNotReuseAConnectionTheServerWantsToClose) {
  Scripted peer({{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", kWrong}, {kOk}});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(send(plain_call(peer.port()))->body, "ok");
  EXPECT_EQ(peer.connections, 2);
}

TEST_F(NetTest, SendsAgainIfAKeptConnectionTurnsOutToBeClosed) {
  // The second request is read, and the connection closed without an answer.
  Scripted peer({{kOk, ""}, {kOk}});
  for (int i = 0; i < 2; ++i) {
    const auto response = send(plain_call(peer.port(), "POST"));
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body, "ok");
  }
  EXPECT_EQ(peer.connections, 2);
}

TEST_F(NetTest, DoesNotSendAgainOnANewConnection) {
  Scripted peer({{""}});
  EXPECT_EQ(code_of(send(plain_call(peer.port()))), ErrorCode::kUnavailable);
}

TEST_F(NetTest, DoesNotSendAgainOnceAnAnswerHasBegun) {
  Scripted peer({{kOk, "HTTP/1.1 200 OK\r\nContent-Le"}});
  ASSERT_TRUE(send(plain_call(peer.port())));
  EXPECT_EQ(code_of(send(plain_call(peer.port()))), ErrorCode::kUnavailable);
}

TEST_F(NetTest, DoesNotTakeATruncatedBodyForAWholeOne) {
  Scripted peer({{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"}});
  EXPECT_EQ(code_of(send(plain_call(peer.port()))), ErrorCode::kUnavailable);
}

TEST_F(NetTest, RefusesWhatIsNotHttp) {
  Scripted peer({{"SSH-2.0-OpenSSH_9.2\r\n\r\n"}, {std::string(40'000, 'x')}});
  EXPECT_EQ(code_of(send(plain_call(peer.port()))), ErrorCode::kInvalid);
  const auto endless = send(plain_call(peer.port()));
  ASSERT_FALSE(endless);
}

TEST_F(NetTest, DropsAConnectionWithBytesBehindTheResponse) {
  Scripted peer({{std::string(kOk) + kWrong, kWrong}, {kOk}});
  for (int i = 0; i < 2; ++i) {
    const auto response = send(plain_call(peer.port()));
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body, "ok");
  }
  EXPECT_EQ(peer.connections, 2);
}

TEST_F(NetTest, SkipsInformationalResponses) {
  Scripted peer({{std::string("HTTP/1.1 103 Early Hints\r\n\r\n") + kOk}});
  const auto response = send(plain_call(peer.port()));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
}

TEST_F(NetTest, ReadsChunkedBodies) {
  Scripted peer({{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n"}});
  const auto response = send(plain_call(peer.port()));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "abcde");
}

TEST_F(NetTest, ATrailerIsNoHeader) {
  Scripted peer({{"HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nRetry-After: 3600\r\n\r\n"}});
  const auto response = send(plain_call(peer.port()));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_FALSE(response->headers.find("Retry-After"));
}

// The limit of the body counts neither.
TEST_F(NetTest, CutsAnAnswerWhoseChunkHasNoEndOfItsLineOrItsTrailer) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string fields;
  while (fields.size() < 1'000'000) fields += fmt::format("X-{}: x\r\n", fields.size());
  Scripted peer({{head + "1;a=" + std::string(1'000'000, 'x') + "\r\na\r\n0\r\n\r\n"},
                 {head + "0\r\n" + fields + "\r\n"}});
  EXPECT_EQ(code_of(send(plain_call(peer.port()))), ErrorCode::kTooLarge);
  EXPECT_EQ(code_of(send(plain_call(peer.port()))), ErrorCode::kTooLarge);
}

Task<void> forget(BeastHttpClient* client, HttpCall call, int* finished) {
  const auto response = co_await client->send(std::move(call));
  ++*finished;
}

Task<bool> cancel_calls(BeastHttpClient* client, HttpCall call, int rounds) {
  const auto executor = co_await boost::asio::this_coro::executor;
  int finished = 0;
  for (int i = 0; i < rounds; ++i) {
    TaskGroup group(executor);
    for (int k = 0; k < 8; ++k) group.spawn("call", forget(client, call, &finished));
    boost::asio::steady_timer timer(executor, std::chrono::microseconds(i * 97 % 4000));
    co_await timer.async_wait(boost::asio::use_awaitable);
    group.cancel();
    co_await group.join();
  }
  const auto response = co_await client->send(std::move(call));
  co_return response.has_value();
}

TEST_F(NetTest, SurvivesCancelledCallersAtAnyMoment) {
  serve(echo);
  auto options = client_options();
  options.connections_per_host_max = 4;
  client = make_client(options);
  EXPECT_TRUE(run(loop, cancel_calls(client.get(), call("GET", "/"), 150)));
}

TEST_F(NetTest, CallsMayOutliveTheClient) {
  serve(echo);
  const auto ask = [](NetTest*, std::unique_ptr<BeastHttpClient>* owner, HttpCall get) -> Task<bool> {
    auto task = (*owner)->send(std::move(get));
    const auto executor = co_await boost::asio::this_coro::executor;
    boost::asio::post(executor, [owner] { owner->reset(); });
    const auto response = co_await std::move(task);
    co_return response.has_value();
  };
  EXPECT_TRUE(run(loop, ask(this, &client, call("GET", "/"))));
}

TEST_F(NetTest, CallsEndWithTheIoThreads) {
  using boost::asio::ip::tcp;
  const tcp::acceptor silent(loop, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  auto threads = std::make_unique<boost::asio::thread_pool>(1);
  auto own = BeastHttpClient::make(client_options(), threads->get_executor(), *resolver);
  ASSERT_TRUE(own);
  bool answered = false;
  boost::asio::co_spawn(loop, (*own)->send(plain_call(silent.local_endpoint().port())),
                        [&](const std::exception_ptr&, const Result<HttpResponse>&) { answered = true; });
  loop.restart();
  loop.run_for(milliseconds(50));
  threads->stop();
  threads->join();
  own->reset();
  threads.reset();  // a leak or a touch of freed memory is what the sanitizer would report here
  loop.run_for(milliseconds(10));
  EXPECT_FALSE(answered);
}

TEST_F(NetTest, ReportsAnUnreadableCaFile) {
  auto options = client_options();
  options.ca_file = "/nonexistent/ca.pem";
  const auto made = BeastHttpClient::make(options, io.get_executor(), *resolver);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kInvalid);
}

TEST_F(NetTest, RefusesHostsThatAreAddressesInDisguise) {
  Resolver strict((ResolverOptions()));
  for (const char* host : {"127.1", "0x7f.1", "0x7f000001", "2130706433", "a..", ".", "", "a b", "a/b"}) {
    const auto found = run(loop, strict.resolve(host, steady_now() + seconds(5)));
    ASSERT_FALSE(found) << host;
    EXPECT_EQ(found.error().code, ErrorCode::kInvalid) << host;
  }
  for (const char* host : {"127.0.0.1", "::1", "[::1]"}) {
    const auto found = run(loop, strict.resolve(host, steady_now() + seconds(5)));
    ASSERT_FALSE(found) << host;
    EXPECT_EQ(found.error().code, ErrorCode::kDenied) << host;
  }
}

TEST_F(NetTest, AsksTheSystemForNamesNotConfigured) {
  const auto found = run(loop, resolver->resolve("localhost", steady_now() + seconds(5)));
  ASSERT_TRUE(found) << found.error().message;
  const auto unknown = run(loop, resolver->resolve("no-such-host.invalid", steady_now() + seconds(5)));
  EXPECT_FALSE(unknown);
}

}  // namespace
}  // namespace tagring::net
