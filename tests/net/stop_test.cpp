// What becomes of connections when a server stops, and before it accepts any.
#include <boost/asio/executor_work_guard.hpp>
#include <future>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/fixture.hpp"

namespace tagring::net {
namespace {

constexpr const char* kRequest = "GET /late HTTP/1.1\r\nHost: x\r\n\r\n";

class StopTest : public NetTest {
 protected:
  static server::HttpServerOptions plain() {
    auto options = server_options();
    options.certificate_file = options.key_file = "";
    return options;
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
  void begin_to_stop(Duration grace) {
    boost::asio::co_spawn(loop, server->stop(grace),
                          [this](const std::exception_ptr&) { stopped.set_value(); });
  }
  // One has connected and said nothing, another waits for its next request when the server begins to stop.
  // What the first hears when the second is closed and it asks then.
  std::string ask_late(const std::string& greeting) {
    return while_serving([&] {
      const RawPeer late(server->port());
      const RawPeer idle(server->port());  // accepted later, so the other one is
      idle.say(greeting + kRequest);
      EXPECT_NE(idle.hear_until("GET /late 0"), "");
      begin_to_stop(std::chrono::seconds(30));
      EXPECT_EQ(idle.hear_all(), "");
      late.say(greeting + kRequest);
      std::string heard = late.hear_all();
      stopped.get_future().wait();
      return heard;
    });
  }

  std::promise<void> stopped;
};

TEST_F(StopTest, WhoHasConnectedGetsToAskOnce) {
  serve(plain(), echo);
  const std::string heard = ask_late("");
  EXPECT_TRUE(heard.contains("GET /late 0")) << heard;
  EXPECT_TRUE(heard.contains("Connection: close")) << heard;
}

TEST_F(StopTest, SoDoesWhoseProxyHasNotSaidYetWhoItIs) {
  auto options = plain();
  options.trusted_proxies = {*proxies::Network::parse("127.0.0.1")};
  options.proxy_protocol = true;
  serve(options, echo);
  const std::string heard = ask_late("PROXY TCP4 192.0.2.7 192.0.2.1 4000 443\r\n");
  EXPECT_TRUE(heard.contains("192.0.2.7")) << heard;
}

TEST_F(StopTest, WhoSaysNothingIsClosedAfterTheGrace) {
  for (const bool is_forwarded : {false, true}) {
    stopped = {};
    auto options = plain();
    if (is_forwarded) options.trusted_proxies = {*proxies::Network::parse("127.0.0.1")};
    options.proxy_protocol = is_forwarded;
    serve(options, echo);
    EXPECT_EQ(while_serving([&] {
                const RawPeer silent(server->port());
                const RawPeer idle(server->port());
                idle.say((is_forwarded ? "PROXY UNKNOWN\r\n" : "") + std::string(kRequest));
                EXPECT_NE(idle.hear_until("GET /late 0"), "");
                begin_to_stop(std::chrono::milliseconds(1));
                std::string heard = silent.hear_all();
                stopped.get_future().wait();
                return heard;
              }),
              "");
  }
}

TEST_F(StopTest, NobodyIsAnsweredBeforeItAccepts) {
  auto opened = server::HttpServer::open(plain(), io.get_executor(), loop.get_executor(), echo);
  ASSERT_TRUE(opened);
  server = std::move(*opened);
  std::atomic<bool> accepts = false;
  const std::string heard = while_serving([&] {
    const RawPeer early(server->port());
    early.say(kRequest);
    boost::asio::post(loop, [&] {
      accepts = true;
      server->accept();
    });
    std::string answer = early.hear_until("GET /late 0");
    EXPECT_TRUE(accepts);
    return answer;
  });
  EXPECT_TRUE(heard.contains("GET /late 0")) << heard;
}

// As systemd holds one for a node behind a proxy.
TEST_F(StopTest, AUnixSocketThatIsHeldOutlivesTheServer) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("held" + std::to_string(::getpid()))).string();
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  const int held = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(held, where, sizeof address), 0);
  ASSERT_EQ(::listen(held, 8), 0);
  // Between two servers somebody connects.
  const int waiting = ::socket(AF_UNIX, SOCK_STREAM, 0);
  for (const bool is_second : {false, true}) {
    auto options = plain();
    options.socket_path = path;
    options.inherited = ::dup(held);
    if (is_second) {
      ASSERT_EQ(::connect(waiting, where, sizeof address), 0);
      const std::string request = kRequest;
      ASSERT_EQ(::send(waiting, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
    }
    serve(options, echo);
    if (!is_second) stop();
  }
  const std::string heard = while_serving([&] {
    std::string all(1000, '\0');
    all.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::recv(waiting, all.data(), all.size(), 0))));
    return all;
  });
  EXPECT_TRUE(heard.contains("GET /late 0")) << heard;
  ::close(waiting);
  ::close(held);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tagring::net
