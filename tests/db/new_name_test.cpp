// What the copy of a node's database has left for the node that goes on under another name.
#include "db/new_name.hpp"

#include <gtest/gtest.h>

#include "db/schema.hpp"
#include "tests/db/temporary_directory.hpp"

namespace tagring::db {
namespace {

constexpr const char* kOld = "https://old.example";
constexpr const char* kNew = "https://new.example";

class NewName : public testing::Test {
 protected:
  NewName() {
    run("INSERT INTO meta VALUES('origin', CAST('https://old.example' AS BLOB)), ('key', x'01'), ('sizes', "
        "x'02')");
    run("INSERT INTO followers(tag, actor, inbox, follow_id, via, since) VALUES('cats', "
        "'https://a.example/a', "
        "'https://a.example/inbox', 'f', 0, 0)");
    run("INSERT INTO wants VALUES('cats', 'followers'), ('dogs', 'admin')");
    run("INSERT INTO permissions(host, publishes, receives) VALUES('a.example', 1, 1)");
    run("INSERT INTO tag_reasons(host, tag, source) VALUES('a.example', 'dogs', 'admin')");
    run("INSERT INTO letters(actor, inbox, body, written) VALUES('https://old.example/actor', "
        "'https://a.example/inbox', '{}', 0)");
  }
  void run(const char* sql) {
    const Result<void> done = copy.execute(sql);
    EXPECT_TRUE(done) << done.error().message;
  }
  std::int64_t count(const char* sql) {
    sql::Statement row = copy.query(sql);
    EXPECT_TRUE(row.step().value_or(false)) << sql;
    return row.integer(0);
  }
  static sql::Connection open(const std::filesystem::path& file) {
    sql::Connection connection = sql::Connection::open(file).value();
    EXPECT_TRUE(migrate(connection, kSchemaVersion, {}));
    return connection;
  }

  TemporaryDirectory directory;
  sql::Connection copy = open(directory.file("copy.db"));
};

TEST_F(NewName, WhatOthersKnowByTheOldNameStaysWithTheOldNode) {
  EXPECT_TRUE(take_over(copy, kNew, kOld).value());
  EXPECT_EQ(count("SELECT count(*) FROM followers"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM letters"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM meta WHERE name IN ('key', 'origin')"), 0);
}

TEST_F(NewName, WhatTheAdministratorDecidedIsKept) {
  EXPECT_TRUE(take_over(copy, kNew, kOld).value());
  EXPECT_EQ(count("SELECT count(*) FROM permissions"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM tag_reasons"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM wants"), 2);
  EXPECT_EQ(count("SELECT count(*) FROM meta WHERE name = 'sizes'"), 1);
}

TEST_F(NewName, TheNodesOwnBackupIsLeftAsItIs) {
  EXPECT_FALSE(take_over(copy, kOld, "https://older.example").value());
  EXPECT_EQ(count("SELECT count(*) FROM followers"), 1);
}

// The start of the node brings it up to date; of what another node had, nobody knows yet what is to stay
// there.
TEST_F(NewName, AnOlderVersionIsRefusedOfTheFormerNodeOnly) {
  run("DELETE FROM migrations WHERE version = (SELECT max(version) FROM migrations)");
  EXPECT_FALSE(take_over(copy, kOld, "https://older.example").value_or(true));
  const Result<bool> refused = take_over(copy, kNew, kOld);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("of an older version"), std::string::npos);
  EXPECT_EQ(count("SELECT count(*) FROM followers"), 1);
}

TEST_F(NewName, ACopyOfAnotherNodeIsRefused) {
  const Result<bool> refused = take_over(copy, kNew, "https://else.example");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "it is a copy of what https://old.example has, and this node goes on for https://else.example");
  EXPECT_EQ(count("SELECT count(*) FROM followers"), 1);
}

}  // namespace
}  // namespace tagring::db
