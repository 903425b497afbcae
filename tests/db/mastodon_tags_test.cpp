#include "sql/mastodon_tags.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/fixture.hpp"

namespace tagring::db {

using namespace sql;

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MastodonTags : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    sql("CREATE DATABASE mastodon", "postgres");
    // As in Mastodon's db/schema.rb, without the columns that do not matter.
    sql("CREATE TABLE tags(id bigserial PRIMARY KEY, name varchar NOT NULL DEFAULT '');"
        "CREATE TABLE tag_follows(id bigserial PRIMARY KEY, tag_id bigint NOT NULL, account_id bigint NOT "
        "NULL);"
        "INSERT INTO tags(name) VALUES('cats'), ('dogs'), ('birds'), ('käse');"
        "INSERT INTO tag_follows(tag_id, account_id) VALUES(1, 1), (2, 1), (2, 2), (4, 1);"
        "CREATE ROLE tagring LOGIN; GRANT SELECT ON tags, tag_follows TO tagring; CREATE ROLE other LOGIN");
  }
  static void sql(const std::string& statements, const std::string& database = "mastodon") {
    PostgresServer::get().run(statements, database);
  }
  static std::string dsn(const std::string& user = "tagring", const std::string& database = "mastodon") {
    return PostgresServer::get().dsn(database, user);
  }
};

TEST_F(MastodonTags, AreReadMostFollowedFirst) {
  const auto tags = read_mastodon_tags(dsn(), 10);
  ASSERT_TRUE(tags) << tags.error().message;
  EXPECT_THAT(*tags, ElementsAre("dogs", "cats", "käse"));
  EXPECT_THAT(read_mastodon_tags(dsn(), 1).value(), ElementsAre("dogs"));
}

TEST_F(MastodonTags, AConnectionStringMayBeAUrl) {
  std::string socket;
  const std::string host = dsn().substr(5, dsn().find(' ') - 5);
  for (const char c : host) socket += c == '/' ? std::string("%2F") : std::string(1, c);
  EXPECT_TRUE(read_mastodon_tags("postgresql://tagring@" + socket + "/mastodon", 10));
}

TEST_F(MastodonTags, NothingCanBeWritten) {
  // Who tries to write while reading: a view that counts who looks.
  sql("CREATE DATABASE trap", "postgres");
  sql("CREATE TABLE looked(n int);"
      "CREATE FUNCTION look() RETURNS varchar LANGUAGE sql VOLATILE AS "
      "'INSERT INTO looked VALUES(1); SELECT ''cats''::varchar';"
      "CREATE VIEW tags AS SELECT 1::bigint AS id, look() AS name;"
      "CREATE VIEW tag_follows AS SELECT 1::bigint AS tag_id",
      "trap");
  const auto tags = read_mastodon_tags(dsn("admin", "trap"), 10);
  ASSERT_FALSE(tags);
  EXPECT_EQ(tags.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(tags.error().message, HasSubstr("read-only transaction"));
}

TEST_F(MastodonTags, ADatabaseThatIsNotMastodonsOrNotReadableIsAnError) {
  const auto foreign = read_mastodon_tags(dsn("tagring", "postgres"), 10);
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(foreign.error().message, HasSubstr("tag_follows"));
  const auto forbidden = read_mastodon_tags(dsn("other"), 10);
  ASSERT_FALSE(forbidden);
  EXPECT_THAT(forbidden.error().message, HasSubstr("permission denied"));
}

TEST_F(MastodonTags, ADatabaseThatDoesNotAnswerIsUnavailable) {
  for (const std::string& wrong : {std::string("host=/nonexistent dbname=mastodon"), dsn("nobody"),
                                   dsn("tagring", "nothing"), std::string("host=/tmp bad")}) {
    const auto tags = read_mastodon_tags(wrong, 10);
    ASSERT_FALSE(tags) << wrong;
    EXPECT_EQ(tags.error().code, ErrorCode::kUnavailable) << tags.error().message;
    EXPECT_EQ(tags.error().message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace tagring::db
