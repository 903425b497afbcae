// SRV records: what is read from messages that may be hostile, and what a real name server (dnsmasq) answers.
#include "net/srv.hpp"

#include <arpa/inet.h>
#include <csignal>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/fixture.hpp"

namespace tagring::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- messages ----------------------------------------------------------------------------------------------

std::string u16(unsigned value) {
  return {static_cast<char>(value >> 8U & 0xFFU), static_cast<char>(value & 0xFFU)};
}

std::string name_bytes(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('.'), name.size());
    out += static_cast<char>(end);
    out += name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return out + '\0';
}

constexpr unsigned kTypeSrv = 33;
constexpr unsigned kTypeTxt = 16;
constexpr unsigned kClassIn = 1;

std::string record(const std::string& data, unsigned type = kTypeSrv, unsigned klass = kClassIn) {
  return name_bytes("_tagring._tcp.example.test") + u16(type) + u16(klass) + u16(0) + u16(60) +
         u16(static_cast<unsigned>(data.size())) + data;
}

std::string srv(unsigned priority, unsigned weight, unsigned port, const std::string& target) {
  return record(u16(priority) + u16(weight) + u16(port) + name_bytes(target));
}

std::string message(const std::vector<std::string>& records) {
  std::string text =
      u16(7) + u16(0x8180) + u16(1) + u16(static_cast<unsigned>(records.size())) + u16(0) + u16(0);
  text += name_bytes("_tagring._tcp.example.test") + u16(kTypeSrv) + u16(kClassIn);
  for (const std::string& one : records) text += one;
  return text;
}

std::vector<std::string> read(const std::vector<std::string>& records) {
  const auto hosts = parse_srv(message(records));
  if (!hosts) return {hosts.error().message};
  std::vector<std::string> texts;
  for (const ServiceHost& host : *hosts) texts.push_back(fmt::format("{}:{}", host.host, host.port));
  return texts;
}

TEST(Srv, OrdersTargetsByPriorityThenByGreaterWeight) {
  EXPECT_THAT(read({srv(20, 90, 443, "last.test"), srv(10, 5, 443, "second.test"),
                    srv(10, 60, 8443, "First.TEST"), srv(20, 90, 443, "last.test")}),
              ElementsAre("first.test:8443", "second.test:443", "last.test:443"));
}

TEST(Srv, PassesOverWhatIsNoHost) {
  EXPECT_THAT(read({srv(1, 0, 443, ""), srv(1, 0, 0, "a.test"), srv(1, 0, 443, "192.0.2.1"),
                    srv(1, 0, 443, "exa mple.test"), srv(1, 0, 443, "a@b.test"), srv(1, 0, 443, "x/y.test"),
                    srv(1, 0, 443, "-a.test"), srv(2, 0, 443, "good.test")}),
              ElementsAre("good.test:443"));
  // A dot inside a label would otherwise read like two.
  const std::string dotted = std::string("\x06") + "a.evil" + name_bytes("test");
  EXPECT_THAT(read({record(u16(1) + u16(0) + u16(443) + dotted), srv(2, 0, 443, "good.test")}),
              ElementsAre("good.test:443"));
}

TEST(Srv, PassesOverRecordsOfOtherTypesAndClasses) {
  const std::string data = u16(1) + u16(0) + u16(443) + name_bytes("evil.test");
  EXPECT_THAT(read({record(data, kTypeTxt), record(data, kTypeSrv, 3), record("", kTypeSrv),
                    record(data.substr(0, 6)), srv(2, 0, 443, "good.test")}),
              ElementsAre("good.test:443"));
  EXPECT_THAT(read({record(data, kTypeTxt)}), ElementsAre("no usable SRV record"));
  EXPECT_THAT(read({}), ElementsAre("no usable SRV record"));
}

TEST(Srv, TakesNoMoreThanTheBestSixteen) {
  std::vector<std::string> records;
  for (unsigned i = 200; i > 0; --i) records.push_back(srv(i, 0, 443, fmt::format("n{}.test", i)));
  const auto hosts = parse_srv(message(records));
  ASSERT_TRUE(hosts);
  EXPECT_EQ(hosts->size(), 16U);
  EXPECT_EQ(hosts->front().host, "n1.test");
  EXPECT_EQ(hosts->back().host, "n16.test");
}

TEST(Srv, RefusesMessagesThatAreCutOffOrRunInCircles) {
  const std::string whole = message({srv(1, 0, 443, "a.test"), srv(1, 0, 443, "b.test")});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(parse_srv(whole.substr(0, size))) << size;
  }
  EXPECT_TRUE(parse_srv(whole));
  // A name that points to itself, as the target and as the owner.
  const auto here = static_cast<unsigned>(message({}).size());
  const unsigned target = here + static_cast<unsigned>(record("123456").size());
  const std::string loop = u16(0xC000U | target);
  EXPECT_THAT(read({record(u16(1) + u16(0) + u16(443) + loop)}), ElementsAre("no usable SRV record"));
  EXPECT_THAT(read({u16(0xC000U | here) + u16(kTypeSrv) + u16(kClassIn) + u16(0) + u16(60) + u16(0)}),
              ElementsAre("not a DNS message"));
  EXPECT_FALSE(parse_srv(std::string(70'000, '\0')));
}

// --- a name server -----------------------------------------------------------------------------------------

std::uint16_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);  // held by TCP far more often than by UDP
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ::close(socket);
  return ntohs(address.sin_port);
}

// dnsmasq on a port of its own; what it is not told, it does not know. Another process may take the port
// before it does: then it is started on another.
class NameServerProcess {
 public:
  explicit NameServerProcess(const std::vector<std::string>& options) {
    std::string said;
    for (int attempt = 0; attempt < 10; ++attempt) {
      said = start(options);
      if (said.contains("started,") || !said.contains("Address already in use")) break;
      stop();
    }
    EXPECT_THAT(said, HasSubstr("started,")) << "dnsmasq (tools/setup installs it) does not run";
  }
  ~NameServerProcess() { stop(); }
  NameServerProcess(const NameServerProcess&) = delete;
  NameServerProcess& operator=(const NameServerProcess&) = delete;

  [[nodiscard]] NameServer address() const { return {*IpAddress::parse("127.0.0.1"), port_}; }

 private:
  // What it said until it had started, or ended.
  std::string start(const std::vector<std::string>& options) {
    port_ = free_port();
    std::vector<std::string> words = {"/usr/sbin/dnsmasq",
                                      "--keep-in-foreground",
                                      "--log-facility=-",
                                      "--conf-file=/dev/null",
                                      "--no-resolv",
                                      "--no-hosts",
                                      "--user=",
                                      "--pid-file=",
                                      "--bind-interfaces",
                                      "--listen-address=127.0.0.1",
                                      fmt::format("--port={}", port_),
                                      "--local=/test/"};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int log[2] = {-1, -1};
    EXPECT_EQ(::pipe(log), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(log[1], STDERR_FILENO);
      ::close(log[0]);
      ::close(log[1]);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(log[1]);
    log_ = log[0];
    std::string said;
    char bytes[256];
    while (!said.contains("started,")) {
      const auto size = ::read(log_, bytes, sizeof(bytes));
      if (size <= 0) break;
      said.append(bytes, static_cast<std::size_t>(size));
    }
    return said;
  }
  void stop() const {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
    ::close(log_);
  }

  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
  int log_ = -1;
};

Result<std::vector<ServiceHost>> find(const NameServer& server, const std::string& name,
                                      Duration limit = std::chrono::seconds(20)) {
  boost::asio::io_context loop{1};
  ResolverOptions options;
  options.name_server = server;
  Resolver resolver(std::move(options));
  const SystemClock clock(loop.get_executor());
  return run(loop, resolver.find_service(name, clock.now() + limit));
}

TEST(Srv, AsksANameServer) {
  const NameServerProcess server({"--srv-host=_tagring._tcp.example.test,second.example.test,443,20,5",
                                  "--srv-host=_tagring._tcp.example.test,first.example.test,8443,10,5",
                                  "--srv-host=_tagring._tcp.closed.test"});
  const auto hosts = find(server.address(), "_tagring._tcp.example.test");
  ASSERT_TRUE(hosts) << hosts.error().message;
  EXPECT_THAT(*hosts,
              ElementsAre(ServiceHost{"first.example.test", 8443}, ServiceHost{"second.example.test", 443}));
  const auto closed = find(server.address(), "_tagring._tcp.closed.test");
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, ErrorCode::kNotFound) << closed.error().message;
  const auto unknown = find(server.address(), "_tagring._tcp.nobody.test");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound) << unknown.error().message;
}

TEST(Srv, ReadsAnswersThatNeedTcp) {
  std::vector<std::string> options;
  for (int i = 0; i < 120; ++i) {
    options.push_back(fmt::format(
        "--srv-host=_tagring._tcp.large.test,node-with-a-long-name-{}.large.test,443,{},0", i, i));
  }
  const NameServerProcess server(options);
  const auto hosts = find(server.address(), "_tagring._tcp.large.test");
  ASSERT_TRUE(hosts) << hosts.error().message;
  EXPECT_EQ(hosts->size(), 16U);
  EXPECT_EQ(hosts->front().host, "node-with-a-long-name-0.large.test");
}

TEST(Srv, EndsAtTheDeadlineWhenNobodyAnswers) {
  const int silent = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(silent, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::getsockname(silent, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const NameServer server{*IpAddress::parse("127.0.0.1"), ntohs(address.sin_port)};
  const auto hosts = find(server, "_tagring._tcp.example.test", Duration(50));
  ASSERT_FALSE(hosts);
  EXPECT_EQ(hosts.error().code, ErrorCode::kTimedOut);
  ::close(silent);
}

TEST(Srv, AsksForNothingButServicesOfDomains) {
  const NameServer nobody{*IpAddress::parse("127.0.0.1"), 1};
  for (const std::string& name :
       {std::string("example.test"), std::string("_tagring._tcp."),
        std::string("_tagring._tcp.exa mple.test"), std::string("_tagring._tcp.192.0.2.1"),
        "_tagring._tcp." + std::string(250, 'a')}) {
    const auto hosts = find(nobody, name);
    ASSERT_FALSE(hosts);
    EXPECT_EQ(hosts.error().code, ErrorCode::kInvalid) << name;
  }
}

}  // namespace
}  // namespace tagring::net
