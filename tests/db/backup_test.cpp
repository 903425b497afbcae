// A copy of a database that is in use.
#include "sql/backup.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <filesystem>
#include <optional>

#include "tests/db/fixture.hpp"

namespace tagring::db {

using namespace sql;

namespace {

Task<void> cancel_when_begun(TaskGroup* tasks, std::filesystem::path part) {
  while (!std::filesystem::exists(part) && tasks->size() > 0)
    co_await boost::asio::post(boost::asio::use_awaitable);
  tasks->cancel();
}

TEST(Backup, OneThatIsCancelledLeavesNothingAndLetsGoOfTheDatabase) {
  const TemporaryDirectory directory;
  ManualClock clock;
  const auto stores = open_stores({.path = directory.file("db"), .vfs = {}}, clock).value();
  must(stores->database->write([](Connection& db) {  // many parts
    return db.run("INSERT INTO meta(name, value) VALUES('large', zeroblob(?))", 32 << 20);
  }));
  boost::asio::io_context loop;
  TaskGroup tasks(loop.get_executor());
  std::optional<Result<std::uint64_t>> outcome;
  tasks.spawn("backup", keep_result(back_up(*stores->database, directory.file("copy")), &outcome));
  boost::asio::co_spawn(loop, cancel_when_begun(&tasks, directory.file("copy.part")), boost::asio::detached);
  loop.run();
  EXPECT_FALSE(std::filesystem::exists(directory.file("copy.part")));
  EXPECT_FALSE(std::filesystem::exists(directory.file("copy")));
  ASSERT_TRUE(outcome) << "it was not closed on the thread of the jobs";
  EXPECT_FALSE(*outcome);
  EXPECT_GT(must(back_up(*stores->database, directory.file("copy"))), 32U << 20U);
}

}  // namespace
}  // namespace tagring::db
