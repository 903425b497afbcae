// With production's settings, no URL of a stranger makes a node connect to its own machine or network.
#include <boost/asio/ip/tcp.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "federation/authenticator.hpp"
#include "net/fixture.hpp"

namespace tagring::node {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

class PrivateAddress : public testing::Test {
 protected:
  PrivateAddress() { listener.non_blocking(true); }
  ~PrivateAddress() override { io.join(); }

  // What becomes of a request whose key is said to be at `key_id`.
  Result<federation::Authentic> authenticate(const std::string& key_id, bool allow_private) {
    net::Resolver resolver(
        {.hosts = {{"inside.test", {*IpAddress::parse("127.0.0.1")}}}, .allow_ip_literals = allow_private});
    net::HttpClientOptions options;
    options.allow_private_addresses = allow_private;
    options.ports = {port};
    options.connect_timeout = Duration(500);
    auto client = net::BeastHttpClient::make(std::move(options), io.get_executor(), resolver);
    EXPECT_TRUE(client);
    Log log = Log::off();
    const Runtime runtime{clock, io.get_executor(), workers, log, Rng(1)};
    const federation::Identity identity("https://tags.home.example", key);
    federation::SignedClient courier(identity, **client, runtime);
    budget::Manager budget(budget::default_budgets(), clock);
    federation::RemoteKeys actors(budget, courier, runtime);
    signatures::SignaturePolicy policy;
    policy.authorities = {"tags.home.example"};
    federation::Authenticator authenticator(std::move(policy), {}, actors, runtime);

    HttpCall call("POST", Url::parse("https://tags.home.example/inbox").value(), clock.now());
    call.body = "{}";
    signatures::sign_call(call, key, key_id, clock.wall_now());
    HttpRequest request{
        .method = "POST", .target = "/inbox", .headers = call.headers, .body = call.body, .peer = {}};
    request.headers.set("Host", "tags.home.example");
    return net::run(loop, authenticator.authenticate(std::move(request)));
  }

  bool was_connected_to() {
    boost::system::error_code error;
    tcp::socket socket(loop);
    listener.accept(socket, error);
    if (!error) socket.close();  // so that the client does not wait for TLS
    return !error;
  }

  asio::thread_pool io{1};
  asio::io_context loop{1};
  net::SystemClock clock{loop.get_executor()};
  Workers workers;
  crypto::PrivateKey key = crypto::PrivateKey::ed25519_from_seed(std::string(32, 'k'));
  tcp::acceptor listener{loop, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::uint16_t port = listener.local_endpoint().port();
};

TEST_F(PrivateAddress, AKeyOnTheOwnMachineIsRefusedWithoutAConnection) {
  for (const std::string host : {"127.0.0.1", "localhost", "inside.test", "[::1]", "[::ffff:127.0.0.1]",
                                 "0.0.0.0", "127.1", "2130706433", "0x7f.1"}) {
    const std::string key_id = fmt::format("https://{}:{}/actor#main-key", host, port);
    const auto sender = authenticate(key_id, /*allow_private=*/false);
    ASSERT_FALSE(sender) << host;
    EXPECT_EQ(sender.error().code, ErrorCode::kUnavailable) << host;
    EXPECT_FALSE(was_connected_to()) << host << ": " << sender.error().message;
  }
  const auto sender = authenticate(fmt::format("https://localhost:{}/actor", port), false);
  EXPECT_EQ(sender.error().message,
            fmt::format("cannot fetch the key https://localhost:{}/actor: localhost does not answer", port))
      << "as for a name that is not known at all";
}

// The test above can fail: with a network of one's own, the very same leads to a connection.
TEST_F(PrivateAddress, AKeyInANetworkOfOnesOwnIsFetched) {
  std::thread peer([this] {
    while (!was_connected_to()) std::this_thread::yield();
  });
  EXPECT_FALSE(authenticate(fmt::format("https://inside.test:{}/actor", port), /*allow_private=*/true));
  peer.join();
}

}  // namespace
}  // namespace tagring::node
