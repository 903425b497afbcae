// A node whose database is that of a backup: what it had sent is nothing new to who gets it again.
#include <algorithm>
#include <set>

#include "node/fixture.hpp"
#include "sql/backup.hpp"

namespace tagring::node {
namespace {

using ::testing::IsEmpty;
using ::testing::IsSubsetOf;
using ::testing::SizeIs;

class RestoreTest : public NodeTest {
 protected:
  void SetUp() override {
    const std::vector<std::string> follows = {origin + "/tag/cats"};
    ASSERT_EQ(post_signed(follow_text(fan, follows), fan).status, 202);
    settle();
  }
  // Of alice, whose server tells of it with that text, maybe not once.
  std::string write(int number) {
    const PostText post{.uri = uri_of(number), .author = alice.id, .tags = {"cats"}};
    internet.serve(post.uri, json::serialize(note_object(post)));
    return create_text(post);
  }
  static std::string uri_of(int number) { return "https://home.example/notes/" + std::to_string(number); }
  void tell(const std::string& text) {
    EXPECT_EQ(post_signed(text, alice).status, 202);
    settle();
  }
  void back_up() { ASSERT_TRUE(run(sql::back_up(*stores->database, copy))); }
  // As `tagring restore` does while no node runs.
  void restore() {
    loop.drop(kOwner);
    node.reset();
    stores.reset();
    const std::filesystem::path database = directory / "node.db";
    for (const char* more : {"-wal", "-shm"}) std::filesystem::remove(database.string() + more);
    std::filesystem::copy_file(copy, database, std::filesystem::copy_options::overwrite_existing);
    start(config());
    settle(std::chrono::minutes(10));
  }
  // What the fan's server was sent, from that call on.
  [[nodiscard]] std::vector<json::object> letters(std::size_t from = 0) const {
    std::vector<json::object> all = internet.posted_to(fan.inbox);
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(from, all.size())));
    return all;
  }
  static std::vector<std::string> ids(const std::vector<json::object>& letters) {
    std::vector<std::string> found;
    for (const json::object& letter : letters) found.push_back(json::id_of(letter));
    return found;
  }
  [[nodiscard]] std::vector<std::string> ids_about(int number) const {
    std::vector<std::string> found;
    for (const json::object& letter : letters())
      if (json::id_of(letter, "object") == uri_of(number)) found.push_back(json::id_of(letter));
    return found;
  }

  static std::set<std::string> distinct(const std::vector<std::string>& ids) {
    return {ids.begin(), ids.end()};
  }

  Author alice = make_author("https://home.example/users/alice");
  Author fan = make_author("https://far.example/users/fan");
  const std::filesystem::path copy = directory / "copy.db";
};

TEST_F(RestoreTest, WhatWasSentBeforeTheBackupIsNotSentAgain) {
  const std::string first = write(1);
  tell(first);
  ASSERT_THAT(ids_about(1), SizeIs(1));
  back_up();
  const std::size_t sent = letters().size();
  restore();
  EXPECT_THAT(ids(letters(sent)), IsEmpty());
  tell(first);  // as servers do that had no answer
  settle(std::chrono::minutes(10));
  EXPECT_THAT(ids(letters(sent)), IsEmpty());
}

TEST_F(RestoreTest, WhatWasSentSinceTheBackupIsTheSameIfItIsSentAgain) {
  tell(write(1));
  back_up();
  const std::string second = write(2);
  tell(second);
  ASSERT_THAT(ids_about(2), SizeIs(1));
  const std::vector<std::string> before = ids(letters());
  restore();
  tell(second);
  settle(std::chrono::minutes(10));
  EXPECT_THAT(ids(letters(before.size())), IsSubsetOf(before)) << "under a new name it would be there twice";
  EXPECT_THAT(ids_about(1), SizeIs(1));
}

TEST_F(RestoreTest, WhatWaitedInTheBackupAndWasSentSinceIsTheSame) {
  bool is_away = true;
  internet.answers[fan.inbox] = [&is_away](const HttpCall&) -> Result<HttpResponse> {
    return with_status(is_away ? 503 : 202);
  };
  tell(write(1));
  back_up();
  is_away = false;
  settle(std::chrono::hours(2));
  ASSERT_THAT(distinct(ids_about(1)), SizeIs(1));
  const std::size_t sent = letters().size();
  restore();
  settle(std::chrono::hours(2));
  EXPECT_THAT(letters(sent), SizeIs(1)) << "it waits in the copy, and nobody can know that it came";
  EXPECT_THAT(distinct(ids_about(1)), SizeIs(1));
}

}  // namespace
}  // namespace tagring::node
