#include "client/ask.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace tagring::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Ask : public testing::Test {
 protected:
  Ask() {
    std::string name = (std::filesystem::temp_directory_path() / "tagring-ask-XXXXXX").string();
    folder = ::mkdtemp(name.data());
    options.config = folder / "tagring.toml";
    std::ofstream(options.config) << "[node]\nhost = \"tags.example.net\"\naddress = \"192.0.2.1\"\ndata = \""
                                  << folder.string()
                                  << "\"\n[listen]\nsocket = \"http.sock\"\n[ring]\ncreate = true\n";
  }
  ~Ask() override {
    if (listener >= 0) ::close(listener);
    std::filesystem::remove_all(folder);
  }
  // Who connects there is taken, and never answered.
  void listen() {
    listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = folder / "control.sock";
    ASSERT_LT(path.size(), sizeof address.sun_path);
    std::memcpy(address.sun_path, path.c_str(), path.size());
    ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener, 1), 0);
  }

  std::filesystem::path folder;
  ControlOptions options;
  int listener = -1;
};

TEST_F(Ask, WhoDoesNotAnswerIsNotTakenForStopped) {
  listen();
  const Result<json::object> answer = ask_node(options, "POST", "/backup", {}, std::chrono::milliseconds(50));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kTimedOut);
  EXPECT_THAT(answer.error().message, Not(HasSubstr("no node answers")));
  EXPECT_THAT(answer.error().message, HasSubstr("has not answered"));
}

TEST_F(Ask, WhereNobodyListensItIsSaidHowToStartANode) {
  const Result<json::object> answer = ask_node(options, "GET", "/status");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message, HasSubstr("no node answers"));
}

}  // namespace
}  // namespace tagring::client
