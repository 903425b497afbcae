#include "base/task.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

namespace tagring {
namespace {

Task<void> mark(bool* reached) {
  *reached = true;
  co_return;
}

Task<void> wait_for_ever(bool* cancelled) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, std::chrono::hours(1));
  try {
    co_await timer.async_wait(boost::asio::use_awaitable);
  } catch (const boost::system::system_error&) {
    *cancelled = true;
    throw;
  }
}

Task<void> cancel_and_join(TaskGroup* group, bool* joined) {
  group->cancel();
  co_await group->join();
  *joined = true;
}

// Found by a simulated node that left the ring: the exception went through the event loop.
TEST(TaskGroup, ATaskCancelledBeforeItsFirstStepEndsQuietly) {
  boost::asio::io_context context;
  TaskGroup group(context.get_executor());
  bool reached = false;
  bool joined = false;
  group.spawn("early", mark(&reached));
  boost::asio::co_spawn(context, cancel_and_join(&group, &joined),
                        [](std::exception_ptr error) { EXPECT_FALSE(error); });
  group.cancel();
  EXPECT_NO_THROW(context.run());
  EXPECT_FALSE(reached);
  EXPECT_TRUE(joined);
}

// An io_context would run it at once when it is spawned from one of its own handlers.
TEST(TaskGroup, ATaskBeginsAfterWhoeverSpawnsItHasSaidAll) {
  boost::asio::io_context context;
  TaskGroup group(context.get_executor());
  bool reached = false;
  boost::asio::post(context, [&] {
    group.spawn("task", mark(&reached));
    EXPECT_FALSE(reached);
  });
  context.run();
  EXPECT_TRUE(reached);
}

TEST(TaskGroup, ATaskThatIsCancelledWhereItWasSpawnedNeverBegins) {
  boost::asio::io_context context;
  TaskGroup group(context.get_executor());
  bool reached = false;
  boost::asio::post(context, [&] {
    group.spawn("task", mark(&reached));
    group.cancel();
  });
  context.run();
  EXPECT_FALSE(reached);
  EXPECT_EQ(group.size(), 0U);
}

TEST(TaskGroup, CancelInterruptsWhatWaitsAndJoinSeesItEnd) {
  boost::asio::io_context context;
  TaskGroup group(context.get_executor());
  bool cancelled = false;
  bool joined = false;
  group.spawn("waiting", wait_for_ever(&cancelled));
  context.poll();
  boost::asio::co_spawn(context, cancel_and_join(&group, &joined),
                        [](std::exception_ptr error) { EXPECT_FALSE(error); });
  context.run();
  EXPECT_TRUE(cancelled);
  EXPECT_TRUE(joined);
  group.reopen();
  EXPECT_EQ(group.size(), 0U);
}

Task<void> join_only(TaskGroup* group, bool* joined) {
  co_await group->join();
  *joined = true;
}

// Found by a daemon that would not end: who waited for others heard of its own end when theirs came, an hour
// later.
TEST(TaskGroup, CancellingWhoWaitsForTasksCancelsThem) {
  boost::asio::io_context context;
  TaskGroup inner(context.get_executor());
  TaskGroup outer(context.get_executor());
  bool cancelled = false;
  bool joined = false;
  bool ended = false;
  inner.spawn("inner", wait_for_ever(&cancelled));
  outer.spawn("outer", join_only(&inner, &joined));
  context.poll();
  boost::asio::co_spawn(context, cancel_and_join(&outer, &ended),
                        [](std::exception_ptr error) { EXPECT_FALSE(error); });
  context.run_for(std::chrono::seconds(10));
  EXPECT_TRUE(cancelled);
  EXPECT_TRUE(joined) << "the wait itself had come to its end";
  EXPECT_TRUE(ended);
}

Task<int> never(bool* cancelled) {
  co_await wait_for_ever(cancelled);
  co_return 1;
}

Task<void> wait_for_all(bool* first, bool* second) {
  std::vector<Task<int>> tasks;
  tasks.push_back(never(first));
  tasks.push_back(never(second));
  co_await all_of(std::move(tasks));
  ADD_FAILURE() << "there are no results";
}

TEST(AllOf, IsCancelledWithAllOfThem) {
  boost::asio::io_context context;
  TaskGroup group(context.get_executor());
  bool first = false;
  bool second = false;
  bool ended = false;
  group.spawn("all", wait_for_all(&first, &second));
  context.poll();
  boost::asio::co_spawn(context, cancel_and_join(&group, &ended),
                        [](std::exception_ptr error) { EXPECT_FALSE(error); });
  context.run_for(std::chrono::seconds(10));
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace tagring
