#include "machine/owner.hpp"

#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <unistd.h>

namespace tagring::machine {
namespace {

using ::testing::HasSubstr;

constexpr uid_t kNobody = 65534;   // Debian's
constexpr uid_t kUnnamed = 54321;  // nobody has it

class OwnedFolder : public ::testing::Test {
 protected:
  OwnedFolder() : path_(::mkdtemp(std::data(name_))) {}
  ~OwnedFolder() override { std::filesystem::remove_all(path_); }
  void give_to(uid_t user) const { ASSERT_EQ(::chown(path_.c_str(), user, user), 0); }

  std::string name_ = "/tmp/owner_test_XXXXXX";
  const std::filesystem::path path_;
};

TEST_F(OwnedFolder, ItsUserRunsTheNode) {
  EXPECT_TRUE(check_runner(path_, "a.toml"));
  EXPECT_TRUE(check_runner(path_ / "not there yet", "a.toml"));
  EXPECT_EQ(how_to_start(path_, "a.toml"), "tagring run --config a.toml");
  EXPECT_EQ(how_to_start(path_ / "not there yet", "a.toml"), "tagring run --config a.toml");
}

// Root made the database, and the node's unit could not open it any more.
TEST_F(OwnedFolder, RootDoesNotWriteIntoAnothersAndIsToldWhatToType) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give folders away";
  give_to(kNobody);
  const Result<void> refused = check_runner(path_, "a.toml");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("belongs to nobody"));
  EXPECT_THAT(refused.error().message, HasSubstr("\"runuser -u nobody -- tagring run --config a.toml\""));
  give_to(kUnnamed);
  EXPECT_THAT(check_runner(path_, "a.toml").error().message, HasSubstr("setpriv --reuid 54321 "));
}

// Made by "sudo mkdir", or by a restore to where there was none: the unit's user is to write there.
TEST_F(OwnedFolder, OfRootOrNotThereYetIsForTheUserOfTheUnit) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give folders away";
  std::filesystem::create_directories(path_ / "etc/tagring");
  std::filesystem::create_directories(path_ / "lib/systemd/system");
  const std::string config = path_ / "etc/tagring/tagring.toml";
  std::ofstream(std::filesystem::path(config)) << "";
  EXPECT_EQ(node_user(path_, config, path_)->user, 0U);
  std::ofstream(path_ / "lib/systemd/system/tagring.service") << "[Service]\nUser=nobody\nGroup=nogroup\n";
  EXPECT_EQ(node_user(path_, config, path_)->user, kNobody);
  EXPECT_EQ(node_user(path_ / "not there yet", config, path_)->name, "nobody");
  EXPECT_FALSE(node_user(path_ / "not there yet", "a.toml", path_));
  give_to(kUnnamed);
  EXPECT_EQ(node_user(path_, config, path_)->user, kUnnamed);
}

// A node of several processes here, and one with a socket there, as systemctl enable leaves links.
TEST_F(OwnedFolder, TheUnitsThatStartWithTheMachineAreStartedAndStopped) {
  const auto write = [this](const std::filesystem::path& file) {
    std::filesystem::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << "";
    return path_ / file;
  };
  const std::string config = write("etc/tagring/tagring.toml");
  EXPECT_EQ(how_to_start(path_, config, path_), "tagring run --config " + config);
  EXPECT_EQ(how_to_stop(config, path_), "");
  write("lib/systemd/system/tagring.service");
  EXPECT_EQ(how_to_start(path_, config, path_), "systemctl start tagring");
  EXPECT_EQ(how_to_stop(write("other.toml"), path_), "");
  const std::filesystem::path wanted = "etc/systemd/system/multi-user.target.wants";
  write(wanted / "ssh.service");
  const auto service = write(wanted / "tagring.service");
  const auto socket = write("etc/systemd/system/sockets.target.wants/tagring.socket");
  EXPECT_EQ(how_to_start(path_, config, path_), "systemctl start tagring.socket tagring");
  EXPECT_EQ(how_to_stop(config, path_), "systemctl stop tagring.socket tagring");
  std::filesystem::remove(service);
  std::filesystem::remove(socket);
  write(wanted / "tagring-core@10.0.0.5:7946.service");
  EXPECT_EQ(how_to_start(path_, config, path_), "systemctl start tagring-core@10.0.0.5:7946");
  write(wanted / "tagring-front@10.0.0.5:7947.service");
  EXPECT_EQ(how_to_stop(config, path_),
            "systemctl stop tagring-front@10.0.0.5:7947 tagring-core@10.0.0.5:7946");
}

}  // namespace
}  // namespace tagring::machine
