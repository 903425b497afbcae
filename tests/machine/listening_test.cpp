// Where a node listens: its configuration, and what systemd holds for it.
#include "machine/listening.hpp"

#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>

#include "proxies/networks.hpp"

namespace tagring::machine {
namespace {

using ::testing::HasSubstr;

// A machine with the package, as systemctl leaves its files.
class UnitsTest : public ::testing::Test {
 protected:
  UnitsTest() : root_(::mkdtemp(std::data(name_))) {
    write("etc/tagring/tagring.toml", "");
    write("lib/systemd/system/tagring.service", "");
    write("lib/systemd/system/tagring.socket",
          "# ListenStream=80\n[Socket]\nListenStream=443\nBacklog=4096\n");
  }
  ~UnitsTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  void enable() const {
    const std::filesystem::path wants = root_ / "etc/systemd/system/sockets.target.wants";
    std::filesystem::create_directories(wants);
    std::filesystem::create_symlink("/lib/systemd/system/tagring.socket", wants / "tagring.socket");
  }
  // As "systemctl edit tagring.socket" does.
  void edit(const std::string& text) const {
    write("etc/systemd/system/tagring.socket.d/override.conf", text);
  }
  [[nodiscard]] std::vector<InheritedSocket> held() const { return sockets_of_unit(config_file(), root_); }
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  [[nodiscard]] std::string config_file() const { return root_ / "etc/tagring/tagring.toml"; }
  [[nodiscard]] health::Check look(const config::Config& config) const {
    return look_at_listening(config, "tagring.toml", held());
  }
  static config::Config at_port(std::uint16_t port) {
    config::Config config;
    config.certificate = "tls.pem";
    config.listen_port = port;
    config.address = *IpAddress::parse("192.0.2.1");
    return config;
  }

 private:
  std::string name_ = "/tmp/listening_test_XXXXXX";
  const std::filesystem::path root_;
};

TEST_F(UnitsTest, HoldNothingUnlessTheyAreEnabledForThisNode) {
  EXPECT_TRUE(held().empty());
  EXPECT_EQ(look(at_port(8443)).detail, "port 8443 of 192.0.2.1, or of all if this machine has not that");
  enable();
  ASSERT_EQ(held().size(), 1U);
  EXPECT_EQ(held().front().port, 443);
  EXPECT_EQ(look(at_port(443)).detail, "port 443, held by tagring.socket");
  EXPECT_TRUE(look(at_port(443)).ok);
  write("other.toml", "");
  EXPECT_TRUE(sockets_of_unit(root() / "other.toml", root()).empty());
}

TEST_F(UnitsTest, HaveAnotherPortThanTheConfiguration) {
  enable();
  const health::Check found = look(at_port(8443));
  EXPECT_FALSE(found.ok);
  EXPECT_EQ(found.detail,
            "systemd's tagring.socket has port 443, but [listen] in tagring.toml asks for port 8443");
  EXPECT_THAT(found.what_to_do, HasSubstr("systemctl edit tagring.socket"));
  edit("[Socket]\nListenStream=8443\n");
  EXPECT_FALSE(look(at_port(8443)).ok) << "it has both";
  edit("[Socket]\nListenStream =\nListenStream = 8443\n");
  EXPECT_EQ(look(at_port(8443)).detail, "port 8443, held by tagring.socket");
  EXPECT_FALSE(look(at_port(443)).ok);
}

TEST_F(UnitsTest, CountInPlaceOfTheAddress) {
  enable();
  config::Config config = at_port(443);
  config.listen_address = IpAddress::parse("127.0.0.1");
  EXPECT_EQ(look(config).detail,
            "port 443, held by tagring.socket: listen.address, 127.0.0.1, does not count");
  EXPECT_FALSE(look(config).ok);
  edit("[Socket]\nListenStream=\nListenStream=127.0.0.1:443\n");
  EXPECT_EQ(look(config).detail, "port 443 of 127.0.0.1, held by tagring.socket");
  EXPECT_TRUE(look(config).ok);
  config.listen_address = IpAddress::parse("::");
  EXPECT_TRUE(look(config).ok) << "whoever listens everywhere leaves it to the socket";
  edit("[Socket]\nListenStream=\nListenStream=[2001:db8::1]:443\n");
  config.listen_address = IpAddress::parse("2001:db8::1");
  EXPECT_TRUE(look(config).ok);
}

// As one is left behind where a proxy was in front.
TEST_F(UnitsTest, HaveAnAddressToWhichNobodyComes) {
  enable();
  config::Config config = at_port(443);
  const auto look_at = [&](const std::string& stream) {
    edit("[Socket]\nListenStream=\nListenStream=" + stream + "\n");
    return look(config);
  };
  for (const char* elsewhere : {"127.0.0.1:443", "[::1]:443", "127.0.0.9:443", "198.51.100.7:443"})
    EXPECT_FALSE(look_at(elsewhere).ok) << elsewhere;
  EXPECT_EQ(
      look_at("127.0.0.1:443").detail,
      "port 443 of 127.0.0.1, held by tagring.socket: what comes to node.address, 192.0.2.1, does not get "
      "there");
  EXPECT_THAT(look_at("127.0.0.1:443").what_to_do, HasSubstr("name it in listen.address, too"));
  EXPECT_TRUE(look_at("192.0.2.1:443").ok);
  EXPECT_TRUE(look_at("10.0.0.5:443").ok) << "a router may translate the address";
  EXPECT_EQ(look_at("0.0.0.0:443").detail, "port 443 of every IPv4 address, held by tagring.socket");
  EXPECT_TRUE(look_at("0.0.0.0:443").ok);
  config.trusted_proxies = {*proxies::Network::parse("127.0.0.1")};
  EXPECT_TRUE(look_at("127.0.0.1:443").ok) << "a proxy passes it on";
  config.trusted_proxies.clear();
  config.certificate.clear();
  EXPECT_TRUE(look_at("127.0.0.1:443").ok) << "a proxy has the certificate";
}

TEST(Listening, IsSaidAsItIsBound) {
  config::Config config;
  config.certificate = "tls.pem";
  config.listen_port = 443;
  config.address = *IpAddress::parse("192.0.2.1");
  EXPECT_EQ(listening_at(config, {}), "port 443 of 192.0.2.1, or of all if this machine has not that");
  EXPECT_EQ(listening_at(config, {}, config.address), "port 443 of 192.0.2.1");
  EXPECT_EQ(listening_at(config, {}, IpAddress::parse("0.0.0.0")), "port 443 of every IPv4 address");
  EXPECT_EQ(listening_at(config, {}, IpAddress()), "port 443");
  config.listen_address = IpAddress::parse("127.0.0.1");
  EXPECT_EQ(listening_at(config, {}), "port 443 of 127.0.0.1");
}

TEST_F(UnitsTest, HaveTheSocketOfAProxy) {
  enable();
  config::Config config;  // a proxy has the certificate
  config.listen_port = 443;
  config.listen_socket = "/run/tagring/http.sock";
  EXPECT_THAT(look(config).detail, HasSubstr("has port 443, but [listen] in tagring.toml asks for /run/tag"));
  edit("[Socket]\nListenStream=\nListenStream=/run/tagring/http.sock\n");
  EXPECT_EQ(look(config).detail, "/run/tagring/http.sock, held by tagring.socket");
  config.certificate = "tls.pem";
  config.listen_address = IpAddress::parse("127.0.0.1");
  EXPECT_EQ(look(config).detail, "/run/tagring/http.sock, held by tagring.socket; port 443 of 127.0.0.1");
}

TEST_F(UnitsTest, MayNotListenWhereANodeStandsBy) {
  enable();
  config::Config config = at_port(443);
  config.standby = true;
  EXPECT_EQ(look(config).what_to_do, "\"systemctl disable --now tagring.socket\"");
}

}  // namespace
}  // namespace tagring::machine
