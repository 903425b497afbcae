// TLS connections of strangers: their handshakes, and what becomes of those that are slow.
#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <ctime>
#include <fmt/format.h>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <thread>

#include "net/fixture.hpp"
#include "server/connections.hpp"

namespace tagring::net {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using budget::Resource;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kRequest = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kHalfHello("\x16\x03\x01\x02\x00\x01", 6);

// A blocking connection with TLS from 127.0.0.`last`.
class TlsPeer {
 public:
  TlsPeer(std::uint16_t port, std::uint8_t last) : stream_(context_, tls_) {
    auto& socket = stream_.next_layer();
    socket.open(asio::ip::tcp::v4());
    socket.bind({asio::ip::address_v4({127, 0, 0, last}), 0});
    socket.connect({asio::ip::address_v4({127, 0, 0, 1}), port});
  }
  bool shake_hands() {
    error_code error;
    stream_.handshake(asio::ssl::stream_base::client, error);
    return !error;
  }
  bool is_served() {
    error_code error;
    asio::write(stream_, asio::buffer(std::string_view(kRequest)), error);
    return !error && hears("GET / 0");
  }
  // All until the other side closes; `end` is eof if it has said that this is all.
  std::string hear_all(error_code* end = nullptr) {
    error_code error;
    std::string heard;
    asio::read(stream_, asio::dynamic_buffer(heard), error);
    if (end != nullptr) *end = error;
    return heard;
  }
  // Until `end` was received.
  bool hears(std::string_view end) {
    error_code error;
    std::string heard;
    asio::read_until(stream_, asio::dynamic_buffer(heard), end, error);
    return !error;
  }
  void say(std::string_view text) { asio::write(stream_, asio::buffer(text)); }
  // What would be sent to say it.
  std::string record_of(std::string_view text) {
    BIO* const out = BIO_new(BIO_s_mem());
    SSL* const ssl = stream_.native_handle();
    BIO* const before = SSL_get_wbio(ssl);
    BIO_up_ref(before);
    SSL_set0_wbio(ssl, out);
    EXPECT_EQ(SSL_write(ssl, text.data(), static_cast<int>(text.size())), static_cast<int>(text.size()));
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(out, &bytes);
    std::string record(bytes, static_cast<std::size_t>(size));
    SSL_set0_wbio(ssl, before);
    return record;
  }
  auto& stream() { return stream_; }

 private:
  asio::io_context context_;
  asio::ssl::context tls_{asio::ssl::context::tls_client};
  asio::ssl::stream<asio::ip::tcp::socket> stream_;
};

class HandshakesTest : public NetTest {
 protected:
  SystemClock clock{loop.get_executor()};
  std::optional<budget::Manager> budget;

  // With so many turns.
  void serve_with(budget::Limit handshakes, budget::Limit begun = {}) {
    budget::Budgets budgets = budget::default_budgets();
    budgets.at(static_cast<std::size_t>(Resource::kHandshakes)) = handshakes;
    budgets.at(static_cast<std::size_t>(Resource::kBegun)) = begun;
    budget.emplace(budgets, clock);
    auto options = server_options();
    options.budget = &*budget;
    serve(options, echo);
  }
  template <class F>
  auto while_serving(F talk) {
    loop.restart();
    const auto working = asio::make_work_guard(loop);
    auto result = std::async(std::launch::async, [this, talk = std::move(talk)] {
      auto value = talk();
      loop.stop();
      return value;
    });
    loop.run();
    return result.get();
  }
  [[nodiscard]] std::unique_ptr<RawPeer> begin(std::uint8_t last) const {
    auto peer = std::make_unique<RawPeer>(server->port(), last);
    peer->say(std::string(kHalfHello));
    return peer;
  }
  [[nodiscard]] bool have_turns(std::uint64_t count) const {
    for (int i = 0; i < 200 && budget->used(Resource::kHandshakes) != count; ++i)
      std::this_thread::sleep_for(milliseconds(10));
    return budget->used(Resource::kHandshakes) == count;
  }
  // Whether it is, and after how long.
  std::pair<bool, Duration> serve_one(std::uint8_t last) const {
    const Instant start = steady_now();
    TlsPeer peer(server->port(), last);
    const bool served = peer.shake_hands() && peer.is_served();
    return {served, steady_now() - start};
  }
};

TEST_F(HandshakesTest, WhoSaysNothingTakesNoTurn) {
  serve_with({4, 0, 0, {}});
  while_serving([&] {
    std::vector<std::unique_ptr<RawPeer>> silent;
    for (std::uint8_t last = 2; last < 10; ++last)
      silent.push_back(std::make_unique<RawPeer>(server->port(), last));
    EXPECT_TRUE(serve_one(20).first);
    EXPECT_TRUE(have_turns(0)) << "nor does who is done";
    return true;
  });
  stop();  // while there is a budget
}

TEST_F(HandshakesTest, WhoHasMostOfThemMakesRoomSoon) {
  serve_with({8, 4, 0, {}});  // 6 for strangers
  while_serving([&] {
    std::vector<std::unique_ptr<RawPeer>> slow;
    for (const std::uint8_t last : {2, 2, 2, 2, 3, 3}) slow.push_back(begin(last));
    EXPECT_TRUE(have_turns(6));
    const auto [served, after] = serve_one(4);
    EXPECT_TRUE(served);
    EXPECT_LT(after, server::Connections::kSlowHandshake);
    EXPECT_TRUE(have_turns(5)) << "the newcomer's has ended, too";
    EXPECT_TRUE(slow[4]->drip() && slow[5]->drip()) << "who has few keeps them";
    return true;
  });
  stop();
}

TEST_F(HandshakesTest, WhereEverybodyHasOneTheOldestGoesWhenItIsSlow) {
  serve_with({4, 0, 0, {}});  // 3 for strangers
  while_serving([&] {
    std::vector<std::unique_ptr<RawPeer>> slow;
    for (std::uint8_t last = 2; last < 5; ++last) {
      slow.push_back(begin(last));
      EXPECT_TRUE(have_turns(slow.size()));
    }
    const auto [served, after] = serve_one(5);
    EXPECT_TRUE(served);
    EXPECT_GT(after, server::Connections::kSlowHandshake / 2);
    EXPECT_LT(after, 4 * server::Connections::kSlowHandshake);
    EXPECT_EQ(slow[0]->hear_all(), "");
    EXPECT_TRUE(slow[1]->drip() && slow[2]->drip());
    return true;
  });
  stop();
}

// Where it is not all strangers who have too many, but that one, nobody makes room for it.
TEST_F(HandshakesTest, WhoWaitsHasATurnWhenOneOfTheirOwnIsSlow) {
  serve_with({100, 1, 0, {}});
  while_serving([&] {
    auto slow = begin(2);
    EXPECT_TRUE(have_turns(1));
    auto next = std::async(std::launch::async, [&] { return serve_one(2); });
    EXPECT_TRUE(serve_one(3).first) << "holds up nobody else";
    const auto [served, after] = next.get();
    EXPECT_TRUE(served);
    EXPECT_LT(after, std::chrono::seconds(8)) << "before the slow one's time is over";
    return true;
  });
  stop();
}

// Else some who keep coming would leave nothing to anybody else.
TEST_F(HandshakesTest, WhoHasOneIsAheadOfThoseWhoHaveMany) {
  serve_with({1'000, 0, 0, {}}, {4, 0, 0, milliseconds(500)});
  while_serving([&] {
    std::vector<std::unique_ptr<RawPeer>> flood;
    const auto come = [&](std::size_t until) {
      for (; flood.size() < until; std::this_thread::sleep_for(milliseconds(5)))
        flood.push_back(begin(static_cast<std::uint8_t>(2 + flood.size() % 2)));
    };
    come(60);
    EXPECT_LT(budget->used(Resource::kHandshakes), 30U) << "the others wait";
    auto one = std::async(std::launch::async, [&] { return serve_one(4).first; });
    come(200);
    EXPECT_TRUE(one.get()) << "these would all have had their turn before it had waited too long";
    return true;
  });
  stop();
}

TEST_F(HandshakesTest, ThereAreSomeThatStrangersCannotTake) {
  serve_with({4, 0, 0, {}});
  budget->note_known(*IpAddress::parse("127.0.0.9"));
  while_serving([&] {
    std::vector<std::unique_ptr<RawPeer>> slow;
    for (std::uint8_t last = 2; last < 5; ++last) slow.push_back(begin(last));
    EXPECT_TRUE(have_turns(3));
    const auto [served, after] = serve_one(9);
    EXPECT_TRUE(served);
    EXPECT_LT(after, server::Connections::kSlowHandshake);
    EXPECT_TRUE(have_turns(3));
    return true;
  });
  stop();
}

TEST_F(HandshakesTest, ManyAtOnceAreAllServedInTheirTurns) {
  serve_with({100, 2, 0, {}});
  while_serving([&] {
    std::vector<std::future<bool>> all;
    for (std::uint8_t i = 0; i < 40; ++i)
      all.push_back(std::async(std::launch::async, [&, i] { return serve_one(2 + i % 2).first; }));
    EXPECT_EQ(std::ranges::count_if(all, [](auto& one) { return one.get(); }), 40);
    return true;
  });
  stop();
}

// --- what is agreed on in it -----------------------------------------------------------------------------

// All that a client offers.
struct Offer {
  int version = TLS1_2_VERSION;
  const char* suites = "ECDHE-ECDSA-AES128-GCM-SHA256";
  const char* groups = "P-256";
};
constexpr int kServed = 0;
constexpr int kRefused = SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE;  // by the server: nothing in common

// Served, or why there is no connection, as OpenSSL numbers it.
int outcome_of(const Offer& offer, std::uint16_t port) {
  TlsPeer peer(port, 2);
  SSL* const ssl = peer.stream().native_handle();
  // Or the client might leave out by itself what the server is to refuse.
  SSL_set_security_level(ssl, 0);
  EXPECT_EQ(SSL_set_min_proto_version(ssl, offer.version), 1);
  EXPECT_EQ(SSL_set_max_proto_version(ssl, offer.version), 1);
  EXPECT_EQ(SSL_set_cipher_list(ssl, offer.suites), 1);
  EXPECT_EQ(SSL_set1_groups_list(ssl, offer.groups), 1);
  error_code error;
  peer.stream().handshake(asio::ssl::stream_base::client, error);
  if (error) return ERR_GET_REASON(static_cast<unsigned long>(error.value()));
  EXPECT_TRUE(peer.is_served());
  return kServed;
}

TEST_F(HandshakesTest, OnlySuitesOfTheServersListAreAgreedOn) {
  serve(echo);
  while_serving([&] {
    const auto with = [&](const char* suites) { return outcome_of({.suites = suites}, server->port()); };
    EXPECT_EQ(with("ECDHE-ECDSA-AES128-SHA"), kRefused) << "CBC";
    EXPECT_EQ(with("ECDHE-ECDSA-AES128-GCM-SHA256"), kServed);
    EXPECT_EQ(with("ECDHE-ECDSA-CHACHA20-POLY1305"), kServed);
    EXPECT_EQ(with("ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES128-GCM-SHA256"), kServed) << "by the other one";
    return true;
  });
}

// By TLS 1.3, where the group has nothing to do with the certificate: in 1.2 one on P-256 is none for who
// does not offer that.
TEST_F(HandshakesTest, OnlyGroupsOfTheServersListAreAgreedOn) {
  serve(echo);
  while_serving([&] {
    const auto with = [&](const char* groups) {
      return outcome_of({.version = TLS1_3_VERSION, .groups = groups}, server->port());
    };
    EXPECT_EQ(with("P-521"), kRefused);
    EXPECT_EQ(with("X25519"), kServed);
    EXPECT_EQ(with("P-256"), kServed);
    EXPECT_EQ(with("P-521:X25519"), kServed) << "by the other one";
    return true;
  });
}

// --- after it --------------------------------------------------------------------------------------------

TEST_F(HandshakesTest, ATlsConnectionOnWhichNothingComesIsClosed) {
  auto options = server_options();
  options.idle_timeout = milliseconds(100);
  serve(options, echo);
  EXPECT_TRUE(while_serving([&] {
    TlsPeer peer(server->port(), 2);
    EXPECT_TRUE(peer.shake_hands() && peer.is_served());
    return peer.hear_all().empty();
  }));
}

TEST_F(HandshakesTest, SoIsOneThatIsSlowInTheMiddleOfARequest) {
  auto options = server_options();
  options.request_timeout = milliseconds(150);
  serve(options, echo);
  EXPECT_TRUE(while_serving([&] {
    TlsPeer peer(server->port(), 2);
    EXPECT_TRUE(peer.shake_hands());
    peer.say("GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    return peer.hear_all().empty();
  }));
}

TEST_F(HandshakesTest, WhatIsNoTlsIsRefusedAtOnce) {
  serve(echo);
  EXPECT_TRUE(while_serving([&] {
    const Instant start = steady_now();
    const RawPeer peer(server->port(), 2);
    peer.say(kRequest);
    const std::string heard = peer.hear_all();
    return !heard.contains("GET") && steady_now() - start < seconds(5);
  }));
}

// A record is read when all of it is there: in whatever pieces it comes, and also if that never happens.
TEST_F(HandshakesTest, ARecordMayComeInPieces) {
  serve(echo);
  EXPECT_TRUE(while_serving([&] {
    TlsPeer peer(server->port(), 2);
    EXPECT_TRUE(peer.shake_hands());
    auto& socket = peer.stream().next_layer();
    const std::string record = peer.record_of(kRequest);
    for (const std::string& piece : {record.substr(0, 3), record.substr(3, 4), record.substr(7)}) {
      asio::write(socket, asio::buffer(piece));
      std::this_thread::sleep_for(milliseconds(50));
    }
    EXPECT_TRUE(peer.hears("GET / 0"));
    EXPECT_TRUE(peer.is_served()) << "and what comes after it";
    asio::write(socket, asio::buffer(record.substr(0, 20)));
    const auto spent = std::clock();
    std::this_thread::sleep_for(milliseconds(300));
    EXPECT_LT(std::clock() - spent, CLOCKS_PER_SEC / 10) << "waiting for the rest costs nothing";
    socket.shutdown(asio::socket_base::shutdown_send);
    return peer.hear_all().empty();
  }));
}

// Or anybody could have cut the answer short (RFC 9112, 9.8).
TEST_F(HandshakesTest, WhoIsRefusedHearsThatTheAnswerIsWhole) {
  auto options = server_options();
  options.body_size_max = 100'000;
  serve(options, echo);
  while_serving([&] {
    const auto hears_end_of = [&](std::string_view status, std::string_view request) {
      TlsPeer peer(server->port(), 2);
      EXPECT_TRUE(peer.shake_hands());
      peer.say(request);
      error_code end;
      EXPECT_THAT(peer.hear_all(&end), testing::StartsWith(fmt::format("HTTP/1.1 {} ", status)));
      EXPECT_EQ(end, asio::error::eof) << status << ": " << end.message();
    };
    hears_end_of("400", "GET / HTTP/0.9\r\n\r\n");
    hears_end_of("413", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n");
    // Which comes while it is refused, and is read only to be thrown away.
    const std::string body(200'000, 'x');
    hears_end_of("413", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" + body);
    return true;
  });
}

constexpr std::size_t kLarge = 8U << 20U;

Task<HttpResponse> much(HttpRequest) {
  co_return HttpResponse{.status = 200, .headers = {}, .body = std::string(kLarge, 'x')};
}

TEST_F(HandshakesTest, WhatDoesNotFitIntoTheSocketIsWrittenWhenThereIsRoom) {
  serve(much);
  EXPECT_GT(while_serving([&] {
              TlsPeer peer(server->port(), 2);
              EXPECT_TRUE(peer.shake_hands());
              peer.say("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
              std::this_thread::sleep_for(milliseconds(200));
              const std::string heard = peer.hear_all();
              EXPECT_TRUE(heard.ends_with(std::string(1000, 'x')));
              return heard.size();
            }),
            kLarge);
}

// Writing to a socket whose other side is gone would end the process by a signal.
TEST_F(HandshakesTest, WhoIsGoneInTheMiddleOfAnAnswerTakesNothingWithThem) {
  serve(much);
  EXPECT_TRUE(while_serving([&] {
    for (int i = 0; i < 5; ++i) {
      TlsPeer peer(server->port(), 2);
      EXPECT_TRUE(peer.shake_hands());
      peer.say(kRequest);
      std::string some(1000, '\0');
      asio::read(peer.stream(), asio::buffer(some));
      peer.stream().next_layer().set_option(asio::socket_base::linger(true, 0));
    }
    std::this_thread::sleep_for(milliseconds(100));
    TlsPeer peer(server->port(), 3);
    EXPECT_TRUE(peer.shake_hands());
    peer.say("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    return peer.hear_all().size() > kLarge;
  }));
}

}  // namespace
}  // namespace tagring::net
