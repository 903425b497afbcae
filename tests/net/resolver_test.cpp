// What is asked of name servers, and who must wait for whom.
#include "net/resolver.hpp"

#include <arpa/inet.h>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "base/bytes.hpp"
#include "net/fixture.hpp"

namespace tagring::net {
namespace {

// Answers 192.0.2.1 for every name, with the lifetime that stands in its first label ("ttl300"); none for
// names that begin with "silent".
class CountingNameServer {
 public:
  CountingNameServer() : socket_(::socket(AF_INET, SOCK_DGRAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~CountingNameServer() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  CountingNameServer(const CountingNameServer&) = delete;
  CountingNameServer& operator=(const CountingNameServer&) = delete;

  [[nodiscard]] NameServer address() const { return {*IpAddress::parse("127.0.0.1"), port_}; }
  // No question is answered while the caller has it.
  [[nodiscard]] std::unique_lock<std::mutex> pause() { return std::unique_lock(sending_); }
  // Of type A.
  [[nodiscard]] int questions(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return questions_[name];
  }

 private:
  static constexpr std::size_t kHeaderSize = 12;

  void serve() {
    for (;;) {
      std::string message(512, '\0');
      sockaddr_in from{};
      socklen_t size = sizeof(from);
      const auto got =
          ::recvfrom(socket_, message.data(), message.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
      if (got <= 0) return;
      message.resize(static_cast<std::size_t>(got));
      const std::string answer = answer_to(message);
      const std::lock_guard lock(sending_);
      if (!answer.empty())
        ::sendto(socket_, answer.data(), answer.size(), 0, reinterpret_cast<const sockaddr*>(&from), size);
    }
  }
  std::string answer_to(const std::string& question) {
    std::string name;
    std::size_t at = kHeaderSize;
    for (std::size_t label = 0; (label = static_cast<unsigned char>(question.at(at))) != 0; at += label + 1)
      name += (name.empty() ? "" : ".") + question.substr(at + 1, label);
    const bool of_v4 = question.at(at + 2) == 1;
    {
      const std::lock_guard lock(mutex_);
      if (of_v4) ++questions_[name];
    }
    if (name.starts_with("silent")) return {};
    std::string answer = question.substr(0, at + 5);
    answer.replace(2, 10, std::string("\x81\x80\0\1\0\0\0\0\0\0", 10));
    if (!of_v4) return answer;
    answer[7] = 1;
    const auto seconds =
        static_cast<std::uint32_t>(name.starts_with("ttl") ? std::stoul(name.substr(3)) : 60);
    answer += std::string("\xC0\x0C\0\1\0\1", 6);
    for (const unsigned shift : {24U, 16U, 8U, 0U}) answer += static_cast<char>(seconds >> shift & 0xFFU);
    return answer + std::string("\0\4\xC0\0\2\1", 6);
  }

  int socket_;
  std::uint16_t port_ = 0;
  std::mutex sending_;
  std::mutex mutex_;
  std::map<std::string, int> questions_;
  std::thread thread_;
};

class ResolverTest : public testing::Test {
 protected:
  Result<std::vector<IpAddress>> resolve(const std::string& host, NameUse use = NameUse::kOthers,
                                         Duration limit = std::chrono::seconds(20)) {
    return run(loop, resolver().resolve(host, clock.now() + limit, use));
  }
  Resolver& resolver() {
    if (!made) {
      ResolverOptions options;
      options.name_server = server.address();
      options.budget = &budget;
      options.kept_max = kept_max;
      made = std::make_unique<Resolver>(std::move(options));
    }
    return *made;
  }
  // Asks for so many names that nobody answers for, and does not wait.
  void starve(const std::string& domain, int names, NameUse use) {
    for (int i = 0; i < names; ++i) {
      boost::asio::co_spawn(loop,
                            resolver().resolve(fmt::format("silent{}.{}", i, domain),
                                               clock.now() + std::chrono::seconds(30), use),
                            boost::asio::detached);
    }
  }

  boost::asio::io_context loop{1};
  SystemClock clock{loop.get_executor()};
  CountingNameServer server;
  budget::Manager budget{budget::default_budgets(), clock};
  std::size_t kept_max = 10'000;
  std::unique_ptr<Resolver> made;
};

TEST_F(ResolverTest, AnAnswerIsKeptForAsLongAsTheDnsSays) {
  for (int i = 0; i < 3; ++i) {
    const auto found = resolve("ttl300.example.net");
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->front().text(), "192.0.2.1");
    EXPECT_TRUE(resolve("ttl0.example.net"));
  }
  EXPECT_EQ(server.questions("ttl300.example.net"), 1);
  EXPECT_EQ(server.questions("ttl0.example.net"), 3);
}

TEST_F(ResolverTest, WhoAsksAtTheSameTimeSharesTheQuestion) {
  auto pause = server.pause();
  int answers = 0;
  for (int i = 0; i < 20; ++i) {
    boost::asio::co_spawn(loop,
                          resolver().resolve("ttl0.example.net", clock.now() + std::chrono::seconds(20)),
                          [&](const std::exception_ptr&, const auto& answer) {
                            EXPECT_TRUE(answer);
                            ++answers;
                          });
  }
  boost::asio::post(loop, [&] { pause.unlock(); });  // after all have asked
  loop.run();
  EXPECT_EQ(answers, 20);
  EXPECT_EQ(server.questions("ttl0.example.net"), 1);
}

TEST_F(ResolverTest, NamesThatNobodyAnswersForAreInNobodysWay) {
  starve("evil.example", 60, NameUse::kOthers);
  EXPECT_TRUE(resolve("ttl60.example.net", NameUse::kOthers, std::chrono::seconds(4)));
  EXPECT_LE(budget.used(budget::Resource::kNames), 4U + 1) << "theirs, and the other name's until it is told";
  starve("bad.example", 60, NameUse::kRing);
  EXPECT_TRUE(resolve("ttl60.node.test", NameUse::kRing, std::chrono::seconds(4)));
}

TEST_F(ResolverTest, NamesOfOneDomainTakeAPartOfTheQueue) {
  starve("evil.example", 1'000, NameUse::kOthers);
  const auto crowded = resolve("ttl60.evil.example");
  ASSERT_FALSE(crowded);
  EXPECT_EQ(crowded.error().code, ErrorCode::kUnavailable) << crowded.error().message;
  EXPECT_TRUE(resolve("ttl60.example.net", NameUse::kOthers, std::chrono::seconds(4)));
}

TEST_F(ResolverTest, NamesOfFewDomainsThatFillTheQueueGiveWayToThoseOfOthers) {
  for (int i = 0; i < 4; ++i) starve(fmt::format("evil{}.example", i), 1'000, NameUse::kOthers);
  EXPECT_TRUE(resolve("ttl60.example.net", NameUse::kOthers, std::chrono::seconds(4)));
}

TEST_F(ResolverTest, ManyNamesOfOneDomainPushOutNoAnswerOfAnother) {
  kept_max = 4;
  ASSERT_TRUE(resolve("ttl60.example.net"));
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(resolve(fmt::format("ttl300.a{}.evil.example", i)));
  const auto pause = server.pause();
  EXPECT_TRUE(resolve("ttl60.example.net", NameUse::kOthers, std::chrono::seconds(4)));
}

TEST_F(ResolverTest, TheRingsHaveThreadsOfTheirOwn) {
  for (int i = 0; i < 30; ++i) starve(fmt::format("evil{}.example", i), 4, NameUse::kOthers);
  EXPECT_TRUE(resolve("ttl60.example.net", NameUse::kRing, std::chrono::seconds(4)));
}

TEST_F(ResolverTest, StrangersLeaveThreadsOfTheRingsToWhoIsKnown) {
  for (int i = 0; i < 10; ++i) starve(fmt::format("evil{}.example", i), 2, NameUse::kRing);
  budget.note_known("example.net");
  EXPECT_TRUE(resolve("ttl60.example.net", NameUse::kRing, std::chrono::seconds(4)));
}

TEST_F(ResolverTest, OtherNamesPushNoAnswerOfTheRingsOut) {
  kept_max = 2;
  ASSERT_TRUE(resolve("ttl0.example.net", NameUse::kRing));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(resolve(fmt::format("ttl60.a{}.example", i)));
  const auto pause = server.pause();
  EXPECT_TRUE(resolve("ttl0.example.net", NameUse::kRing, std::chrono::seconds(4)));
}

TEST_F(ResolverTest, TheRingsHaveAnOldAnswerWhileNameServersAreSilent) {
  ASSERT_TRUE(resolve("ttl0.example.net", NameUse::kRing));
  const auto pause = server.pause();
  EXPECT_TRUE(resolve("ttl0.example.net", NameUse::kRing, std::chrono::minutes(2)));
  EXPECT_GE(budget.used(budget::Resource::kRingNames), 1U) << "which is looked up still";
}

}  // namespace
}  // namespace tagring::net
